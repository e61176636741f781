//! Directories, swapped types, pipes, sockets and devices (scenarios 11, 12, 36).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::machine::{is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

#[test]
fn s11_empty_directories_come_back_with_their_modes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("empty");
    let build = Build::at(&project);
    for (path, mode) in [
        ("plain", 0o755),
        ("private", 0o700),
        ("shared", 0o2775),
        ("sticky", 0o1777),
        ("a/b/c/d", 0o711),
        ("kept", 0o750),
    ] {
        build.dir(path).mode(path, mode);
    }
    build.mode("a/b", 0o750).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "rmdir plain private shared sticky; rm -r a");
    sandbox.diff(&id, &[]).are(&[
        ("deleted", "plain"),
        ("deleted", "private"),
        ("deleted", "shared"),
        ("deleted", "sticky"),
        ("deleted", "a"),
        ("deleted", "a/b"),
        ("deleted", "a/b/c"),
        ("deleted", "a/b/c/d"),
    ]);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &["plain", "private", "shared", "sticky", "a"]);
}

#[test]
fn s12_file_and_directory_that_swapped_places_both_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("swapped");
    Build::at(&project)
        .file("was-file", "a file\n")
        .file("was-dir/one", "1\n")
        .file("was-dir/sub/two", "2\n")
        .dir("was-dir/empty")
        .mode("was-dir", 0o750)
        .dir("was-empty-dir")
        .file("nested/deep/file", "deep\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "rm was-file; mkdir -p was-file/new/sub; echo x > was-file/new/sub/x; \
         rm -r was-dir; echo flat > was-dir; rmdir was-empty-dir; echo flat > was-empty-dir; \
         rm -r nested; echo n > nested",
    );
    let changes = sandbox.diff(&id, &["--no-renames"]);
    for path in ["was-file", "was-dir", "was-empty-dir", "nested"] {
        assert_eq!(changes.at(path).what, "type", "{path}\n{}", changes.shown);
    }
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn s12_whole_directory_moved_away_and_a_file_in_its_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("away");
    Build::at(&project)
        .file("src/a", "a\n")
        .file("src/b/c", "c\n")
        .file("docs", "d\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "mv src old; mv docs src; mv old docs");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s36_pipes_and_sockets_neither_hang_nor_go() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("special");
    Build::at(&project)
        .fifo("pipe")
        .socket("socket")
        .fifo("sub/pipe")
        .file("edited", "e\n")
        .file("sub/plain", "p\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "echo x > edited; rm sub/plain");
    sandbox
        .diff(&id, &[])
        .are(&[("modified", "edited"), ("deleted", "sub/plain")]);
    sandbox.jackin(["diff", &id, "--patch"]).ok();
    sandbox.restore(&id, &[]).touched(&["edited", "sub/plain"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &["edited", "sub/plain"]);
}

/// A copy has no sockets either, and says so.
#[test]
fn s36_sockets_that_are_not_copied_are_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("kinds");
    Build::at(&project).file("f", "f\n").socket("run/agent.sock");
    let id = sandbox.launch(&project, "true");
    let place = |name: &str| sandbox.scratch(name).to_str().unwrap().to_owned();
    let line = "1 socket is not written: run/agent.sock";
    let to = ["restore", &id, "--to", &place("all"), "--yes"];
    sandbox.jackin(to).ok().shows(line);
    sandbox.jackin(["fork", &id, &place("fork")]).ok().shows(line);
    let told = sandbox.jackin(["fork", &id, "--json"]).ok().json();
    assert_eq!(told["left_out"][0]["path"], "run/agent.sock", "{told}");
    // One that is asked for is missing.
    let named = project.join("run/agent.sock");
    let to = ["restore", &id, named.to_str().unwrap(), "--to", &place("one")];
    sandbox.jackin(to.iter().chain(&["--yes"])).code(6).shows(line);
    let told = sandbox
        .jackin(to.iter().chain(&["--yes", "--json"]))
        .code(6)
        .json();
    assert_eq!(told["outcome"], "partial", "{told}");
}

#[test]
fn s36_deleted_pipe_comes_back_and_a_planted_one_does_not_hang() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("pipes");
    Build::at(&project)
        .fifo("pipe")
        .mode("pipe", 0o600)
        .file("file", "f\n")
        .dir("d")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "rm pipe; rm file; mkfifo file; mkfifo d/planted");
    sandbox.diff(&id, &["--no-renames"]).are(&[
        ("deleted", "pipe"),
        ("type", "file"),
        ("added", "d/planted"),
    ]);
    sandbox.jackin(["diff", &id, "--patch"]).ok();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s36_device_nodes_are_recorded_and_never_deleted() {
    if !is_root() {
        skip("s36 devices", "only root makes device nodes");
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("devices");
    // /dev/zero by its numbers: a reader that opens it never comes to an end.
    Build::at(&project)
        .device("zero", 1, 5)
        .file("edited", "e\n")
        .aged();
    let before = Tree::read(&project);
    assert!(matches!(before.at("zero").kind, Kind::Character(_)));

    let id = sandbox.launch(&project, "echo x > edited");
    assert_eq!(sandbox.diff(&id, &[]).all.len(), 1);
    sandbox.restore(&id, &[]).touched(&["edited"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &["edited"]);
    assert_eq!(fs::symlink_metadata(project.join("zero")).unwrap().nlink(), 1);
}

#[test]
fn root_directory_keeps_its_inode_and_gets_its_mode_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("root");
    Build::at(&project).file("a", "a\n").mode("", 0o750).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "chmod 777 .; rm a; echo b > b");
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    // A running container would keep the old directory: only children are moved.
    assert_eq!(before.at("").times.inode, after.at("").times.inode);
}

/// A session that takes the mount's root away. Whether the closing snapshot then counts as taken is not said by the
/// contract; that `end` says something is.
#[track_caller]
fn session_without_a_root(sandbox: &Sandbox, project: &Path, damage: impl FnOnce(&Path)) -> String {
    let id = sandbox.begin(project);
    damage(project);
    let ended = sandbox.jackin(["end", &id]).code_in(&[0, 1, 6]);
    assert!(!ended.text().trim().is_empty(), "{ended}");
    id
}

#[test]
fn root_directory_that_is_gone_is_made_again() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("gone");
    Build::at(&project).file("a/b", "b\n").mode("", 0o750).aged();
    let before = Tree::read(&project);

    let id = session_without_a_root(&sandbox, &project, |project| fs::remove_dir_all(project).unwrap());
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn root_directory_whose_parent_is_gone_too_leads_to_the_parent() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("it's/gone");
    Build::at(&project).file("a/b", "b\n").aged();
    let before = Tree::read(&project);
    let parent = project.parent().unwrap();

    let id = session_without_a_root(&sandbox, &project, |_| fs::remove_dir_all(parent).unwrap());
    let command = format!(
        "mkdir -p '{}'",
        parent.display().to_string().replace('\'', "'\\''")
    );
    for how in ["--yes", "--dry-run"] {
        let refused = sandbox.jackin(["restore", &id, how]).code(1);
        refused.shows(&command).hides("to create").hides("staging");
    }
    assert!(!parent.exists());
    let made = std::process::Command::new("sh").args(["-c", &command]).status();
    assert!(made.unwrap().success());
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    // As after each restore of a missing root, the undo leaves the root itself.
    sandbox.jackin(["undo", &id, "--yes"]).code(6);
    assert_eq!(fs::read_dir(&project).unwrap().count(), 0);
}

#[test]
fn root_directory_that_was_recreated_is_accepted_and_named() {
    const NOTE: &str = "Note: this directory was deleted and recreated after the snapshot";
    let sandbox = Sandbox::new();
    let (project, other) = (sandbox.project("again"), sandbox.project("same"));
    for project in [&project, &other] {
        Build::at(project).file("a/b", "b\n").mode("", 0o750).aged();
    }
    let before = Tree::read(&project);

    let id = session_without_a_root(&sandbox, &project, |project| {
        fs::remove_dir_all(project).unwrap();
        Build::at(project).file("new", "n\n");
    });
    sandbox.jackin(["restore", &id, "--dry-run"]).ok().shows(NOTE);
    sandbox.jackin(["restore", &id, "--yes", "-q"]).ok().shows(NOTE);
    assert_same_tree(&before, &Tree::read(&project));

    let id = sandbox.launch(&other, "rm -r a; chmod 777 .; touch new; mv new newer");
    sandbox.jackin(["restore", &id, "--yes"]).ok().hides(NOTE);
    assert_same_tree(&before, &Tree::read(&other));
}

#[test]
fn root_directory_that_became_a_link_is_refused() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("linked");
    let elsewhere = sandbox.project("elsewhere");
    Build::at(&project).file("a", "a\n").aged();
    Build::at(&elsewhere).file("a", "other\n").file("b", "b\n").aged();
    let there = Tree::read(&elsewhere);

    let id = session_without_a_root(&sandbox, &project, |project| {
        fs::remove_dir_all(project).unwrap();
        std::os::unix::fs::symlink("elsewhere", project).unwrap();
    });
    sandbox
        .jackin(["restore", &id, "--yes"])
        .refused()
        .shows(project.to_str().unwrap());
    assert_untouched(&there, &Tree::read(&elsewhere));
    assert!(fs::symlink_metadata(&project).unwrap().is_symlink());
}
