//! Hard links of a file of which only metadata differ, and one of whose names is none of the restore's business: made later, excluded,
//! outside the mount, or not asked for. The undo has to find all of them names of one file again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn inode(path: &Path) -> u64 {
    path.symlink_metadata().unwrap().ino()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

/// Runs `restore`, which may leave conflicts, then `undo` and the undo of that; each has to find link groups as they were.
#[track_caller]
fn there_and_back(sandbox: &Sandbox, id: &str, world: &Path, more: &[&str]) {
    let now = Tree::read(world);
    let args = ["restore", id, "--yes", "--json"]
        .into_iter()
        .chain(more.iter().copied());
    sandbox.jackin(args).code_in(&[0, 6]);
    let after = Tree::read(world);
    sandbox.undo(id);
    assert_same_tree(&now, &Tree::read(world));
    sandbox.undo(id);
    assert_same_tree(&after, &Tree::read(world));
    sandbox.undo(id);
    assert_same_tree(&now, &Tree::read(world));
}

#[test]
fn undo_joins_a_name_that_was_made_later() {
    let damages: [&dyn Fn(&Path); 2] = [
        &|project| _ = Build::at(project).attribute("c", "user.k", "1"),
        &|project| _ = Build::at(project).mode("c", 0o600),
    ];
    for damage in damages {
        let sandbox = Sandbox::new();
        let project = sandbox.project("later");
        Build::at(&project).file("c", "x\n").mode("c", 0o644).aged();
        let id = sandbox.session(&project, damage);
        Build::at(&project).hard_link("d/b", "c");
        let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 6]);
        plan.has("no longer linked to d/b");
        let plan = sandbox.plan(&id, &[]);
        assert_eq!(plan.document["applied"][0]["parted_from"][0]["path"], "d/b");
        there_and_back(&sandbox, &id, &project, &[]);
        assert_eq!(inode(&project.join("c")), inode(&project.join("d/b")));
    }
}

#[test]
fn undo_joins_a_name_that_was_not_asked_for() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("asked");
    Build::at(&project)
        .file("a", "x\n")
        .hard_link("b", "a")
        .hard_link("c", "a")
        .mode("a", 0o644)
        .aged();
    let id = sandbox.launch(&project, "chmod 600 a");
    sandbox
        .jackin(["restore", &id, "--dry-run", "a"])
        .ok()
        .shows("no longer linked to b, c");
    for one in ["a", "b", "c"] {
        there_and_back(&sandbox, &id, &project, &[one]);
    }
}

#[test]
fn metadata_of_a_file_with_an_excluded_name_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("excluded");
    Build::at(&project).file("c", "x\n").mode("c", 0o644).aged();
    let was = inode(&project.join("c"));
    let id = sandbox.launch_with(&["--exclude", "/b"], &project, "chmod 600 c; ln c b");
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.has("1 other name outside");
    let plan = sandbox.plan(&id, &[]);
    assert_eq!(plan.document["applied"][0]["names_outside"], 1);
    sandbox.restore(&id, &[]);
    assert_eq!(inode(&project.join("c")), was);
    assert_eq!(mode(&project.join("c")), 0o644);
    sandbox.undo(&id);
    assert_eq!((inode(&project.join("b")), inode(&project.join("c"))), (was, was));
    assert_eq!(mode(&project.join("c")), 0o600);
    there_and_back(&sandbox, &id, &project, &[]);
}

#[test]
fn metadata_of_a_file_with_a_name_outside_the_mount_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("inside");
    Build::at(&project).file("c", "x\n").mode("c", 0o640).aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let (was, mtime) = (inode(&outside), outside.metadata().unwrap().mtime());
    let id = sandbox.session(&project, |project| {
        Build::at(project).mode("c", 0o600).attribute("c", "user.k", "1");
    });
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("1 other name outside");
    sandbox.restore(&id, &[]);
    assert_eq!(
        (inode(&project.join("c")), inode(&outside), mode(&outside)),
        (was, was, 0o640)
    );
    assert_eq!(outside.metadata().unwrap().mtime(), mtime);
    sandbox.undo(&id);
    assert_eq!(
        (inode(&project.join("c")), inode(&outside), mode(&outside)),
        (was, was, 0o600)
    );
    there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
}

#[test]
fn metadata_of_a_file_that_the_session_linked_in_from_outside_are_not_changed_there() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("planted");
    Build::at(&project).file("c", "").mode("c", 0o666).aged();
    Build::at(&sandbox.sources()).file("lock", "").mode("lock", 0o600);
    let id = sandbox.launch(&project, "ln -f ../lock c");
    let outside = sandbox.sources().join("lock");
    assert_eq!(inode(&project.join("c")), inode(&outside));
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("no longer linked to 1 name outside");
    sandbox.restore(&id, &[]);
    assert_eq!((mode(&project.join("c")), mode(&outside)), (0o666, 0o600));
}

#[test]
fn a_file_whose_content_changed_says_that_it_is_parted_from_a_name_outside() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("content");
    Build::at(&project).file("c", "first\n").aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let id = sandbox.launch(&project, "echo second > c");
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("no longer linked to 1 name outside");
    let plan = sandbox.plan(&id, &[]);
    assert_eq!(plan.document["applied"][0]["names_outside"], 1);
    assert_eq!(
        plan.document["applied"][0]["parted_from"],
        serde_json::Value::Null
    );
}

#[test]
fn undo_finds_the_excluded_name_of_a_file_whose_content_came_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hidden");
    Build::at(&project).file("c", "first\n").aged();
    let id = sandbox.launch_with(
        &["--exclude", "/out/"],
        &project,
        "echo second > c; mkdir -p out/deep; ln c out/deep/b",
    );
    there_and_back(&sandbox, &id, &project, &[]);
    assert_eq!(inode(&project.join("c")), inode(&project.join("out/deep/b")));
}

#[test]
fn flags_of_a_file_with_a_name_outside_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("flags");
    Build::at(&project).file("c", "x\n").aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let set = std::process::Command::new("chattr")
        .arg("+d")
        .arg(project.join("c"))
        .status();
    if !set.is_ok_and(|status| status.success()) {
        return crate::support::machine::skip(
            "flags of a file with a name outside",
            "chattr has no effect here",
        );
    }
    run_tool(
        std::process::Command::new("chattr")
            .arg("-d")
            .arg(project.join("c")),
    );
    let id = sandbox.launch(&project, "chattr +d c");
    there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
    assert_eq!(inode(&project.join("c")), inode(&outside));
}
