//! A launcher whose catalog cannot be written for a while, or is another file later: its session is recorded to the end.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::background::Background;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::patience::await_that;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Kinds of the snapshots of the only session, the newest first.
fn kinds(sandbox: &Sandbox) -> Vec<String> {
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all.len(), 1);
    all[0]
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.clone())
        .collect()
}

fn launch(sandbox: &Sandbox, project: &Path) -> Background {
    Background::launch_with(
        sandbox,
        &["--snapshot", "project", "--checkpoint-every", "1s"],
        project,
        "mkdir one",
    )
}

/// Checks that a running session takes another checkpoint, ends, and comes back.
fn goes_on(sandbox: &Sandbox, project: &Path, session: Background, before: &Tree) {
    let taken = kinds(sandbox).len();
    fs::create_dir(project.join("two")).unwrap();
    await_that("another checkpoint", || kinds(sandbox).len() > taken);
    fs::create_dir(project.join("three")).unwrap();
    session.end().ok();
    assert_eq!(kinds(sandbox)[0], "closing");
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.restore(&sandbox.newest(), &[]);
    assert_same_tree(before, &Tree::read(project));
}

#[test]
fn a_catalog_that_is_made_again_beside_a_session_ends_none_of_its_snapshots() {
    type Replace<'a> = &'a dyn Fn(&Sandbox, &Path);
    let remove = |catalog: &Path| {
        fs::remove_file(catalog).unwrap();
        let _ = fs::remove_file(catalog.with_extension("sqlite3-journal"));
    };
    let rebuild = |sandbox: &Sandbox| drop(sandbox.jackin(["rebuild"]).ok());
    let ways: [Replace<'_>; 3] = [
        &|_, catalog| remove(catalog),
        &|sandbox, catalog| {
            remove(catalog);
            rebuild(sandbox);
        },
        &|sandbox, catalog| {
            fs::write(catalog, "no database\n".repeat(400)).unwrap();
            rebuild(sandbox);
        },
    ];
    for replace in ways {
        let sandbox = Sandbox::new();
        let project = sandbox.project("work");
        fs::write(project.join("kept"), "kept\n").unwrap();
        let before = Tree::read(&project);
        let session = launch(&sandbox, &project);
        await_that("a checkpoint", || kinds(&sandbox).len() > 1);
        replace(&sandbox, &sandbox.store().join("catalog.sqlite3"));
        goes_on(&sandbox, &project, session, &before);
    }
}

#[test]
fn a_catalog_that_is_locked_for_a_while_ends_no_snapshots() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("kept"), "kept\n").unwrap();
    let before = Tree::read(&project);
    let session = launch(&sandbox, &project);
    await_that("a checkpoint", || kinds(&sandbox).len() > 1);
    let other = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fs::create_dir(project.join("meanwhile")).unwrap();
    // Longer than a write waits.
    std::thread::sleep(Duration::from_secs(13));
    other.execute_batch("ROLLBACK").unwrap();
    goes_on(&sandbox, &project, session, &before);
}
