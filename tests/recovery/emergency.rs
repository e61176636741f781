//! Without an emergency snapshot there is no restore (scenario 28).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::build::{Build, noise};
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::machine::{SmallDisk, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s28_full_disk_under_the_store_refuses_the_restore() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(&sandbox.home().join(".jackin"), 24 << 20) else {
        skip("s28 with a full disk", "a file system cannot be mounted here");
        return;
    };
    let project = sandbox.project("full");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone", "gone\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; rm gone; echo new > new");
    // Work that no snapshot holds yet: without the emergency snapshot it would be lost.
    Build::at(&project).file("later", noise("later", 4 << 20));
    let damaged = Tree::read(&project);

    let ballast = disk.fill();
    let flags = [
        "restore",
        &id,
        "--yes",
        "--overwrite-later-edits",
        "--delete-later-files",
    ];
    let run = sandbox.jackin(flags).refused();
    assert!(!run.text().trim().is_empty(), "{run}");
    assert_untouched(&damaged, &Tree::read(&project));
    sandbox.no_litter();
    assert_eq!(
        emergencies(&sandbox, Some(&ballast)),
        0,
        "none that looks good was left behind"
    );

    // Nothing is broken for good: with space it works, and undo has what was there.
    sandbox.jackin(flags).ok();
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    assert!(emergencies(&sandbox, None) >= 2);
}

/// Every file is the new one by then. The restore still waits, for the decision that cannot be written.
#[test]
fn a_full_disk_under_the_store_leaves_a_resumed_restore_waiting() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(&sandbox.home().join(".jackin"), 3 << 20) else {
        return skip("a full disk at resume", "a file system cannot be mounted here");
    };
    let project = sandbox.project("full");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let killed = sandbox
        .command(["restore", &id, "--yes"])
        .with("JACKIN_RECOVERY_FAIL_AT", "journaled")
        .run();
    assert_ne!(killed.exit(), Some(0), "{killed}");
    let ballast = disk.fill();
    sandbox
        .jackin(["resume", &id, "--yes"])
        .code(8)
        .shows("some paths may be old and some new")
        .shows("free disk space for the store first")
        .shows(&format!("jackin recovery resume {id}"))
        .hides("JACKIN_HOME_DIR");
    fs::remove_file(ballast).unwrap();
    sandbox.jackin(["resume", &id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_disk_without_room_for_the_restored_files_leads_to_what_shows_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("crowded");
    let Some(disk) = SmallDisk::mount(&project, 1 << 20) else {
        return skip("a disk without inodes", "a file system cannot be mounted here");
    };
    Build::at(&project)
        .file("a", "before\n")
        .file("b", "before\n")
        .aged();
    let id = sandbox.launch(&project, "echo agent > a; rm b");
    let damaged = Tree::read(&project);
    disk.limit_inodes();
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    run.shows("cannot be").shows("`df -i` its inodes");
    assert_same_tree(&damaged, &Tree::read(&project));
}

/// Number of emergency snapshots; `ballast` is taken away first, for a full disk may not even be listed.
fn emergencies(sandbox: &Sandbox, ballast: Option<&Path>) -> usize {
    if let Some(ballast) = ballast {
        fs::remove_file(ballast).unwrap();
    }
    let run = sandbox.jackin(["list", "--json"]).ok();
    instances(&run)
        .iter()
        .flat_map(|instance| &instance.snapshots)
        .filter(|s| s.kind == "emergency")
        .count()
}

#[test]
fn s28_store_that_cannot_be_written_refuses_the_restore() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "s28 without permission",
            "commands cannot run as another user here",
        );
        return;
    };
    let project = sandbox.project("denied");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone", "gone\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; rm gone; echo new > new");
    let damaged = Tree::read(&project);

    let directories: Vec<_> = walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_dir())
        .map(walkdir::DirEntry::into_path)
        .collect();
    let permit = |mode| {
        for directory in &directories {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o500);
    let run = sandbox.jackin(["restore", &id, "--yes"]).refused();
    assert!(
        run.text().contains(sandbox.store().to_str().unwrap()),
        "it names the place\n{run}"
    );
    assert_untouched(&damaged, &Tree::read(&project));
    permit(0o700);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s28_emergency_snapshot_is_made_and_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("named");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let restored = sandbox.restore(&id, &[]);
    let emergency = restored.document["emergency"]
        .as_str()
        .expect("it is named")
        .to_owned();
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert_eq!(all[0].snapshot("emergency").id, emergency, "{run}");
    // A restore with nothing to do needs none.
    sandbox.restore(&id, &[]).nothing();
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert_eq!(
        instances(&run)[0]
            .snapshots
            .iter()
            .filter(|s| s.kind == "emergency")
            .count(),
        1,
        "{run}"
    );
}

#[test]
fn store_and_reports_are_for_their_owner_only() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("modes");
    Build::at(&project).file("a", "before\n").aged();
    let report = sandbox.scratch("report.json");
    let args = [
        "launch",
        "--snapshot",
        "project",
        "--report",
        report.to_str().unwrap(),
        project.to_str().unwrap(),
    ];
    let open_handed = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];
    let words = args.into_iter().chain(["--", "sh", "-c", "echo b > a"]);
    sandbox
        .command(words)
        .inside(&project)
        .through(&open_handed)
        .run()
        .ok();
    let restore = ["restore", "@latest", "--yes"];
    sandbox.command(restore).through(&open_handed).run().ok();

    for entry in walkdir::WalkDir::new(sandbox.store()) {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
        let wanted = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{} is {mode:o}", entry.path().display());
    }
    assert_eq!(
        fs::metadata(&report).unwrap().permissions().mode() & 0o7777,
        0o600
    );
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_eq!(document["instance"], sandbox.newest());
}
