//! The latest session changed nothing: the earlier one that did is named, so that its changes are not taken for undone.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::conversation::Conversation;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

fn run(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Run {
    sandbox.command(args).inside(directory).run()
}

fn launch(sandbox: &Sandbox, directory: &Path, script: &str) -> String {
    run(sandbox, directory, &["launch", "-q", "--", "sh", "-c", script]).ok();
    sandbox.newest()
}

fn shop() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a", "a\n")
        .file("b", "b\n")
        .file("c", "c\n")
        .aged();
    (sandbox, project)
}

/// Insists that the hint names this session with what it changed, and the command for it.
#[track_caller]
fn names(run: &Run, id: &str, changed: &str, command: &str) {
    let said: Vec<String> = run.said().split_whitespace().map(str::to_owned).collect();
    let said = said.join(" ");
    let line = format!("{id} began before it and changed {changed}; ");
    let (_, rest) = said
        .split_once(&line)
        .unwrap_or_else(|| panic!("`{line}`\n{run}"));
    let (age, rest) = rest.split_once("): ").unwrap();
    assert!(age == "just now" || age.ends_with(" ago"), "{age}\n{run}");
    let command = format!("jackin recovery {command}");
    assert!(rest.starts_with(&command), "`{command}`\n{run}");
}

#[track_caller]
fn names_none(run: &Run) {
    assert!(!run.said().contains("began before it"), "{run}");
}

#[test]
fn a_session_that_changed_nothing_names_the_one_before_that_did() {
    let (sandbox, shop) = shop();
    let changed = launch(&sandbox, &shop, "echo x > a; rm b");
    for _ in 0..2 {
        launch(&sandbox, &shop, "true");
    }
    let counts = "2 paths (1 modified, 1 deleted";
    for words in [&["restore", "--yes"][..], &["restore", "--dry-run"], &["restore"]] {
        let restored = run(&sandbox, &shop, words).ok().shows("Nothing to do");
        names(&restored, &changed, counts, "restore @3");
    }
    // Silence would look like success.
    let quiet = run(&sandbox, &shop, &["restore", "--yes", "-q"]).ok();
    names(&quiet, &changed, counts, "restore @3");
    let diff = run(&sandbox, &shop, &["diff"]).ok().shows("no differences");
    names(&diff, &changed, counts, "diff @3");
    names_none(&run(&sandbox, &shop, &["diff", "-q"]).ok());
    let document = run(&sandbox, &shop, &["restore", "--yes", "--json"]).ok();
    assert!(document.stderr.is_empty(), "{document}");
    // A session that was named is the one that is meant.
    for word in ["@1", "@latest", &sandbox.newest()] {
        names_none(&run(&sandbox, &shop, &["restore", word, "--yes"]).ok());
        names_none(&run(&sandbox, &shop, &["diff", word]).ok());
    }
    names_none(&run(&sandbox, &shop, &["restore", "--from", "latest", "--yes"]).ok());
    run(&sandbox, &shop, &["diff", "@3"])
        .ok()
        .shows("M a")
        .shows("D b");
    run(&sandbox, &shop, &["restore", "@3", "--yes"]).ok();
    assert_eq!(fs::read_to_string(shop.join("a")).unwrap(), "a\n");
    // It needs nothing more, until that is undone.
    names_none(
        &run(&sandbox, &shop, &["restore", "--yes"])
            .ok()
            .shows("Nothing to do"),
    );
    run(&sandbox, &shop, &["undo", "--yes"]).ok();
    names(
        &run(&sandbox, &shop, &["restore", "--yes"]).ok(),
        &changed,
        counts,
        "restore @3",
    );
}

#[test]
fn a_session_that_was_undone_names_no_other_and_is_itself_passed_over() {
    let (sandbox, shop) = shop();
    let first = launch(&sandbox, &shop, "echo x > a");
    launch(&sandbox, &shop, "rm b");
    run(&sandbox, &shop, &["restore", "--yes"]).ok();
    // What was last done is undone: nothing else is meant.
    names_none(
        &run(&sandbox, &shop, &["restore", "--yes"])
            .ok()
            .shows("Nothing to do"),
    );
    launch(&sandbox, &shop, "true");
    let restored = run(&sandbox, &shop, &["restore", "--yes"]).ok();
    names(&restored, &first, "1 path (1 modified", "restore @3");
}

#[test]
fn only_sessions_here_that_can_be_restored_are_named() {
    let (sandbox, shop) = shop();
    let web = sandbox.project("web");
    Build::at(&web).file("a", "a\n").aged();
    launch(&sandbox, &web, "rm a");
    let metadata = ["launch", "-q", "--snapshot", "metadata", "--", "touch", "new"];
    run(&sandbox, &shop, &metadata).ok();
    launch(&sandbox, &shop, "true");
    names_none(
        &run(&sandbox, &shop, &["restore", "--yes"])
            .ok()
            .shows("Nothing to do"),
    );
    names_none(&run(&sandbox, &shop, &["diff"]).ok().shows("no differences"));
}

#[test]
fn a_conversation_that_was_resumed_names_the_session_before() {
    for resumed in ["c1", "c2"] {
        let sandbox = Sandbox::new();
        let shop = sandbox.captured("shop", "");
        Build::at(&shop).file("a", "a\n").file("b", "b\n").aged();
        let mut agent = Conversation::new(&sandbox, &shop, "c1");
        agent.turn("clean up", "rm b");
        agent.turn("go on", "echo x > a");
        agent.end();
        agent.run().ok();
        let changed = sandbox.newest();
        let mut agent = Conversation::new(&sandbox, &shop, resumed);
        agent.turn("look", "cat a");
        agent.end();
        agent.run().ok();
        assert_ne!(sandbox.newest(), changed);
        let restored = run(&sandbox, &shop, &["restore", "--yes"])
            .ok()
            .shows("Nothing to do");
        names(
            &restored,
            &changed,
            "2 paths (1 modified, 1 deleted",
            "restore @2",
        );
    }
}

#[test]
fn a_session_that_outlasts_the_latest_is_named_once() {
    let (sandbox, shop) = shop();
    let outer = sandbox.begin(&shop);
    launch(&sandbox, &shop, "true");
    fs::remove_file(shop.join("b")).unwrap();
    sandbox.jackin(["end", &outer]).ok();
    // What it deleted after the end of the latest is a conflict of that.
    for (verb, code) in [(&["restore", "--yes"][..], 6), (&["diff"], 0)] {
        let told = run(&sandbox, &shop, verb).code(code);
        let command = format!("{} @2", verb[0]);
        names(&told, &outer, "1 path (1 deleted", &command);
        assert_eq!(told.said().matches("began before it").count(), 1, "{told}");
    }
    // A session without changes of its own is named as before.
    let (sandbox, shop) = shop_with_idle_outer();
    let told = run(&sandbox, &shop, &["restore", "--yes"]).ok();
    told.has("began before it and ended later; @2 means that one");
}

/// A session that changed nothing, around one that did so either.
fn shop_with_idle_outer() -> (Sandbox, PathBuf) {
    let (sandbox, shop) = shop();
    let outer = sandbox.begin(&shop);
    launch(&sandbox, &shop, "true");
    sandbox.jackin(["end", &outer]).ok();
    (sandbox, shop)
}
