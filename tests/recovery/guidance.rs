//! What is said helps: commands that can be copied, in the form that works; one document where one is promised; nothing
//! that is asked in vain.

use std::fs;
use std::path::Path;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Standard error as text.
pub(crate) fn complaint(run: &Run) -> String {
    String::from_utf8(run.stderr.clone()).unwrap()
}

/// The words behind `label` on standard error, without the program's name: on the same line, or on the next.
#[track_caller]
pub(crate) fn proposed(run: &Run, label: &str) -> String {
    let text = complaint(run);
    let (_, rest) = text
        .split_once(label)
        .unwrap_or_else(|| panic!("`{label}` is not said\n{run}"));
    let line = rest.trim_start().lines().next().unwrap_or_default();
    line.strip_prefix("jackin recovery ")
        .unwrap_or_else(|| panic!("`{line}` is no command\n{run}"))
        .to_owned()
}

/// Types a proposed command into a shell, as it stands there.
pub(crate) fn typed(sandbox: &Sandbox, directory: &Path, words: &str, more: &str) -> Run {
    let script = format!("exec \"$0\" \"$1\" {words} {more}");
    sandbox
        .command::<[&str; 0], &str>([])
        .inside(directory)
        .through(&["sh", "-c", &script])
        .run()
}

#[test]
fn missing_mode_comes_with_the_command_that_has_one() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("plain");
    Build::at(&project).file("a", "a\n").aged();
    let run = sandbox.command(["explain", "."]).inside(&project).run().code(2);
    let words = proposed(&run, "to see the contract without configuration:");
    typed(&sandbox, &project, &words, "")
        .ok()
        .shows("Recovery contract");
    let run = sandbox.command(["explain"]).inside(&project).run().code(2);
    let words = proposed(&run, "to protect this directory:");
    let agreed = typed(&sandbox, &project, &words, "").ok();
    // What was explained is one command away, with the same flags.
    let words = proposed(&agreed, "to start:").replace("CMD", "true");
    typed(&sandbox, &project, &words, "").ok();
    // The arguments of a command may hold secrets.
    let secret = ["launch", "./absent", "--", "agent", "--key", "hunter2"];
    let run = sandbox.command(secret).inside(&project).run().code(2);
    run.shows("absent").hides("hunter2");
}

#[test]
fn missing_directory_is_the_nearer_mistake() {
    let sandbox = Sandbox::new();
    let run = sandbox.jackin(["explain", "./absent"]).code(2);
    run.shows("absent does not exist").hides("--snapshot");
}

#[test]
fn command_without_its_dashes_is_told_where_it_stands() {
    let sandbox = Sandbox::new();
    let args = ["launch", "--snapshot", "project", "."];
    sandbox.jackin(args).code(2).shows("no command was given");
    let args = ["launch", "--snapshot", "project", ".", "make"];
    sandbox.jackin(args).code(2).shows("arguments after `--`");
}

#[test]
fn mistaken_verb_makes_no_store() {
    let sandbox = Sandbox::new();
    for (args, code) in [
        (&["undo"][..], 5),
        (&["undo", "x"], 5),
        (&["end", "x"], 5),
        (&["checkpoint", "x"], 5),
        (&["rebuild"], 0),
        (&["restore", "x", "--yes"], 5),
    ] {
        sandbox.jackin(args).code(code);
        assert!(!sandbox.home().join(".jackin").exists(), "{args:?} made a store");
    }
    sandbox.jackin(["undo"]).code(5).shows("nothing to undo");
}

#[test]
fn refusal_as_json_is_all_that_stderr_holds() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("asked");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let elsewhere = sandbox.scratch("elsewhere");
    let to = elsewhere.to_str().unwrap();
    for args in [
        &["restore", &id, "--json"][..],
        &["restore", &id, "--json", "--to", to],
    ] {
        let run = sandbox.jackin(args).code(4);
        let document: serde_json::Value = serde_json::from_str(&complaint(&run)).unwrap();
        assert_eq!(document["error"]["kind"], "not-confirmed");
        assert!(run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn to_refuses_before_it_asks_and_plans_as_json() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("source");
    Build::at(&project).file("sub/a", "a\n").file("b", "b\n").aged();
    let id = sandbox.launch(&project, "rm b");
    let full = sandbox.scratch("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("kept"), "kept").unwrap();
    let file = full.join("kept");
    let orphan = sandbox.scratch("absent").join("below");
    for (to, why) in [
        (&full, "is not empty"),
        (&file, "is not a directory"),
        (&orphan, "there is no directory"),
    ] {
        let to = to.to_str().unwrap();
        // Not 4: there is nothing to confirm.
        sandbox.jackin(["restore", &id, "--to", to]).code(2).shows(why);
        let dry = ["restore", &id, "--to", to, "--dry-run", "--json"];
        let run = sandbox.jackin(dry).code(2);
        assert!(run.stdout.is_empty(), "{run}");
    }
    let fresh = sandbox.scratch("fresh");
    let to = fresh.to_str().unwrap();
    for (paths, count) in [(&[][..], 3), (&["sub/a"][..], 2)] {
        let mut args = vec!["restore", &id, "--to", to, "--json"];
        args.extend(paths);
        let plan = sandbox
            .command(args.iter().chain(&["--dry-run"]))
            .inside(&project)
            .run()
            .ok()
            .json();
        assert_eq!(
            (&plan["outcome"], &plan["paths"]),
            (&"planned".into(), &count.into())
        );
        assert!(!fresh.exists());
        let done = sandbox
            .command(args.iter().chain(&["--yes"]))
            .inside(&project)
            .run()
            .ok()
            .json();
        assert_eq!(done["paths"], count, "the plan said so");
        fs::remove_dir_all(&fresh).unwrap();
    }
    let args = ["restore", &id, "--to", to, "nowhere"];
    sandbox
        .jackin(args)
        .code(2)
        .shows("nowhere is not in the baseline");
}

#[test]
fn unknown_path_is_no_absence_of_differences() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("paths");
    Build::at(&project)
        .file("a", "a\n")
        .file("target/x", "x\n")
        .file("same", "same\n")
        .aged();
    let id = sandbox.launch_with(
        &["--exclude", "target/"],
        &project,
        "rm a; echo > 'odd name'; echo > -dash",
    );
    let diff = |path: &str| sandbox.command(["diff", &id, "--", path]).inside(&project).run();
    diff("nowhere").code(2).shows("nowhere is on neither side");
    diff("--stat").code(2).shows("put flags before it");
    diff("target/x").code(5).shows("excluded by target/");
    for known in ["a", "same", ".", "odd name", "-dash"] {
        diff(known).ok();
    }
    // The command that undoes what is shown undoes no more than that.
    for path in ["odd name", "-dash"] {
        let words = proposed(&diff(path), "to undo:");
        typed(&sandbox, &project, &format!("restore --yes {}", &words[8..]), "").ok();
        assert!(!project.join(path).exists(), "{words}");
        assert!(!project.join("a").exists(), "{words} did too much");
    }
}

#[test]
fn conflicts_name_the_flags_that_they_give_way_to() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("later");
    Build::at(&project).file("a", "1\n").file("b", "1\n").aged();
    let id = sandbox.launch(&project, "echo 2 > a; echo 2 > b");
    Build::at(&project).file("a", "3\n");
    let run = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    assert!(!complaint(&run).contains("--delete-later-files"), "{run}");
    Build::at(&project).file("new", "3\n");
    let damaged = Tree::read(&project);
    let run = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    assert_untouched(&damaged, &Tree::read(&project));
    let plain = proposed(&run, "to apply:");
    typed(&sandbox, &project, &plain, "--yes").code(6);
    let all = proposed(&run, "to discard later edits as well:");
    typed(&sandbox, &project, &all, "--yes").ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "1\n");
    assert!(!project.join("new").exists());
}

#[test]
fn a_file_that_was_deleted_since_is_recreated_not_discarded() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("deleted");
    Build::at(&project).file("a", "1\n").file("b", "1\n").aged();
    let id = sandbox.launch(&project, "echo 2 > a; echo 2 > b; touch new");
    fs::remove_file(project.join("a")).unwrap();
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let words = proposed(&run, "to recreate what was deleted since as well:");
    assert!(!complaint(&run).contains("discard"), "{run}");
    typed(&sandbox, &project, &words, "--yes").ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "1\n");
    // A restore that only deletes says so.
    let other = sandbox.launch(&project, "touch x y");
    let done = sandbox.jackin(["restore", &other, "--yes"]).ok();
    done.shows("Done: 2 paths deleted and verified.");
}

#[test]
fn what_is_active_comes_with_how_to_end_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("begun");
    Build::at(&project).file("a", "a\n").aged();
    let session = Background::launch(&sandbox, &project, "echo b > a");
    let id = sandbox.newest();
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(3);
    assert_eq!(complaint(&run).matches("launcher is running").count(), 1, "{run}");
    let pid = complaint(&run).split_once("(process ").unwrap().1.to_owned();
    let pid = pid.split(')').next().unwrap().to_owned();
    assert!(
        !complaint(&run).contains(&format!("process {pid} (")),
        "said twice\n{run}"
    );
    run.shows(&format!("kill {pid}"));
    session.end().ok();

    let args = ["begin", "--snapshot", "project", project.to_str().unwrap()];
    sandbox.jackin(args).ok();
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(3);
    let words = proposed(&run, "when its agent is done:");
    typed(&sandbox, &project, &words, "").ok();
    sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
}

#[test]
fn session_in_a_session_is_refused_without_a_contract() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("nested");
    Build::at(&project).file("a", "a\n").aged();
    let inner = "\"$0\" recovery launch --snapshot project . -- true 2> inner; echo $? >> inner";
    let binary = env!("CARGO_BIN_EXE_jackin");
    let args = [
        "launch",
        "--snapshot",
        "project",
        ".",
        "--",
        "sh",
        "-c",
        inner,
        binary,
    ];
    sandbox.command(args).inside(&project).run().ok();
    let inner = fs::read_to_string(project.join("inner")).unwrap();
    assert!(
        inner.starts_with("error: ") && inner.ends_with("125\n"),
        "{inner}"
    );
}

#[test]
fn unknown_snapshot_gets_the_words_that_work() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("snaps");
    Build::at(&project).file("a", "1\n").aged();
    let args = ["begin", "--snapshot", "project", project.to_str().unwrap()];
    sandbox.jackin(args).ok();
    let id = sandbox.newest();
    sandbox.jackin(["checkpoint", &id, "--name", "half"]).ok();
    sandbox.jackin(["checkpoint", &id]).ok();
    let run = sandbox.jackin(["diff", &id, "--from", "nope"]).code(5);
    let text = complaint(&run);
    let (_, known) = text.split_once("snapshots: ").unwrap();
    let known: Vec<&str> = known.lines().next().unwrap().split(", ").collect();
    assert_eq!(known, ["checkpoint", "half", "baseline"], "{run}");
    for word in known {
        sandbox.jackin(["diff", &id, "--from", word]).ok();
    }
}

#[test]
fn damage_comes_with_the_verb_that_measures_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hurt");
    Build::at(&project).file("a", "before\n".repeat(500)).aged();
    let id = sandbox.launch(&project, "echo agent > a");
    for archive in fs::read_dir(sandbox.store().join("archives")).unwrap() {
        fs::remove_file(archive.unwrap().path()).unwrap();
    }
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(7);
    let words = proposed(&run, "to find other damage:");
    let verified = typed(&sandbox, &project, &words, "").code(7);
    let text = String::from_utf8(verified.stdout.clone()).unwrap();
    // Only a path, which must stay whole to be copied, may be wider than the terminal.
    let wide = text.lines().find(|line| line.len() > 80 && !line.contains('/'));
    assert!(wide.is_none(), "{wide:?}\n{verified}");
}

#[test]
fn the_log_that_a_message_names_has_the_operations_of_earlier_sessions() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let forgotten = sandbox.launch(&project, "echo 0 > a");
    sandbox.jackin(["forget", &forgotten, "--yes"]).ok();
    for content in ["1", "2"] {
        let id = sandbox.launch(&project, &format!("echo {content} > a"));
        sandbox.restore(&id, &[]);
    }
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["list"])
        .ok()
        .shows("1 session more, forgotten (see `log --any`)");
    let undo = run(&["undo", "--receipt", "999", "--yes"]).code(5);
    let words = proposed(&undo, "to find the number of a restore:");
    let log = typed(&sandbox, &project, &words, "").ok();
    log.has("forgot");
    assert_eq!(log.text().matches("restored to").count(), 2, "{log}");
}
