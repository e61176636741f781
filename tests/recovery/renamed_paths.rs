//! A path on either side of a rename means both sides: to delete the new name alone would lose the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A project, what it was, and a session that did `script` in it.
fn session(script: &str) -> (Sandbox, PathBuf, Tree, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("renamed");
    Build::at(&project)
        .file("old.txt", "some lines\n")
        .file("taken.txt", "of another file\n")
        .file("empty", "")
        .symlink("link", "old.txt")
        .file("other", "other\n")
        .file("dir/file", "in a directory\n")
        .file("dir/deep/file", "deeper\n")
        .file("dir/blank", "")
        .dir("dir/void")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, script);
    (sandbox, project, before, id)
}

/// Insists that each of `asked` alone brings the whole tree back, and that the plan says so.
#[track_caller]
fn each_means_all(script: &str, asked: &[&str]) {
    for path in asked {
        let (sandbox, project, before, id) = session(script);
        let damaged = Tree::read(&project);
        // An undo brings back the same states as other objects.
        for _ in 0..2 {
            sandbox.restore(&id, &[path]);
            assert_same_tree(&before, &Tree::read(&project));
            sandbox.undo(&id);
            assert_same_tree(&damaged, &Tree::read(&project));
        }
    }
}

#[test]
fn either_name_of_a_renamed_file_means_both() {
    each_means_all("mv old.txt new.txt", &["old.txt", "new.txt"]);
    each_means_all("mv old.txt dir/new.txt", &["old.txt", "dir/new.txt"]);
    // A directory that the session made belongs to neither name.
    each_means_all("mkdir sub; mv old.txt sub/new.txt", &["sub"]);
}

#[test]
fn a_renamed_file_that_was_changed_otherwise_as_well_is_still_one_pair() {
    each_means_all("mv old.txt new.txt; chmod 600 new.txt", &["old.txt", "new.txt"]);
}

#[test]
fn a_rename_over_another_file_means_both() {
    each_means_all("mv old.txt taken.txt", &["old.txt", "taken.txt"]);
    each_means_all(
        "mv old.txt t; mv taken.txt old.txt; mv t taken.txt",
        &["old.txt", "taken.txt"],
    );
}

#[test]
fn a_part_of_a_git_directory_that_moved_means_all_of_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("moved-repository");
    Build::at(&project).file("repo/f", "one\n");
    let git = "git -c user.name=a -c user.email=a@example.com -C repo";
    let sh = |script: &str| {
        run_tool(Command::new("sh").args(["-ec", script]).current_dir(&project));
    };
    sh(&format!(
        "{git} init -q -b main; {git} add -A; {git} commit -qm one"
    ));
    let id = sandbox.launch(&project, "mv repo d1");
    let works = |place: &str| sh(&format!("git -C {place} log --oneline && git -C {place} fsck"));
    for path in [
        "repo/.git/HEAD",
        "repo/.git/refs",
        "d1/.git/refs/heads/main",
        "d1/.git/config",
        "d1/.git/objects",
    ] {
        sandbox.restore(&id, &[path]);
        works("repo");
        assert!(!project.join("d1/.git").exists(), "{path}");
        sandbox.undo(&id);
        works("d1");
        assert!(!project.join("repo").exists(), "{path}");
    }
}

/// A file that moved from one git directory into another takes none of the other files along.
#[test]
fn a_file_that_moved_between_two_git_directories_means_itself() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("two-repositories");
    let [_, two] = ["one", "two"].map(|name| {
        let repository = Repository::with_history(&project.join(name), 1);
        let hooks = repository.path.join(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        fs::write(
            hooks.join("pre-push"),
            format!("#!/bin/sh\n# {name}, and long enough to be recognized\n"),
        )
        .unwrap();
        repository
    });
    let script = "mv one/.git/hooks/pre-push two/.git/hooks/pre-push; cd two; echo more >> agent; git add agent; \
                  git -c user.name=a -c user.email=a@example.com commit -qm agent";
    let id = sandbox.launch(&project, script);
    let head = two.git(&["rev-parse", "HEAD"]);
    let done = sandbox.restore(&id, &["one"]);
    assert!(project.join("one/.git/hooks/pre-push").exists());
    assert_eq!(two.git(&["rev-parse", "HEAD"]), head, "{:?}", done.applied);
    assert_eq!(two.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_chain_of_renames_means_all_of_it() {
    each_means_all(
        "mv taken.txt third; mv old.txt taken.txt",
        &["old.txt", "taken.txt", "third"],
    );
}

#[test]
fn what_is_no_full_file_is_paired_as_well() {
    each_means_all("mv empty void", &["empty", "void"]);
    each_means_all("mv link chain", &["link", "chain"]);
    each_means_all("mv dir/void gone", &["dir/void", "gone"]);
}

#[test]
fn either_name_of_a_renamed_directory_means_both() {
    each_means_all("mv dir moved", &["dir", "moved"]);
    each_means_all("mkdir in; mv dir in/to", &["in"]);
}

#[test]
fn a_path_in_a_renamed_directory_means_that_path_on_both_sides() {
    let paths = ["moved/deep/file", "dir/deep/file", "moved/deep", "dir/deep"];
    for (path, undone) in paths.iter().flat_map(|path| [(path, false), (path, true)]) {
        let (sandbox, project, before, id) = session("mv dir moved");
        if undone {
            sandbox.restore(&id, &[]);
            sandbox.undo(&id);
        }
        sandbox.restore(&id, &[path]);
        assert!(project.join("dir/deep/file").exists(), "{path}");
        assert!(!project.join("moved/deep/file").exists(), "{path}");
        assert!(
            project.join("moved/file").exists() && !project.join("dir/file").exists(),
            "{path}"
        );
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&project));
    }
    // Nothing says that these belong together but the directory they lie in.
    for path in ["moved/blank", "dir/blank", "moved/void", "dir/void"] {
        let (sandbox, project, _, id) = session("mv dir moved; echo more >> moved/blank");
        sandbox.restore(&id, &[path]);
        let name = Path::new(path).file_name().unwrap();
        assert!(project.join("dir").join(name).exists(), "{path}");
        assert!(!project.join("moved").join(name).exists(), "{path}");
    }
}

#[test]
fn diff_shows_the_pair_and_recommends_what_restores_it() {
    for path in ["old.txt", "new.txt"] {
        let (sandbox, project, before, id) = session("mv old.txt new.txt; echo more >> other");
        let shown = sandbox.diff(&id, &[path]);
        shown.are(&[("renamed", "new.txt")]);
        let split = sandbox.diff(&id, &["--no-renames", path]);
        split.are(&[("deleted", "old.txt"), ("added", "new.txt")]);
        let said = sandbox.jackin(["diff", &id, "--name-status", path]).ok();
        said.has("R old.txt -> new.txt");
        let plan = sandbox.jackin(["restore", &id, "--dry-run", path]).ok();
        plan.has("move back")
            .has("Also included, as they belong to what was asked for:");
        let plan = sandbox.plan(&id, &[path]);
        let other = if path == "old.txt" { "new.txt" } else { "old.txt" };
        assert_eq!(plan.document["also"][0]["path"], other);
        sandbox.restore(&id, &[path]);
        assert!(project.join("old.txt").exists() && !project.join("new.txt").exists());
        assert_ne!(fs::read_to_string(project.join("other")).unwrap(), "other\n");
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&project));
    }
}

#[test]
fn one_step_alone_means_both_sides_too() {
    for path in ["old.txt", "new.txt"] {
        let (sandbox, project, before, _) = session("true");
        let id = sandbox.session(&project, |project| {
            fs::rename(project.join("old.txt"), project.join("new.txt")).unwrap();
            let id = sandbox.newest();
            sandbox.jackin(["checkpoint", &id, "--name", "moved"]).ok();
        });
        let plan = sandbox.plan(&id, &["--only-changes-of", "moved", path]);
        let other = if path == "old.txt" { "new.txt" } else { "old.txt" };
        assert_eq!(plan.document["also"][0]["path"], other);
        sandbox.restore(&id, &["--only-changes-of", "moved", path]);
        assert_same_tree(&before, &Tree::read(&project));
    }
}

#[test]
fn files_that_only_look_alike_are_no_pair() {
    let (sandbox, project, _, id) =
        session("rm dir/void -r; mkdir fresh; touch fresh/made; rm empty; touch blank");
    sandbox.restore(&id, &["fresh"]);
    assert!(!project.join("fresh").exists() && !project.join("dir/void").exists());
    sandbox.restore(&id, &["blank"]);
    assert!(!project.join("blank").exists() && !project.join("empty").exists());
}

#[test]
fn a_new_name_that_was_edited_later_stays() {
    let (sandbox, project, _, id) = session("mv old.txt new.txt");
    fs::write(project.join("new.txt"), "edited\n").unwrap();
    sandbox.restore_in_part(&id, &["new.txt"]);
    assert_eq!(fs::read_to_string(project.join("new.txt")).unwrap(), "edited\n");
}
