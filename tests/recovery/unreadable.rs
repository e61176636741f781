//! What cannot be read is named, and never deleted (scenario 35).

use std::path::PathBuf;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::machine::{is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A sandbox whose user may not read everything in the project; `None`, and said so, when there is no such user.
fn with_gaps() -> Option<(Sandbox, PathBuf)> {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35", "commands cannot run as another user here");
        return None;
    };
    let project = sandbox.project("gaps");
    let build = Build::at(&project);
    build
        .file("readable", "r\n")
        .file("sub/edited", "before\n")
        .file("closed-file", "nobody reads this\n")
        .file("closed-dir/inside", "hidden\n")
        .file("closed-dir/deep/er", "hidden too\n")
        .aged();
    sandbox.give(&project);
    build.mode("closed-file", 0o000).mode("closed-dir", 0o000);
    if is_root() {
        build.file("roots", "owned by root\n").mode("roots", 0o600);
    }
    Some((sandbox, project))
}

#[test]
fn s35_gaps_are_named_and_the_rest_is_captured() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "rm readable; echo agent > sub/edited; echo new > sub/new",
    );
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(
        !instances(&run)[0].snapshot("baseline").complete,
        "a snapshot with gaps says so\n{run}"
    );
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("closed-file")
        .shows("closed-dir");

    let changes = sandbox.diff(&id, &[]);
    changes.are(&[
        ("deleted", "readable"),
        ("modified", "sub/edited"),
        ("added", "sub/new"),
    ]);
    for gap in ["closed-file", "closed-dir"] {
        assert!(
            changes.not_covered.contains(&gap.as_bytes().to_vec()),
            "{gap}\n{}",
            changes.shown
        );
    }
    let restored = sandbox.restore(&id, &[]);
    restored.touched(&["readable", "sub/edited", "sub/new"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for gap in ["closed-file", "closed-dir"] {
        assert_untouched(&before.only(gap), &after.only(gap));
    }
}

#[test]
fn s35_what_was_unreadable_is_not_deleted_when_it_can_be_read_later() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    // The session opens what was closed; nobody knows what was in there before, so all of it stays.
    let id = sandbox.launch(
        &project,
        "chmod 700 closed-dir; chmod 600 closed-file; echo planted > closed-dir/planted; rm readable",
    );
    let damaged = Tree::read(&project);
    let run = sandbox
        .jackin(["restore", &id, "--yes", "--json", "--delete-later-files"])
        .code_in(&[0, 6]);
    let after = Tree::read(&project);
    for path in [
        "closed-dir/inside",
        "closed-dir/deep/er",
        "closed-dir/planted",
        "closed-file",
    ] {
        assert_eq!(damaged.at(path).kind, after.at(path).kind, "{path}\n{run}");
    }
    assert!(after.has("readable"), "{run}");
}

#[test]
fn a_directory_that_the_session_closed_is_opened_and_the_next_command_is_said() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > sub/edited; chmod 000 sub; rm readable");
    let opened = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    opened.shows(&format!(
        "to restore what can be read now: jackin recovery restore {id}\n"
    ));
    // What the closing snapshot could not see may be the operator's.
    let kept = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    kept.shows("sub/edited: not in the closing snapshot; this may be a later edit");
    sandbox.restore(&id, &["--overwrite-later-edits"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn what_cannot_be_examined_is_named_whatever_else_is_excluded() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let id = sandbox.launch(&project, "rm readable; echo agent > sub/edited");
    Build::at(&project).mode("sub", 0o000);
    for more in [&[][..], &["--exclude", "other"], &["*b*"]] {
        let words = ["restore", id.as_str(), "--dry-run", "--json"];
        let words = words.iter().chain(more);
        let run = sandbox.jackin(words).code(6);
        assert!(run.text().contains("sub"), "{more:?}\n{run}");
    }
    let run = sandbox.jackin(["restore", &id, "--dry-run", "--exclude", "sub"]);
    run.ok();
}

#[test]
fn s35_require_complete_refuses_an_incomplete_snapshot() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let id = sandbox.launch(&project, "rm readable");
    let damaged = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes", "--require-complete"])
        .refused();
    assert_untouched(&damaged, &Tree::read(&project));
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]);
    let said = plan.said();
    assert!(
        said.contains(&*project.to_string_lossy()) && said.contains("`show`"),
        "{plan}"
    );
}

#[test]
fn s35_complete_snapshot_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("whole");
    crate::support::nasty::tree(&project);
    sandbox.launch(&project, "true");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert!(
        is_root() && all[0].snapshots.iter().all(|snapshot| snapshot.complete) || !is_root(),
        "{run}"
    );
    assert!(all[0].snapshot("baseline").entries > 80, "{run}");
}

#[test]
fn s35_directory_that_cannot_be_written_is_named_and_the_rest_is_restored() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "s35 read-only directory",
            "commands cannot run as another user here",
        );
        return;
    };
    let project = sandbox.project("read-only");
    Build::at(&project)
        .file("fixed/a", "before\n")
        .file("free", "before\n")
        .aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "rm fixed/a; echo agent > free");
    if !is_root() {
        return;
    }
    // Taken over by another user after the session.
    std::os::unix::fs::chown(project.join("fixed"), Some(0), Some(0)).unwrap();
    let run = sandbox.jackin(["restore", &id, "--yes", "--json"]);
    assert!(matches!(run.exit(), Some(1 | 6)), "{run}");
    assert!(run.text().contains("fixed"), "{run}");
    if run.exit() == Some(6) {
        assert_eq!(std::fs::read_to_string(project.join("free")).unwrap(), "before\n");
    }
}
