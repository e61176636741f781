//! Files that the session moved from a path that stays are not removed: they would be in neither place.

use std::fs;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Old paths, and where the content of each is after a restore.
type Moved = &'static [(&'static str, &'static str)];

/// Acts of the session and of its operator afterwards, with the moves.
const CASES: &[(&str, &str, Moved)] = &[
    ("mv a new", "echo mine > a", &[("a", "new")]),
    ("mv a new; echo new > a", "rm a", &[("a", "new")]),
    (
        "mv a new; echo more >> new; mkdir s; mv new s/a",
        "echo mine > a",
        &[],
    ),
    (
        "mv a t; mv other a; mv t other",
        "echo mine >> a",
        &[("a", "other")],
    ),
    (
        "mv a t; mv b a; mv c b; mv t c",
        "echo mine >> a",
        &[("a", "c"), ("c", "b")],
    ),
    ("mv a b", "echo mine > a; echo x > x", &[]),
    ("mv a other", "echo mine > a", &[]),
    ("mv d z", "echo mine > d", &[("d/f", "z/f"), ("d/in/g", "z/in/g")]),
    ("mv d z", "mkdir d; echo mine > d/f", &[("d/f", "z/f")]),
    (
        "mv d z; mkdir d; echo junk > d/junk",
        "rm -r d",
        &[("d/f", "z/f"), ("d/in/g", "z/in/g")],
    ),
    ("mv d/f z; rm -r d", "echo mine > d", &[("d/f", "z")]),
    ("mv d/f z; rm -r d; echo x > d", "rm d", &[("d/f", "z")]),
    (
        "mv d z; ln -s z d",
        "rm d",
        &[("d/f", "z/f"), ("d/in/g", "z/in/g")],
    ),
];

#[test]
fn what_the_session_moved_from_a_path_that_stays_is_not_removed() {
    // An undo brings back the same states as other objects.
    for ((session, later, moved), undone) in CASES.iter().flat_map(|case| [(case, false), (case, true)]) {
        let sandbox = Sandbox::new();
        let project = sandbox.project("moved");
        Build::at(&project)
            .file("a", "precious a\n")
            .file("b", "precious b\n")
            .file("c", "precious c\n")
            .file("other", "another\n")
            .file("d/f", "precious f\n")
            .file("d/in/g", "precious g\n")
            .aged();
        let before = Tree::read(&project);
        let contents: Vec<(&str, Vec<u8>)> = moved
            .iter()
            .map(|(old, new)| (*new, fs::read(project.join(old)).unwrap()))
            .collect();
        let id = sandbox.launch(&project, session);
        if undone {
            sandbox.restore(&id, &[]);
            sandbox.undo(&id);
        }
        run_tool(Command::new("sh").args(["-ec", later]).current_dir(&project));
        let damaged = Tree::read(&project);
        let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
        for (new, content) in contents {
            let found = fs::read(project.join(new)).ok();
            assert_eq!(found, Some(content), "{session} | {later}: {new}\n{restored}");
        }
        if let Some((old, _)) = moved.first() {
            assert!(
                restored
                    .text()
                    .contains(&format!("has what was at {old}, which is not restored")),
                "{session} | {later}\n{restored}"
            );
        }
        // Nothing may have been left to do.
        if !restored.text().contains("Nothing to do") {
            sandbox.undo(&id);
        }
        assert_same_tree(&damaged, &Tree::read(&project));
        sandbox
            .jackin([
                "restore",
                &id,
                "--yes",
                "--overwrite-later-edits",
                "--delete-later-files",
            ])
            .ok();
        assert_same_tree(&before, &Tree::read(&project));
    }
}

#[test]
fn what_only_looks_like_a_move_is_removed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("alike");
    Build::at(&project).file("a", "{}\n").file("b", "b\n").aged();
    let listener = std::os::unix::net::UnixListener::bind(project.join("socket")).unwrap();
    let id = sandbox.launch(
        &project,
        "rm a; mkdir made; echo {} > made/new; mv socket elsewhere; mv b over",
    );
    // The old name of `b` is free for the restore, and another file has that of `a`.
    run_tool(
        Command::new("sh")
            .args(["-ec", "echo mine > a"])
            .current_dir(&project),
    );
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    assert!(!restored.text().contains("has what was at"), "{restored}");
    assert!(!project.join("made").exists() && !project.join("elsewhere").exists());
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "b\n");
    drop(listener);
}
