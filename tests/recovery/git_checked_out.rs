//! A branch that is checked out stays, whatever a restore does with the others.

use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const AGENT: &str = "git -c user.name=a -c user.email=a@x";

fn started() -> (Sandbox, Repository) {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    Build::at(&repository.path).aged();
    (sandbox, repository)
}

/// HEAD names a commit, and git takes the repository for whole.
fn is_born(repository: &Repository, branch: &str) {
    assert_eq!(
        repository.git(&["symbolic-ref", "--short", "HEAD"]).trim(),
        branch
    );
    repository.git(&["rev-parse", "--verify", "HEAD"]);
    let fsck = repository.tried(&["fsck", "--full", "--strict", "--no-dangling"]);
    assert!(fsck.0 && !fsck.1.contains("unborn"), "{}", fsck.1);
}

#[test]
fn a_branch_of_the_session_that_is_checked_out_later_stays() {
    let script = format!(
        "git checkout -q -b feature; echo a > new; git add new; {AGENT} commit -qm work; git checkout -q main"
    );
    for packs in [false, true] {
        let (sandbox, repository) = started();
        let pack = if packs { "; git pack-refs --all" } else { "" };
        let id = sandbox.launch(&repository.path, &format!("{script}{pack}"));
        repository.git(&["checkout", "-q", "feature"]);
        let work = repository.git(&["rev-parse", "feature"]);
        let before = Tree::read(&repository.path);
        sandbox.restore_in_part(&id, &[]);
        is_born(&repository, "feature");
        assert_eq!(repository.git(&["rev-parse", "HEAD"]), work);
        assert_eq!(
            repository
                .git(&["log", "-g", "-1", "--format=%gs", "feature"])
                .trim(),
            "commit: work"
        );
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&before, &Tree::read(&repository.path));
    }
}

#[test]
fn a_branch_that_a_later_work_tree_is_on_stays() {
    let (sandbox, repository) = started();
    let id = sandbox.launch(&repository.path, "git branch new");
    repository.git(&["worktree", "add", "-q", "wt", "new"]);
    sandbox.restore_in_part(&id, &[]);
    let path = repository.path.join("wt");
    is_born(&Repository { path }, "new");
}

#[test]
fn an_undo_keeps_a_branch_that_was_checked_out_after_the_restore() {
    let (sandbox, repository) = started();
    repository.git(&["branch", "topic", "HEAD~1"]);
    let id = sandbox.launch(&repository.path, "git branch -q -D topic");
    sandbox.restore(&id, &[]);
    repository.git(&["checkout", "-q", "topic"]);
    sandbox.jackin(["undo", &id, "--yes"]).code(6).hides("HEAD moves");
    is_born(&repository, "topic");
}

/// Two refs on one commit have one content. That is no rename.
#[test]
fn a_deleted_branch_comes_back_beside_the_one_that_is_checked_out() {
    let (sandbox, repository) = started();
    repository.git(&["checkout", "-q", "-b", "topic"]);
    let id = sandbox.launch(
        &repository.path,
        "git checkout -q -b new; git branch -q -D topic; git update-ref ORIG_HEAD HEAD",
    );
    let topic = repository.path.join(".git/refs/heads/topic");
    let words = ["restore", &id, "--yes", topic.to_str().unwrap()];
    let run = sandbox.jackin(words).code_in(&[0, 6]);
    run.hides("move back").hides("HEAD moves");
    is_born(&repository, "new");
    assert_eq!(
        repository.git(&["rev-parse", "topic"]),
        repository.git(&["rev-parse", "new"])
    );
    assert!(Path::new(&repository.path).join(".git/ORIG_HEAD").exists());
}

/// Its own first commit made the branch. HEAD named it before, and names it again without a commit.
#[test]
fn a_repository_without_a_commit_is_one_again() {
    let sandbox = Sandbox::new();
    let repository = Repository::init(&sandbox.project("project"));
    Build::at(&repository.path).file("a", "a\n").aged();
    let before = Tree::read(&repository.path);
    let id = sandbox.launch(&repository.path, &format!("git add a; {AGENT} commit -qm first"));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path));
}
