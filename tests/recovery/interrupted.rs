//! A restore that is killed: the tree is whole, the next command says what is left, and the work can be finished.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn staging(beside: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(beside).unwrap().flatten();
    let mut names = entries.filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b".jackin-recovery-")
    });
    names.next().map(|entry| entry.path())
}

#[test]
fn killed_while_staging_leaves_the_old_tree_and_is_cleared_up() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("killed");
    Build::at(&project)
        .big("big", 256 << 20)
        .file("a", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm big; echo agent > a");
    let damaged = Tree::read(&project);

    let mut restore = sandbox.command(["restore", &id, "--yes"]).start();
    let since = Instant::now();
    while staging(&sandbox.sources()).is_none() {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing was staged");
        std::thread::sleep(Duration::from_millis(1));
    }
    restore.child.kill().unwrap();
    restore.child.wait().unwrap();
    let left = staging(&sandbox.sources()).expect("it was killed while it staged");
    assert_untouched(&damaged, &Tree::read(&project));

    // Nothing was moved, so nothing waits: the next restore clears up after it, and says so.
    let run = sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(run.text().contains("had not changed anything yet"), "{run}");
    assert_same_tree(&before, &Tree::read(&project));
    assert!(!left.exists());
}
