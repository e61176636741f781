//! `doctor` names what is wrong and what to type, changes nothing, and is quiet about what is well.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::machine::skip;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A store with one ended session.
fn session() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
    let id = sandbox.launch(&project, "echo agent > a; rm b");
    (sandbox, id)
}

/// Runs it in words and as JSON with our program first in PATH; insists that nothing changed, that both end with `code`, and
/// that every warning and error says what to type.
#[track_caller]
fn doctor(sandbox: &Sandbox, code: i32) -> (Run, Vec<Value>) {
    let before = Tree::read(sandbox.world());
    let mut path = Path::new(env!("CARGO_BIN_EXE_jackin"))
        .parent()
        .unwrap()
        .as_os_str()
        .to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let shown = sandbox
        .command(["doctor"])
        .with("PATH", &path)
        .run()
        .code(code)
        .harmless();
    let run = sandbox
        .command(["doctor", "--json"])
        .with("PATH", &path)
        .run()
        .code(code)
        .harmless();
    assert_untouched(&before, &Tree::read(sandbox.world()));
    let document = run.json();
    let findings = document["findings"].as_array().unwrap().clone();
    let mut worst = "ok";
    for finding in &findings {
        let severity = finding["severity"].as_str().unwrap();
        let rank = |word| {
            ["ok", "note", "warning", "error"]
                .iter()
                .position(|known| *known == word)
        };
        assert!(rank(severity).is_some(), "{finding}");
        if rank(severity) > rank(worst) {
            worst = ["ok", "note", "warning", "error"][rank(severity).unwrap()];
        }
        if matches!(severity, "warning" | "error") {
            assert!(
                finding["next"].as_str().is_some_and(|next| !next.is_empty()),
                "{finding}"
            );
        }
        assert!(
            finding["group"].is_string() && finding["what"].is_string(),
            "{finding}"
        );
    }
    assert_eq!(document["outcome"], worst);
    (shown, findings)
}

/// The one finding of this group and severity.
#[track_caller]
fn one<'a>(findings: &'a [Value], group: &str, severity: &str) -> &'a Value {
    let of = |finding: &&Value| finding["group"] == group && finding["severity"] == severity;
    let found: Vec<&Value> = findings.iter().filter(of).collect();
    assert_eq!(found.len(), 1, "{severity} of {group} in {findings:#?}");
    found[0]
}

#[test]
fn a_fresh_home_is_well_and_nothing_is_made() {
    let sandbox = Sandbox::new();
    let (run, _) = doctor(&sandbox, 0);
    run.shows("All is well.");
}

#[test]
fn a_used_store_is_well_in_one_line_each() {
    let (sandbox, _) = session();
    let (run, findings) = doctor(&sandbox, 0);
    let run = run
        .shows("All is well.")
        .shows("2 records")
        .shows("every hash is valid");
    assert!(run.stderr.is_empty(), "{run}");
    assert!(
        findings.iter().all(|finding| finding["severity"] == "ok"),
        "{findings:#?}"
    );
    let document = sandbox.jackin(["doctor", "--json"]).ok().json();
    assert_eq!(document["versions"]["record"], 2);
    assert!(document["store"]["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(document["store"]["free"].is_u64());
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_key_that_encrypts_nothing_is_found_before_a_launch_needs_it() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(
        "config.toml",
        "[recovery.state]\nsecrets = \"encrypt\"\nrecipients = [\"age1x\"]\n",
    );
    let (run, findings) = doctor(&sandbox, 1);
    run.shows("recipient 1 (`age1x`) cannot be used");
    let finding = one(&findings, "configuration", "error");
    assert_eq!(finding["path"], config.to_str().unwrap());
    assert!(finding["next"].as_str().unwrap().contains("+3 "), "{finding}");
}

#[test]
fn readable_files_are_warned_about_and_the_step_puts_it_right() {
    let (sandbox, _) = session();
    let log = sandbox.store().join("receipts.log");
    fs::set_permissions(&log, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, findings) = doctor(&sandbox, 0);
    let finding = one(&findings, "store", "warning");
    assert_eq!(finding["path"], log.to_str().unwrap());
    let typed = finding["next"].as_str().unwrap();
    let done = std::process::Command::new("sh")
        .args(["-c", typed])
        .status()
        .unwrap();
    assert!(done.success());
    doctor(&sandbox, 0).0.shows("All is well.");
    // What others may write to is refused by every verb.
    fs::set_permissions(
        sandbox.store().join("archives"),
        fs::Permissions::from_mode(0o777),
    )
    .unwrap();
    let (_, findings) = doctor(&sandbox, 1);
    one(&findings, "store", "error");
    one(&findings, "sessions", "warning");
}

#[test]
fn a_damaged_catalog_is_made_good_by_the_step() {
    let (sandbox, _) = session();
    let catalog = sandbox.store().join("catalog.sqlite3");
    let mut bytes = fs::read(&catalog).unwrap();
    let middle = 2 * 4096;
    bytes[middle..middle + 64].fill(0x5a);
    fs::write(&catalog, bytes).unwrap();
    let (run, findings) = doctor(&sandbox, 7);
    let finding = one(&findings, "catalog", "error");
    assert_eq!(
        (&finding["integrity"], &finding["next"]),
        (&true.into(), &"jackin recovery rebuild".into())
    );
    run.shows("jackin recovery rebuild");
    sandbox.jackin(["rebuild"]).ok();
    doctor(&sandbox, 0);
}

#[test]
fn each_damaged_part_is_named_beside_the_others() {
    let (sandbox, _) = session();
    let store = sandbox.store();
    sandbox.configure("workspaces/w.toml", "[recovery]\nsnapshto = 'project'\n");
    let first = |directory: &str| {
        fs::read_dir(store.join(directory))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path()
    };
    fs::write(first("snapshots"), "{").unwrap();
    fs::remove_file(first("archives")).unwrap();
    let log = fs::read_to_string(store.join("receipts.log")).unwrap();
    fs::write(store.join("receipts.log"), log.replacen("project", "prefect", 1)).unwrap();
    let (run, findings) = doctor(&sandbox, 7);
    one(&findings, "receipts", "error");
    let fault = one(&findings, "configuration", "error");
    assert!(fault["next"].as_str().unwrap().contains("+2 "), "{fault}");
    let of = |finding: &&Value| finding["group"] == "snapshots" && finding["severity"] == "error";
    assert!(findings.iter().any(|finding| of(&finding)), "{findings:#?}");
    run.shows("snapshto").shows("receipt 1").shows("at receipt 1");
}

#[test]
fn a_snapshot_that_lost_its_record_and_an_orphan_are_told_apart() {
    let (sandbox, _) = session();
    let archives = sandbox.store().join("archives");
    fs::write(archives.join("ar-000000000000.tar.zst"), "left").unwrap();
    fs::set_permissions(
        archives.join("ar-000000000000.tar.zst"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    let (_, findings) = doctor(&sandbox, 0);
    let finding = one(&findings, "snapshots", "warning");
    assert!(finding["next"].as_str().unwrap().starts_with("rm /"), "{finding}");
    let records = fs::read_dir(sandbox.store().join("snapshots")).unwrap();
    for record in records.flatten() {
        fs::remove_file(record.path()).unwrap();
    }
    // Now the archives may be all that is left of them: no word of removing any.
    let (run, findings) = doctor(&sandbox, 7);
    one(&findings, "snapshots", "error");
    one(&findings, "snapshots", "note");
    run.hides("rm /");
}

#[test]
fn a_running_session_and_a_dead_one_are_told() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n").aged();
    let running = Background::launch(&sandbox, &project, "echo agent > a");
    let id = sandbox.newest();
    let (_, findings) = doctor(&sandbox, 0);
    let work = one(&findings, "work", "note");
    let what = work["what"].as_str().unwrap();
    assert!(what.contains(&id) && what.contains("(jackin)"), "{work}");
    running.kill();
    let (_, findings) = doctor(&sandbox, 0);
    let lost = one(&findings, "sessions", "warning");
    assert!(lost["what"].as_str().unwrap().contains(&id), "{lost}");
    let next = lost["next"].as_str().unwrap();
    let words: Vec<&str> = next
        .strip_prefix("jackin recovery ")
        .unwrap()
        .split(' ')
        .collect();
    sandbox.jackin(words).ok();
    doctor(&sandbox, 0).0.shows("none lost");
}

#[test]
fn what_a_restore_left_and_a_root_that_is_gone_are_named() {
    let (sandbox, id) = session();
    let left = sandbox.sources().join(".jackin-recovery-00000000-11");
    fs::create_dir(&left).unwrap();
    let (_, findings) = doctor(&sandbox, 0);
    let finding = one(&findings, "mounts", "warning");
    assert_eq!(finding["path"], left.to_str().unwrap());
    assert!(
        finding["what"].as_str().unwrap().contains("only copy"),
        "{finding}"
    );
    fs::remove_dir(left).unwrap();
    // An export that was killed: its source is in the store.
    let output = sandbox.sources().join(".jackin-recovery-0123456789abcdef");
    fs::write(&output, "half").unwrap();
    let (_, findings) = doctor(&sandbox, 0);
    let finding = one(&findings, "mounts", "warning");
    assert_eq!(finding["path"], output.to_str().unwrap());
    assert!(
        finding["what"].as_str().unwrap().contains("unfinished output"),
        "{finding}"
    );
    fs::remove_file(output).unwrap();
    fs::remove_dir_all(sandbox.sources().join("p")).unwrap();
    let (_, findings) = doctor(&sandbox, 0);
    let finding = one(&findings, "mounts", "note");
    assert!(finding["next"].as_str().unwrap().contains(&id), "{finding}");
}

#[test]
fn a_newer_store_is_an_integrity_error() {
    let (sandbox, _) = session();
    let connection = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let (run, findings) = doctor(&sandbox, 7);
    assert_eq!(one(&findings, "catalog", "error")["integrity"], true);
    run.shows("99");
}

#[test]
fn hostile_names_reach_no_terminal_and_quiet_is_quiet() {
    let (sandbox, _) = session();
    let hostile = sandbox.store().join("tmp/\u{1b}]0;x\u{7}\u{202e}");
    fs::create_dir(&hostile).unwrap();
    fs::set_permissions(&hostile, fs::Permissions::from_mode(0o777)).unwrap();
    doctor(&sandbox, 0).0.shows("0777");
    let run = sandbox.jackin(["doctor", "--quiet"]).ok();
    let run = run.shows("warning").hides("every link");
    assert!(run.stderr.is_empty(), "{run}");
}

#[test]
fn somebody_elses_store_is_one_error_and_no_verdict_on_what_is_in_it() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("a store that cannot be entered", "no second user to be had");
    };
    let project = sandbox.project("p");
    let id = sandbox.launch(&project, "echo agent > a");
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o000)).unwrap();
    let (run, findings) = doctor(&sandbox, 1);
    one(&findings, "store", "error");
    run.hides("receipts").hides(&id);
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o700)).unwrap();
}
