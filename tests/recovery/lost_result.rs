//! Stdout takes no result: the work decides how the command ended, and stderr has what stdout did not take.

use std::fs;

use serde_json::Value;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::schema;
use crate::support::tree::Tree;

/// The same command with `/dev/full` as stdout.
fn full(sandbox: &Sandbox, words: &[&str]) -> Run {
    sandbox
        .command(words)
        .through(&["sh", "-c", "exec \"$@\" > /dev/full", "sh"])
        .run()
}

/// The one document on stderr.
#[track_caller]
fn warning(run: &Run) -> Value {
    let lines = String::from_utf8_lossy(&run.stderr);
    let mut documents = lines.lines().filter(|line| line.starts_with('{'));
    let line = documents.next().unwrap_or_else(|| panic!("no document: {run}"));
    assert_eq!(documents.next(), None, "{run}");
    let value: Value = serde_json::from_str(line).unwrap();
    schema::check("warning", &value, run);
    assert_eq!(value["warning"]["kind"], "result-not-written", "{run}");
    value["result"].clone()
}

#[test]
fn what_changes_something_returns_the_code_of_its_work() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let target = project.to_str().unwrap();

    let begun = full(&sandbox, &["begin", "--snapshot", "project", target]).code(0);
    let id = sandbox.newest();
    let begun = begun.shows("warning: the command did its work").shows(&id);
    assert!(!begun.said().contains("error:"), "{begun}");
    fs::write(project.join("a"), "agent\n").unwrap();
    let marked = full(&sandbox, &["checkpoint", &id, "--name", "one", "--json"]).code(0);
    assert_eq!(warning(&marked)["name"], "one");
    let ended = full(&sandbox, &["end", &id, "--json"]).code(0);
    assert_eq!(warning(&ended)["instance"], id.as_str());
    let damaged = Tree::read(&project);

    let restored = full(&sandbox, &["restore", &id, "--yes", "--json"]).code(0);
    let result = warning(&restored);
    assert_eq!(
        (&result["outcome"], &result["instance"]),
        (&"restored".into(), &id.as_str().into())
    );
    assert_same_tree(&before, &Tree::read(&project));
    let undone = full(&sandbox, &["undo", &id, "--yes"]).code(0);
    let undone = undone
        .shows("warning: the command did its work")
        .shows("No space left on device");
    undone.shows("Done");
    assert_same_tree(&damaged, &Tree::read(&project));

    // A part that was kept stays a part.
    fs::write(project.join("later"), "by the operator\n").unwrap();
    let kept = full(&sandbox, &["restore", &id, "--yes", "--json"]).code(6);
    assert_eq!(warning(&kept)["outcome"], "partial");

    full(&sandbox, &["pin", &id, "--json"]).code(0);
    full(&sandbox, &["unpin", &id]).code(0);
    full(&sandbox, &["prune", "--yes"]).code(0);
    let fork = sandbox.scratch("fork");
    full(&sandbox, &["fork", &id, fork.to_str().unwrap()]).code(0);
    assert!(fork.join("a").exists());
}

#[test]
fn an_interrupted_restore_is_taken_up_all_the_same() {
    if !crate::support::machine::has_points() {
        return crate::support::machine::skip("kills at points", "a released program has none");
    }
    for (verb, outcome) in [("resume", "restored"), ("abort", "aborted")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("taken");
        Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "echo agent > a; rm b");
        let damaged = Tree::read(&project);
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
        assert_eq!(killed.exit(), None, "{killed}");
        let run = full(&sandbox, &[verb, &id, "--yes", "--json"]).code(0);
        assert_eq!(warning(&run)["outcome"], outcome, "{run}");
        let wanted = if verb == "abort" { &damaged } else { &before };
        assert_same_tree(wanted, &Tree::read(&project));
    }
}

/// A command that only prints fails if stdout fails.
#[test]
fn what_only_prints_fails_when_it_cannot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("read");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    for words in [
        &["list"][..],
        &["show", &id],
        &["diff", &id],
        &["log"],
        &["restore", &id, "--dry-run"],
        &["prune", "--dry-run"],
        &["undo", "--dry-run", &id],
    ] {
        let run = full(&sandbox, words);
        assert!(run.exit().is_some_and(|code| code != 0), "{run}");
    }
}
