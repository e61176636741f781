//! Commands of git that wait in an editor and hold no lock: a restore does not change the repository under them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::git::Repository;
use crate::support::machine::{NO_HOLDERS, is_portable, write_script};
use crate::support::patience::await_that;
use crate::support::sandbox::Sandbox;

/// A git that waits in an editor, until it is dropped.
struct Waiting {
    git: Child,
    go: PathBuf,
}

impl Waiting {
    /// Starts `git ARGS` in `directory`, with an editor that waits.
    fn start(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Self {
        let (editor, at, go) = (
            sandbox.scratch("editor"),
            sandbox.scratch("at"),
            sandbox.scratch("go"),
        );
        for old in [&at, &go] {
            fs::remove_file(old).ok();
        }
        let (at_word, go_word) = (at.display(), go.display());
        let wait = format!(
            "#!/bin/sh\n: > '{at_word}'\nfor i in $(seq 1200); do [ -e '{go_word}' ] && exit 1; sleep 0.05; done\nexit 1\n"
        );
        write_script(&editor, &wait);
        let mut git = Command::new("git");
        git.args(args).current_dir(directory).env("GIT_EDITOR", &editor);
        git.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let waiting = Self {
            git: git.spawn().unwrap(),
            go,
        };
        await_that("the editor", || at.exists());
        waiting
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = fs::write(&self.go, "");
        let _ = self.git.wait();
    }
}

/// A repository in which a session committed and made a branch.
fn session(sandbox: &Sandbox) -> (Repository, String) {
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let inner = Repository::with_history(&repository.path.join("inner"), 1);
    drop(inner);
    let agent = "echo zz >> README; git -c user.name=a -c user.email=a@x commit -qam agent; git branch topic";
    let id = sandbox.launch(&repository.path, agent);
    fs::write(repository.path.join("later"), "of the operator\n").unwrap();
    repository.git(&["add", "later"]);
    (repository, id)
}

#[test]
fn a_git_that_waits_in_an_editor_is_refused_and_named() {
    if is_portable(NO_HOLDERS) {
        return;
    }
    for (args, command) in [
        (&["commit"][..], "commit"),
        (&["commit", "--amend"], "commit"),
        (&["tag", "-a", "v1"], "tag"),
        (&["notes", "add"], "notes"),
    ] {
        let sandbox = Sandbox::new();
        let (repository, id) = session(&sandbox);
        let waiting = Waiting::start(&sandbox, &repository.path, args);
        let head = repository.git(&["rev-parse", "HEAD"]);
        let run = sandbox.jackin(["restore", &id, "--yes"]).code(3);
        run.has(&format!("git {command} (process {})", waiting.git.id()))
            .has("--files-only");
        assert_eq!(repository.git(&["rev-parse", "HEAD"]), head);
        let shown = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
        shown.has("would be refused");
        sandbox
            .jackin(["restore", &id, "--files-only", "--yes"])
            .code_in(&[0, 6]);
        drop(waiting);
        sandbox.jackin(["restore", &id, "--yes"]);
        assert_eq!(repository.git(&["branch", "--list", "topic"]), "");
    }
}

#[test]
fn a_git_elsewhere_with_the_name_of_the_repository_counts() {
    if is_portable(NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, id) = session(&sandbox);
    let tree = sandbox.scratch("tree");
    repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let (work, outside) = (repository.path.display(), sandbox.scratch("outside"));
    fs::create_dir(&outside).unwrap();
    let named = format!("--git-dir={work}/.git");
    let work_tree = format!("--work-tree={work}");
    let path = repository.path.to_str().unwrap();
    for (directory, args) in [
        (&outside, vec!["-C", path, "commit"]),
        (&outside, vec![&named, &work_tree, "commit"]),
        (&outside, vec![&named, "tag", "-a", "v1"]),
        (&tree, vec!["commit", "--allow-empty"]),
        (&repository.path.join("src"), vec!["commit"]),
    ] {
        let waiting = Waiting::start(&sandbox, directory, &args);
        sandbox.jackin(["restore", &id, "--yes"]).code(3);
        drop(waiting);
    }
}

#[test]
fn a_git_that_reads_or_works_in_another_repository_refuses_nothing() {
    if is_portable(NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, id) = session(&sandbox);
    let mut reads = Command::new("git");
    reads.args(["cat-file", "--batch"]).current_dir(&repository.path);
    let mut reads = reads.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let inner = repository.path.join("inner");
    let waiting = Waiting::start(&sandbox, &inner, &["commit", "--allow-empty"]);
    let run = sandbox.jackin(["restore", &id, "--yes"]);
    drop(waiting);
    reads.kill().unwrap();
    reads.wait().unwrap();
    assert_ne!(run.exit(), Some(3), "{run}");
    assert_eq!(repository.git(&["branch", "--list", "topic"]), "");
}

/// Its git directory lies elsewhere, or is excluded, so that the snapshots do not show it.
#[test]
fn a_git_in_a_repository_that_the_snapshots_do_not_show_refuses_nothing() {
    if is_portable(NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let project = Repository::with_history(&sandbox.project("project"), 2);
    let other = Repository::with_history(&sandbox.scratch("other"), 1);
    let (tree, module) = (project.path.join("wt"), project.path.join("module"));
    other.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let apart = Repository::with_history(&module, 1);
    let git_dir = format!("--separate-git-dir={}", sandbox.scratch("apart").display());
    apart.git(&["init", "-q", &git_dir]);
    let nest = Repository::with_history(&project.path.join("nest"), 1).path;
    let agent = "git branch topic";
    for directory in [&tree, &module, &nest] {
        let id = sandbox.launch_with(&["--exclude", "nest"], &project.path, agent);
        let waiting = Waiting::start(&sandbox, directory, &["commit", "--allow-empty"]);
        let run = sandbox.jackin(["restore", &id, "--yes"]);
        drop(waiting);
        assert_ne!(run.exit(), Some(3), "{directory:?} {run}");
        assert_eq!(project.git(&["branch", "--list", "topic"]), "");
    }
}

/// Git changes to the work tree before it waits, and the name that it was given counts from where it started.
#[test]
fn a_git_directory_named_from_below_the_work_tree_counts() {
    if is_portable(NO_HOLDERS) {
        return;
    }
    let sandbox = Sandbox::new();
    let (repository, id) = session(&sandbox);
    let below = repository.path.join("src");
    fs::create_dir_all(&below).unwrap();
    let args = ["--git-dir=../.git", "--work-tree=..", "commit"];
    let waiting = Waiting::start(&sandbox, &below, &args);
    sandbox.jackin(["restore", &id, "--yes"]).code(3);
    drop(waiting);
}
