//! Restoring twice is restoring once, and an undo is exact (scenario 27).

use std::os::unix::fs::PermissionsExt as _;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Some of every kind of damage; see `prepare` for what it is done to.
const DAMAGE: &str = "echo agent > edited; rm deleted; mkdir -p new/sub; echo n > new/sub/file; mv moved elsewhere; \
    chmod 600 mode; ln -sfn elsewhere link; rm -r dir; echo flat > dir; rm swap; mkdir swap; echo s > swap/s; \
    rmdir empty; ln edited linked; : > emptied";

fn prepare(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let project = sandbox.project(name);
    Build::at(&project)
        .file("edited", "before\n")
        .file("deleted", "deleted\n")
        .file("moved", "moved, and long enough to be known again\n".repeat(9))
        .file("mode", "mode\n")
        .file("emptied", "not empty\n")
        .symlink("link", "edited")
        .file("dir/a", "a\n")
        .file("dir/sub/b", "b\n")
        .file("swap", "a file\n")
        .dir("empty")
        .file("kept/one", "1\n")
        .file("kept/two", "2\n")
        .aged();
    project
}

#[test]
fn s27_second_restore_has_nothing_to_do() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "again");
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, DAMAGE);
    sandbox.restore(&id, &[]);
    let restored = Tree::read(&project);
    assert_same_tree(&before, &restored);
    assert_kept(
        &before,
        &restored,
        &[
            "edited", "deleted", "moved", "mode", "link", "dir", "swap", "empty", "emptied",
        ],
    );
    sandbox.restore(&id, &[]).nothing();
    sandbox.diff(&id, &["--to", "now"]).are::<&str>(&[]);
    assert_untouched(&restored, &Tree::read(&project));
}

#[test]
fn s27_undo_is_exactly_the_state_before_and_rolls_forward_again() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "undone");
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, DAMAGE);
    let damaged = Tree::read(&project);

    let restored = sandbox.restore(&id, &[]);
    let undone = sandbox.undo(&id);
    assert_eq!(
        undone.applied, restored.applied,
        "an undo touches what the restore touched"
    );
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s27_undo_of_a_part_touches_only_that_part() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "part");
    let id = sandbox.launch(&project, DAMAGE);
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &["dir"]);
    // Work that comes between is not the undo's business.
    Build::at(&project).file("between", "the operator's\n");
    sandbox.undo(&id);
    let after = Tree::read(&project);
    assert!(after.has("between"));
    assert_same_tree(&damaged, &after.without("between"));
}

#[test]
fn s27_undo_keeps_what_was_edited_since_the_restore() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "since");
    let id = sandbox.launch(&project, DAMAGE);
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    Build::at(&project).file("edited", "by the operator, after the restore\n");
    let operator = Tree::read(&project);

    let run = sandbox.jackin(["undo", &id, "--yes", "--json"]).code(6);
    let undone = crate::support::documents::Restored::of(&run);
    assert!(undone.conflicts.contains(&b"edited".to_vec()), "{run}");
    let after = Tree::read(&project);
    assert_eq!(after.at("edited").kind, operator.at("edited").kind);
    assert!(!after.has("deleted") && after.has("elsewhere"));
    assert_eq!(after.at("mode").mode, damaged.at("mode").mode);
}

#[test]
fn s27_undo_without_a_restore_has_nothing_to_go_back_to() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "never");
    let id = sandbox.launch(&project, DAMAGE);
    let damaged = Tree::read(&project);
    sandbox.jackin(["undo", &id, "--yes"]).code(5);
    assert_untouched(&damaged, &Tree::read(&project));
}

#[test]
fn restore_into_another_directory_leaves_the_project_alone() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("to");
    crate::support::nasty::tree(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm -f plain twin-a; rm -rf deep");
    let damaged = Tree::read(&project);
    let to = sandbox.scratch("restored");
    sandbox
        .jackin(["restore", &id, "--to", to.to_str().unwrap(), "--yes"])
        .ok();
    assert_untouched(&damaged, &Tree::read(&project));
    let copy = Tree::read(&to);
    // With one mount the directory is the tree, or it holds one directory for each mount.
    let copy = if copy.has("empty") {
        copy
    } else {
        Tree::read(&only_child(&to))
    };
    // The directory itself is made for its owner only, whatever the project's root was.
    let mode = std::fs::metadata(&to).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
    for top in before
        .paths()
        .filter(|path| !path.contains(&b'/') && *path != b"socket")
    {
        assert_same_tree(&before.only(top), &copy.only(top));
    }
    let times = |tree: &Tree| tree.at("twin-a").times.modified;
    assert_eq!(times(&before), times(&copy), "the recorded times are kept there");
}

fn only_child(directory: &std::path::Path) -> std::path::PathBuf {
    let mut all = std::fs::read_dir(directory).unwrap().flatten();
    let only = all.next().expect("it is not empty").path();
    assert!(all.next().is_none(), "one mount, one directory");
    only
}

#[test]
fn restore_from_a_named_kind_of_snapshot() {
    let sandbox = Sandbox::new();
    let project = prepare(&sandbox, "from");
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, DAMAGE);
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &["--from", "baseline"]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.restore(&id, &["--from", "closing"]);
    assert_same_tree(&damaged, &Tree::read(&project));
    let run = sandbox.jackin(["list", "--json"]).ok();
    let baseline = crate::support::documents::instances(&run)[0]
        .snapshot("baseline")
        .id
        .clone();
    sandbox.restore(&id, &["--from", &baseline]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox
        .jackin(["restore", &id, "--from", "sn-000000000000", "--yes"])
        .refused();
    sandbox
        .diff(&id, &["--from", "baseline", "--to", "closing"])
        .at("edited");
}
