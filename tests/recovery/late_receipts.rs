//! Receipts that the catalog of a waiting process lacks: a forget and a prune at their questions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::forget::{FIRST, found_in};
use crate::retention::{is_whole, rules};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;

/// Starts a command on a terminal, and returns when it asks its question.
fn ask(sandbox: &Sandbox, project: &Path, words: &str) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    let tmux = Tmux::start(sandbox, project, (160, 40), &script, &[])?;
    tmux.asks("[y/N]");
    Some(tmux)
}

/// Runs a command that cannot write to the catalog, as on a full disk: its receipt is in the log alone.
fn without_catalog(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Run {
    let writer = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = sandbox.command(words).inside(project).run();
    writer.execute_batch("ROLLBACK").unwrap();
    run
}

#[test]
fn a_forget_at_its_question_brings_back_nothing_that_another_forgot() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("kept"), "one\n").unwrap();
    fs::write(project.join("secret"), FIRST).unwrap();
    fs::write(project.join("other"), "another secret\n").unwrap();
    sandbox.launch(&project, "echo two > kept");
    let Some(tmux) = ask(&sandbox, &project, "forget --path other") else {
        return;
    };
    without_catalog(&sandbox, &project, &["forget", "--path", "secret", "--yes"]).code(1);
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 1");
    let words = ["forget", "--path", "other", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
    let show = sandbox.command(["show"]).inside(&project).run().ok();
    show.shows("secret: forgotten").shows("other: forgotten");
    assert_eq!(found_in(&sandbox, FIRST), Vec::<PathBuf>::new());
    is_whole(&sandbox);
    let words = ["forget", "--path", "kept", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
}

#[test]
fn what_was_pinned_while_a_prune_or_a_forget_asked_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let pinned = sandbox.launch(&project, "echo one > kept");
    sandbox.launch(&project, "echo two > kept");
    sandbox.launch(&project, "echo three > kept");
    rules(&sandbox, "instances = 1");
    for words in ["prune".to_owned(), format!("forget {pinned}")] {
        let Some(tmux) = ask(&sandbox, &project, &words) else {
            return;
        };
        let run = without_catalog(&sandbox, &project, &["pin", &pinned]).ok();
        run.shows("is pinned");
        tmux.press(&["y", "Enter"]);
        tmux.sees("code ");
        sandbox.jackin(["show", &pinned]).ok().shows("pinned");
        is_whole(&sandbox);
        sandbox.jackin(["unpin", &pinned]).ok();
    }
}
