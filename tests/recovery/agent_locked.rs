//! Encrypted private files without the key: each is named, with the command that opens it, and nothing claims to be complete.

use std::fs;

use crate::agent_encrypted::{HARM, Harmed, IDENTITY, RECIPIENT, key, private, state};
use crate::agent_state::configure;
use crate::support::sandbox::Sandbox;

/// A credential that the session changed.
const CHANGED: &str = ".claude/.credentials.json";

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_copy_without_the_key_names_each_file_that_it_lacks() {
    let harmed = Harmed::by(HARM);
    let (sandbox, id, own) = (&harmed.sandbox, harmed.id.as_str(), harmed.own.as_str());
    let place = |name: &str| sandbox.scratch(name).to_str().unwrap().to_owned();
    let has = |document: &serde_json::Value, path: &str| {
        let mut lacks = document["left_out"].as_array().unwrap().iter();
        lacks.any(|file| file["path"] == path && file["reason"].as_str().unwrap().contains("--identity"))
    };
    sandbox
        .jackin(["fork", id, &place("fork")])
        .ok()
        .shows(&format!("fork/state/{CHANGED}: encrypted"))
        .shows("to write them too")
        .shows("--identity FILE");
    let told = sandbox.jackin(["fork", id, &place("json"), "--json"]).ok().json();
    assert!(told["complete"] == false && has(&told, CHANGED), "{told}");
    let copied = sandbox
        .jackin(["restore", id, "--to", &place("to"), "--yes"])
        .ok();
    copied
        .shows(&format!("to/state/{CHANGED}: encrypted"))
        .shows("--to NEW-DIRECTORY --identity FILE");
    let to = place("strict");
    let strict = ["restore", id, "--require-complete", "--yes", "--json"];
    let strict = [&strict[..], &["--to", &to]].concat();
    let told = sandbox.jackin(strict).code(6).json();
    assert_eq!(
        (&told["outcome"], &told["complete"]),
        (&"partial".into(), &false.into())
    );
    // Asked for by its path.
    let path = harmed.home.join(CHANGED);
    let named = ["restore", id, path.to_str().unwrap(), "--yes"];
    let to = place("named");
    let run = sandbox.jackin([&named[..], &["--to", &to]].concat()).code(6);
    run.shows("encrypted").shows("to write it too");
    let told = [&named[..], &["--to", &to, "--json"]].concat();
    let told = sandbox.jackin(told).code(6).json();
    assert!(has(&told, CHANGED), "{told}");
    let opened = [&named[..], &["--to", &to, "--identity", own, "--json"]].concat();
    let opened = sandbox.jackin(opened).ok().json();
    assert!(
        opened["complete"] == true && opened["left_out"] == serde_json::json!([]),
        "{opened}"
    );
    // Carried to another machine, they are still encrypted.
    let file = place("file");
    sandbox
        .jackin(["export", id, &file])
        .ok()
        .shows("--identity FILE");
    let imported = sandbox.jackin(["import", &file, "--dry-run"]).ok();
    imported.shows("encrypted").shows("--identity FILE");
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_new_file_stays_for_lack_of_the_key_if_a_snapshot_has_it() {
    // The baseline has no private file, so it has nothing encrypted.
    let sandbox = Sandbox::new();
    configure(&sandbox, &state(&[RECIPIENT]));
    let home = sandbox.home();
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::create_dir_all(home.join(".codex")).unwrap();
    let script = format!("echo new > ~/{CHANGED}");
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", &script]).ok();
    let id = sandbox.newest();
    let own = key(&sandbox, "own", IDENTITY);
    let reason = format!("encrypted {CHANGED}: it is new; it stays without --identity");
    let wrong = "no snapshot has it";
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows(&reason).hides(wrong);
    sandbox.jackin(["restore", &id, "--yes", "--identity", &own]).ok();
    assert!(!home.join(CHANGED).exists());
    // Of a file that came later no snapshot has anything.
    fs::write(home.join(".codex/auth.json"), "later").unwrap();
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows(&format!("skipped   .codex/auth.json: it is new; {wrong}"));
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_restore_that_lacks_the_key_is_partial_if_it_was_asked_for_the_file() {
    let script = format!("rm ~/{CHANGED}");
    let harmed = Harmed::by(&script);
    let (sandbox, id, own) = (&harmed.sandbox, harmed.id.as_str(), harmed.own.as_str());
    let path = harmed.home.join(CHANGED);
    let path = path.to_str().unwrap();
    let next = "to restore it too: ";
    // A rule that the plan states, unless the file is asked for.
    let all = sandbox.jackin(["restore", id, "--yes"]).ok();
    all.shows(next).shows(&format!("restore {id} --identity FILE"));
    sandbox.jackin(["restore", id, "--json"]).ok();
    for more in [path, "--require-complete"] {
        sandbox.jackin(["restore", id, "--dry-run", more]).code(6);
        sandbox.jackin(["restore", id, "--yes", more]).code(6).shows(next);
        let told = ["restore", id, "--yes", "--json", more];
        let told = sandbox.jackin(told).code(6).json();
        assert_eq!(told["outcome"], "partial", "{told}");
        let told = ["restore", id, "--dry-run", "--json", more];
        let told = sandbox.jackin(told).code(6).json();
        assert_eq!(told["outcome"], "planned", "{told}");
    }
    sandbox
        .jackin(["restore", id, "--yes", path, "--identity", own])
        .ok()
        .hides("too:");
    assert_eq!(private(&harmed.home), harmed.before);
    // The baseline has the file, though not the snapshot that an undo goes back to.
    let short = sandbox.jackin(["undo", id, "--yes"]).code(6);
    short.has(&format!(
        "encrypted {CHANGED}: it is new; it stays without --identity"
    ));
    let said = short.said();
    let receipt = said.split("--receipt ").nth(1).unwrap();
    let receipt = receipt.split_whitespace().next().unwrap();
    short
        .has("to delete it too: ")
        .has(&format!("undo {id} --receipt {receipt} --identity FILE"));
    let whole = ["undo", id, "--receipt", receipt, "--identity", own, "--yes"];
    sandbox.jackin(whole).ok().hides("too:");
    assert_eq!(private(&harmed.home), harmed.after);
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn a_diff_with_the_key_asks_for_no_key() {
    // A credential that changed and one that is gone, and settings with another secret.
    let harmed = Harmed::by(HARM);
    let (sandbox, id, own) = (&harmed.sandbox, harmed.id.as_str(), harmed.own.as_str());
    let asks = "use --identity FILE";
    fs::remove_file(harmed.home.join(CHANGED)).unwrap();
    for side in [&[][..], &["--now"]] {
        let diff = [&["diff", id][..], side].concat();
        sandbox.jackin(&diff).ok().shows(asks);
        let opened = sandbox.jackin([&diff[..], &["--identity", own]].concat()).ok();
        opened
            .shows("D .codex/auth.json")
            .hides(asks)
            .hides("a secret in it changed");
        let told = [&diff[..], &["--identity", own, "--json"]].concat();
        let told = sandbox.jackin(told).ok().json();
        assert_eq!(told["withheld"], serde_json::json!([]), "{told}");
    }
}
