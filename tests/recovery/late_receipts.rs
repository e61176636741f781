//! Receipts that the catalog of a waiting process lacks: a forget and a prune at their questions, and a `verify` that computes its
//! answers in memory.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

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

#[test]
fn verify_without_a_catalog_takes_a_forget_beside_it_for_no_damage() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("kept"), "one\n").unwrap();
    fs::write(project.join("secret"), FIRST).unwrap();
    sandbox.launch(&project, "echo two > kept");
    fs::remove_file(sandbox.store().join("catalog.sqlite3")).unwrap();
    let _ = fs::remove_file(sandbox.store().join("catalog.sqlite3-journal"));
    let path = sandbox.store().join("locks/store");
    let lock = fs::File::open(&path).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let verify = sandbox.command(["verify", "--read-data"]).start();
    let pid = Pid::from_child(&verify.child);
    waits_for(verify.child.id(), &path);
    kill_process(pid, Signal::STOP).unwrap();
    drop(lock);
    let words = ["forget", "--path", "secret", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
    kill_process(pid, Signal::CONT).unwrap();
    verify.finish().ok().shows("all valid");
}

/// Waits until a process has the lock open, and so has read everything that it computes its catalog from.
fn waits_for(process: u32, lock: &Path) {
    let wanted = fs::metadata(lock).unwrap();
    let begun = Instant::now();
    loop {
        let open = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
        let mut open = open.filter_map(|entry| fs::metadata(entry.ok()?.path()).ok());
        if open.any(|meta| (meta.dev(), meta.ino()) == (wanted.dev(), wanted.ino())) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not wait");
        std::thread::sleep(Duration::from_millis(5));
    }
}
