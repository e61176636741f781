//! HEAD, branches, tags.

use super::scratch::{Scratch, clear, text};
use crate::Repository;

fn all(repository: &Repository) -> Vec<String> {
    let refs = repository.readable_refs().unwrap();
    let lines = refs.iter().map(|(name, oid)| format!("{oid} {}", text(name)));
    lines.collect()
}

#[test]
fn refs_are_those_of_git() {
    let scratch = Scratch::new();
    scratch.git(&["tag", "-a", "-m", "tag", "v1"]);
    scratch.git(&["branch", "a/b"]);
    scratch.git(&["pack-refs", "--all"]);
    scratch.commit("second");
    scratch.git(&["branch", "z"]);
    scratch.git(&["update-ref", "refs/remotes/origin/main", "HEAD~1"]);
    scratch.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    let theirs = scratch.lines(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    assert_eq!(theirs.len(), 6);
    scratch.read("", |repository| {
        assert_eq!(all(repository), theirs);
        assert_eq!(repository.refs().unwrap().len(), theirs.len());
        clear(repository);
    });
}

#[test]
fn a_part_of_a_name_may_end_with_a_dot() {
    let scratch = Scratch::new();
    for name in ["v1./x", "v2./x"] {
        scratch.git(&["branch", name]);
    }
    scratch.git(&["pack-refs", "--all"]);
    scratch.git(&["branch", "v3./x"]);
    assert!(!scratch.try_git(&["branch", "v4."]).status.success());
    let theirs = scratch.lines(&["for-each-ref", "--format=%(objectname) %(refname)"]);
    assert_eq!(theirs.len(), 4);
    scratch.read("", |repository| {
        assert_eq!(all(repository), theirs);
        clear(repository);
    });
    let path = scratch.dir.join(".git/packed-refs");
    let head = scratch.text(&["rev-parse", "HEAD"]);
    let whole = std::fs::read_to_string(&path).unwrap();
    for line in [format!("{head} refs/heads/v4."), "nonsense".to_owned()] {
        std::fs::write(&path, format!("{whole}{line}\n")).unwrap();
        scratch.read("", |repository| {
            assert_eq!(all(repository), theirs);
            let error = repository.refs().unwrap_err().to_string();
            assert!(error.contains("not a ref") && error.contains(&line), "{error}");
        });
    }
}

#[test]
fn head_is_a_branch_a_commit_or_unborn() {
    let scratch = Scratch::empty();
    scratch.git(&["init", "-q", "-b", "main"]);
    scratch.read("", |repository| {
        let head = repository.head().unwrap();
        assert_eq!(head.reference.as_deref(), Some(&b"refs/heads/main"[..]));
        assert_eq!(head.commit, None);
        assert_eq!(repository.index().unwrap(), None);
        clear(repository);
    });
    scratch.commit("first");
    let first = scratch.text(&["rev-parse", "HEAD"]);
    for arguments in [vec!["status"], vec!["checkout", "-q", "--detach"]] {
        scratch.git(&arguments);
        let head = scratch.read("", |repository| repository.head().unwrap());
        assert_eq!(head.reference.is_some(), arguments.len() == 1);
        assert_eq!(head.commit.unwrap().to_string(), first);
    }
}

#[test]
fn broken_refs_are_doubts() {
    let scratch = Scratch::new();
    scratch.write(".git/refs/heads/one", "ref: refs/heads/two\n");
    scratch.write(".git/refs/heads/two", "ref: refs/heads/one\n");
    scratch.write(".git/refs/heads/up", "ref: ../../config\n");
    scratch.write(".git/refs/heads/empty", "");
    scratch.write(".git/refs/heads/gone", "ref: refs/heads/nothing\n");
    scratch.write(".git/refs/heads/some..dots", "");
    scratch.write(".git/packed-refs", "# pack-refs with: peeled\nnonsense\n");
    scratch.read("", |repository| {
        assert_eq!(all(repository).len(), 1);
        let doubts = repository.doubts().join("\n");
        for name in [
            "more than 5 deep",
            "heads/up",
            "empty",
            "gone",
            "some..dots",
            "nonsense",
        ] {
            assert!(doubts.contains(name), "{name}: {doubts}");
        }
    });
}

#[test]
fn an_old_head_is_a_link() {
    let scratch = Scratch::new();
    std::fs::remove_file(scratch.dir.join(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", scratch.dir.join(".git/HEAD")).unwrap();
    let head = scratch.read("", |repository| repository.head().unwrap());
    assert!(head.commit.is_some());
    assert_eq!(head.reference.unwrap(), b"refs/heads/main");
}
