//! Repositories that a session gave another format: with later edits they keep it, as git would not find the refs that stay.

use std::fs;
use std::path::Path;

use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::machine::skip;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const SHA256: &str = "--object-format=sha256";
const REFTABLE: &str = "--ref-format=reftable";
const MIGRATES: &str = "rm -rf .git/logs; git refs migrate --ref-format=reftable";

/// Initializes a repository again and commits everything.
fn again(format: &str) -> String {
    format!(
        "rm -rf .git; git init -q -b main {format}; git add -A; \
         git -c user.name=a -c user.email=a@x commit -qm agent"
    )
}

/// A repository of this format with one commit and two branches; `None` if this git cannot make one.
fn repository(project: &Path, format: &str) -> Option<Repository> {
    fs::create_dir_all(project).unwrap();
    let path = project.to_path_buf();
    let repository = Repository { path };
    if !repository.try_git(&["init", "-q", "-b", "main", format, "."]) {
        skip(format, "this git cannot make one");
        return None;
    }
    fs::write(project.join("a"), "a\n").unwrap();
    repository.git(&["add", "-A"]);
    commit(&repository, "first");
    repository.git(&["branch", "old"]);
    Some(repository)
}

fn commit(repository: &Repository, message: &str) {
    let me = ["-c", "user.name=me", "-c", "user.email=me@x"];
    repository.git(&[&me[..], &["commit", "-q", "--allow-empty", "-m", message]].concat());
}

/// State of the repository by git's own account.
fn state(repository: &Repository) -> String {
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    let log = repository.git(&["log", "--all", "--format=%H %D %s"]);
    format!("{log}{}", repository.git(&["ls-files", "-s"]))
}

#[test]
fn a_repository_of_another_format_keeps_it_with_a_later_commit() {
    for (before, script) in [
        ("--ref-format=files", MIGRATES.to_owned()),
        ("--ref-format=files", again(REFTABLE)),
        (REFTABLE, again("--ref-format=files")),
        (SHA256, again("--object-format=sha1")),
        ("--object-format=sha1", again(SHA256)),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let Some(repository) = repository(&project, before) else {
            continue;
        };
        let original = Tree::read(&project);
        let id = sandbox.launch(&project, &format!("echo agent > new; {script}"));
        let by_agent = Tree::read(&project);
        // Without later edits the format comes back with everything, and an undo brings the other one.
        sandbox.restore(&id, &[]);
        assert_same_tree(&original, &Tree::read(&project));
        sandbox.undo(&id);
        assert_same_tree(&by_agent, &Tree::read(&project));
        commit(&repository, "mine");
        let later = state(&repository);
        let all = Tree::read(&project);
        let run = sandbox.jackin(["restore", &id, "--yes", "--all"]).code(6);
        run.shows(".git/config: the repository has another format now, and .git/");
        assert_eq!(state(&repository), later, "{before} {script}");
        assert!(!project.join("new").exists());
        sandbox.undo(&id);
        assert_same_tree(&all, &Tree::read(&project));
        sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
        assert_same_tree(&original, &Tree::read(&project));
    }
}

#[test]
fn a_part_of_a_repository_of_another_format_is_not_restored_alone() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let Some(repository) = repository(&project, "--ref-format=files") else {
        return;
    };
    let id = sandbox.launch(&project, &again(REFTABLE));
    let before = state(&repository);
    for words in [
        &[".git/config"][..],
        &[".git/refs", ".git/HEAD", ".git/index"],
        &["--exclude", "/.git/config"],
    ] {
        let words = [&["restore", &id], words, &["--yes"]].concat();
        let run = sandbox.command(words).inside(&project).run().code(6);
        run.shows("the repository has another format now");
        assert_eq!(state(&repository), before);
    }
    // A configuration of the operator's keeps the format as well.
    repository.git(&["config", "user.name", "me"]);
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(state(&repository), before);
}

#[test]
fn a_configuration_of_the_same_format_comes_back_beside_a_later_commit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 1);
    let config = fs::read(project.join(".git/config")).unwrap();
    let sets = "git config extensions.worktreeConfig true; git config core.repositoryformatversion 1; git config x.y z";
    let id = sandbox.launch(&project, sets);
    commit(&repository, "mine");
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(fs::read(project.join(".git/config")).unwrap(), config);
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]), "mine\n");
}
