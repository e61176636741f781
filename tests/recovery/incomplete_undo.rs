//! An undo promises the state before the restore: if it cannot reach that, its exit code says so. A restore keeps what it cannot
//! remove by a rule that it states, and is done.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::sandbox::Sandbox;

/// Restores a directory that the session deleted, whose build output appears before the undo.
fn with_build_output(sandbox: &Sandbox, project: &Path) -> String {
    Build::at(project).file("d/source", "s\n").file("a", "a\n").aged();
    let id = sandbox.launch_with(&["--exclude", "out/"], project, "rm -r d; echo x > a");
    sandbox.restore(&id, &[]);
    Build::at(project).file("d/out/object", "o\n");
    id
}

#[test]
fn an_undo_that_leaves_a_directory_is_done_in_part() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("output");
    let id = with_build_output(&sandbox, &project);
    sandbox.jackin(["undo", &id, "--dry-run"]).code(6);
    let undone = sandbox.jackin(["undo", &id, "--yes", "--json"]).code(6).json();
    assert_eq!(undone["outcome"], "partial", "{undone}");
    assert_eq!(undone["kept"][0]["path"], "d", "{undone}");
    assert!(!project.join("d/source").exists());
    assert_eq!(fs::read_to_string(project.join("d/out/object")).unwrap(), "o\n");
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "x\n");
    // The same from the other side is a rule of restores.
    let id = sandbox.launch_with(
        &["--exclude", "out/"],
        &project,
        "mkdir -p new/out; touch new/file new/out/kept",
    );
    let restored = sandbox.restore(&id, &[]);
    assert_eq!(restored.kept, [b"new".to_vec()]);
    assert!(project.join("new/out/kept").exists());
}

#[test]
fn an_undo_that_leaves_the_root_is_done_in_part() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("rooted");
    Build::at(&project).file("d/f", "1\n").aged();
    let id = sandbox.launch(&project, "rm -rf ../rooted");
    assert!(!project.exists());
    sandbox.restore(&id, &[]).touched(&["", "d", "d/f"]);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).code(6);
    undone.shows("the protected directory itself is not removed");
    assert_eq!(fs::read_dir(&project).unwrap().count(), 0);
}

#[test]
fn an_undo_that_cannot_make_a_socket_is_done_in_part() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("socket");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.session(&project, |project| {
        Build::at(project).socket("socket").file("a", "b\n");
    });
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows("1 socket is removed; `undo` restores no sockets");
    let restored = sandbox.restore(&id, &[]);
    restored.touched(&["a", "socket"]);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).code(6);
    undone.shows("socket: sockets are not restored");
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "b\n");
    assert!(!project.join("socket").exists());
    // Nothing is left to do, and the goal is not reached.
    let receipt = restored.document["receipt"].to_string();
    let again = sandbox.jackin(["undo", &id, "--receipt", &receipt, "--dry-run"]);
    again.code(6).shows("socket");
}

/// A root that became something else, or is closed, is refused with what to do, and that works.
#[test]
fn a_root_that_cannot_be_entered_is_named_with_what_opens_the_way() {
    let sandbox = Sandbox::new();
    for (name, script) in [
        ("file", "rm -r ../file; echo x > ../file"),
        ("link", "rm -r ../link; ln -s / ../link"),
    ] {
        let project = sandbox.project(name);
        Build::at(&project).file("d/f", "1\n").aged();
        let id = sandbox.launch(&project, script);
        sandbox
            .jackin(["restore", &id, "--yes"])
            .code(1)
            .has("move what is there away");
        fs::rename(&project, project.with_extension("away")).unwrap();
        sandbox.restore(&id, &[]).touched(&["", "d", "d/f"]);
        assert_eq!(fs::read_to_string(project.join("d/f")).unwrap(), "1\n");
    }
}
