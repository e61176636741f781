//! Needs of the files of a repository: no ref, index or operation is left without its objects, and no work tree without its repository.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

const AGENT: &str = "git -c user.name=a -c user.email=a@x";

fn at(path: &Path) -> Repository {
    Repository {
        path: path.to_path_buf(),
    }
}

/// A command of the operator's, in words.
fn run(repository: &Repository, words: &str) -> String {
    repository.git(&words.split_whitespace().collect::<Vec<_>>())
}

fn commit_mine(repository: &Repository) {
    fs::write(repository.path.join("mine"), "mine\n").unwrap();
    repository.git(&["add", "mine"]);
    run(repository, "-c user.name=me -c user.email=me@x commit -q -m mine");
}

fn is_whole(repository: &Repository) {
    run(repository, "fsck --full --strict --no-dangling");
    run(repository, "status");
}

#[test]
fn objects_stay_that_a_later_commit_borrows_through_a_link() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Repository::with_history(&project.join("A"), 2);
    std::os::unix::fs::symlink("A", project.join("link")).unwrap();
    run(&at(&project), "clone -q --shared link B");
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        &format!("cd A; {AGENT} commit -q --allow-empty -m agent"),
    );
    let borrower = at(&project.join("B"));
    run(&borrower, "pull -q");
    commit_mine(&borrower);
    sandbox.restore_in_part(&id, &[]);
    is_whole(&borrower);
    let log = run(&borrower, "log --format=%s");
    assert!(log.starts_with("mine\nagent\n"), "{log}");
}

#[test]
fn no_list_brings_back_a_branch_beside_which_a_later_one_cannot_be() {
    for (was, later) in [("topic", "topic/x"), ("topic/x", "topic")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 2);
        run(&repository, &format!("branch {was}"));
        run(&repository, "pack-refs --all");
        Build::at(&project).aged();
        let id = sandbox.launch(&project, &format!("git branch -qD {was}"));
        run(&repository, &format!("branch {later}"));
        let refs = run(&repository, "for-each-ref");
        sandbox.restore_in_part(&id, &[]);
        assert_eq!(run(&repository, "for-each-ref"), refs, "{was}, {later}");
        run(&repository, "pack-refs --all");
        run(&repository, "gc -q");
        is_whole(&repository);
    }
}

/// The restore gave the branch a file of its own, beside the list in which it was.
#[test]
fn an_undo_moves_a_branch_that_was_packed_before_the_restore_and_after_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    run(&repository, "config gc.reflogExpire never");
    run(&repository, "config gc.reflogExpireUnreachable never");
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        &format!("echo a > a; git add a; {AGENT} commit -qm agent"),
    );
    let made = run(&repository, "rev-parse main");
    run(&repository, "pack-refs --all");
    sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert_ne!(run(&repository, "rev-parse main"), made);
    run(&repository, "pack-refs --all");
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_eq!(run(&repository, "rev-parse main"), made);
    is_whole(&repository);
}
