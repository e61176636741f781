//! `--path`: only what was asked for is captured, and only that is put back.

use std::fs;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn only_tracked_paths_are_captured_and_restored() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tracked");
    Build::at(&project)
        .file("deep/in/kept", "before\n")
        .file("deep/out", "before\n")
        .file("else/x", "before\n")
        .aged();
    let before = Tree::read(&project);
    let flags = ["--path", "deep/in", "--path", "made"];
    let id = sandbox.launch_with(
        &flags,
        &project,
        "rm -r deep/in; echo agent > deep/out; rm -r else; mkdir -p made/x; echo > made/x/y; echo > beside",
    );
    sandbox
        .restore(&id, &[])
        .touched(&["deep/in", "deep/in/kept", "made", "made/x", "made/x/y"]);
    let after = Tree::read(&project);
    assert_same_tree(&before.only("deep/in"), &after.only("deep/in"));
    assert!(!after.has("made"), "it was not there, and it was asked for");
    assert!(
        !after.has("else") && after.has("beside"),
        "nobody asked for these"
    );
    assert_eq!(fs::read_to_string(project.join("deep/out")).unwrap(), "agent\n");
}

#[test]
fn directory_on_the_way_that_the_session_made_stays_for_what_nobody_looked_at() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("way");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch_with(
        &["--path", "new/tracked"],
        &project,
        "mkdir -p new/tracked; echo > new/tracked/x; echo mine > new/other",
    );
    let run = sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert!(!project.join("new/tracked").exists(), "{run}");
    assert_eq!(fs::read_to_string(project.join("new/other")).unwrap(), "mine\n");
}

#[test]
fn a_directory_on_the_way_goes_again_with_the_undo_that_takes_back_its_coming() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("way");
    Build::at(&project)
        .file("up/tracked/inside", "before\n")
        .file("other", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch_with(
        &["--path", "up/tracked"],
        &project,
        "rm -r up; echo agent >> other",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before.only("up"), &Tree::read(&project).only("up"));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    // What else lies in it by then is nobody's to remove.
    sandbox.undo(&id);
    Build::at(&project).file("up/mine", "mine\n");
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    assert!(project.join("up/mine").exists() && !project.join("up/tracked").exists());
}
