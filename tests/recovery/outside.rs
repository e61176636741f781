//! Planted links lead a restore nowhere (scenario 34).

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s34_link_planted_after_the_session_leads_nowhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("planted");
    let outside = sandbox.project("outside");
    for directory in [&project.join("dir"), &outside] {
        Build::at(directory)
            .file("edited", "before\n")
            .file("deleted", "d\n")
            .dir("empty")
            .aged();
    }
    let id = sandbox.launch(
        &project,
        "echo agent > dir/edited; rm dir/deleted; rmdir dir/empty; echo n > dir/new",
    );
    Build::at(&outside).file("new", "the operator's own\n");
    let there = Tree::read(&outside);

    fs::remove_dir_all(project.join("dir")).unwrap();
    std::os::unix::fs::symlink(&outside, project.join("dir")).unwrap();
    for flags in [
        &[][..],
        &["--overwrite-later-edits"],
        &["--overwrite-later-edits", "--delete-later-files"],
    ] {
        let args = ["restore", &id, "--yes"].into_iter().chain(flags.iter().copied());
        let run = sandbox.jackin(args);
        assert_ne!(run.exit(), Some(101), "{run}");
        assert_untouched(&there, &Tree::read(&outside));
    }
}

#[test]
fn s34_directory_that_flips_to_a_link_while_it_is_restored_leads_nowhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("flipping");
    let outside = sandbox.project("outside");
    for directory in [&project.join("dir"), &outside] {
        let build = Build::at(directory);
        for number in 0..60 {
            build.file(format!("file-{number}"), format!("before {number}\n"));
        }
        build.aged();
    }
    let id = sandbox.launch(
        &project,
        "for f in dir/*; do echo agent > $f; done; rm dir/file-1*; echo n > dir/new",
    );
    Build::at(&outside).file("new", "the operator's own\n");
    let there = Tree::read(&outside);
    let link = sandbox.sources().join("link");
    std::os::unix::fs::symlink(&outside, &link).unwrap();

    for _ in 0..4 {
        let done = AtomicBool::new(false);
        let run = std::thread::scope(|scope| {
            let flipper = scope.spawn(|| flip(&project.join("dir"), &link, &done));
            let run = sandbox.jackin([
                "restore",
                &id,
                "--yes",
                "--overwrite-later-edits",
                "--delete-later-files",
            ]);
            done.store(true, Ordering::Relaxed);
            flipper.join().unwrap();
            run
        });
        // It may fail, or find nothing where the link stands; it may not write through it.
        assert!(run.exit().is_some_and(|code| code != 101), "{run}");
        assert_untouched(&there, &Tree::read(&outside));
        if run.exit() == Some(8) {
            sandbox.jackin(["abort", &id, "--yes"]);
            assert_untouched(&there, &Tree::read(&outside));
        }
    }
}

/// Exchanges the two until told to stop, and leaves the directory in its place.
fn flip(directory: &Path, link: &Path, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        // The restore may have moved the directory aside just now: then there is nothing to exchange.
        let _ = renameat_with(CWD, directory, CWD, link, RenameFlags::EXCHANGE);
        std::thread::yield_now();
    }
    if directory.is_symlink() {
        let _ = renameat_with(CWD, directory, CWD, link, RenameFlags::EXCHANGE);
    }
}

#[test]
fn s34_link_in_the_way_of_a_new_directory_leads_nowhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("parents");
    let outside = sandbox.project("outside");
    Build::at(&outside).dir("deep").aged();
    Build::at(&project)
        .file("a/deep/file", "f\n")
        .file("b/deep/file", "g\n")
        .aged();
    let before = Tree::read(&project);
    let there = Tree::read(&outside);

    let id = sandbox.launch(
        &project,
        "rm -r a b/deep; ln -s ../outside a; ln -s ../../outside/deep b/deep",
    );
    sandbox.restore(&id, &[]);
    crate::support::compare::assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&there, &Tree::read(&outside));
}
