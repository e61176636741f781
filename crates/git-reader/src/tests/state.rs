//! Work in progress, stashes, other work trees, what is missing on purpose, unknown formats.

use super::scratch::{Scratch, clear, rel, text};
use crate::{GitDir, Operation, Repository};

/// Returns a repository with two branches that both changed the file.
fn torn() -> Scratch {
    let scratch = Scratch::new();
    scratch.git(&["switch", "-qc", "side"]);
    scratch.write("file", "theirs\n");
    scratch.commit("theirs");
    scratch.git(&["switch", "-q", "main"]);
    scratch.write("file", "ours\n");
    scratch.commit("ours");
    scratch
}

#[test]
fn what_was_begun_is_seen() {
    let cases: [(&[&str], Operation); 6] = [
        (&["merge", "side"], Operation::Merge),
        (&["rebase", "side"], Operation::Rebase),
        (&["rebase", "--apply", "side"], Operation::Rebase),
        (&["cherry-pick", "side"], Operation::CherryPick),
        (&["revert", "--no-edit", "side"], Operation::Revert),
        (&["bisect", "start"], Operation::Bisect),
    ];
    for (arguments, operation) in cases {
        let scratch = torn();
        assert_eq!(scratch.read("", |repository| repository.operations()), []);
        scratch.try_git(arguments);
        let found = scratch.read("", |repository| {
            clear(repository);
            repository.operations()
        });
        assert_eq!(found, [operation], "{arguments:?}");
    }
    let scratch = torn();
    scratch.write("patch", scratch.git(&["format-patch", "--stdout", "-1", "side"]));
    scratch.try_git(&["am", "patch"]);
    assert_eq!(
        scratch.read("", |repository| repository.operations()),
        [Operation::Am]
    );
}

#[test]
fn stashes_reflogs_and_locks_are_found() {
    let scratch = Scratch::new();
    assert_eq!(scratch.read("", |repository| repository.stashes()), 0);
    for content in ["a", "b"] {
        scratch.write("file", content);
        scratch.git(&["stash", "-q"]);
    }
    scratch.write(".git/index.lock", "");
    scratch.write(".git/refs/heads/main.lock", "");
    scratch.read("", |repository| {
        assert_eq!(repository.stashes(), 2);
        let logs: Vec<_> = repository.reflog_names().iter().map(|name| text(name)).collect();
        assert_eq!(logs, ["HEAD", "refs/heads/main", "refs/stash"]);
        assert_eq!(
            repository.locks(),
            [rel(".git/index.lock"), rel(".git/refs/heads/main.lock")]
        );
        assert_eq!(repository.refs().unwrap().len(), 2);
        clear(repository);
    });
    std::fs::remove_file(scratch.dir.join(".git/logs/refs/stash")).unwrap();
    assert_eq!(scratch.read("", |repository| repository.stashes()), 1);
}

#[test]
fn other_work_trees_share_what_they_share() {
    let scratch = Scratch::new();
    scratch.git(&["worktree", "add", "-q", "tree", "-b", "there"]);
    scratch.read("", |repository| {
        assert_eq!(repository.worktrees(), [b"tree".to_vec()]);
    });
    scratch.read("tree", |repository| {
        assert_eq!(repository.shape(), &GitDir::Inside(rel(".git/worktrees/tree")));
        assert_eq!(repository.shared_git_dir(), Some(&rel(".git")));
        assert_eq!(repository.head().unwrap().reference.unwrap(), b"refs/heads/there");
        assert_eq!(repository.refs().unwrap().len(), 2);
        assert!(repository.index().unwrap().is_some());
        clear(repository);
    });
    let outside = Scratch::empty();
    let place = outside.dir.join("tree");
    scratch.git(&["worktree", "add", "-q", "-b", "far", place.to_str().unwrap()]);
    outside.read("tree", |repository| {
        assert!(matches!(repository.shape(), GitDir::Elsewhere(_)));
        assert!(repository.head().is_err() && repository.refs().is_err() && repository.index().is_err());
        assert_eq!(repository.doubts().len(), 1);
    });
}

#[test]
fn bare_and_damaged_repositories_are_repositories() {
    let scratch = Scratch::new();
    scratch.git(&["clone", "-q", "--bare", ".", "bare"]);
    scratch.read("bare", |repository| {
        assert_eq!(repository.shape(), &GitDir::Bare);
        assert!(repository.head().unwrap().commit.is_some());
        clear(repository);
    });
    std::fs::create_dir_all(scratch.dir.join("none/.git")).unwrap();
    scratch.try_read("none", |found| assert!(found.unwrap().is_none()));
    std::fs::remove_file(scratch.dir.join(".git/HEAD")).unwrap();
    scratch.read("", |repository| {
        assert!(repository.doubts()[0].contains("git does not take this for a repository"));
        assert!(repository.head().is_err());
    });
}

#[test]
fn what_is_missing_on_purpose_is_told() {
    let scratch = Scratch::new();
    scratch.commit("second");
    scratch.commit("third");
    scratch.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", scratch.dir.to_str().unwrap());
    scratch.git(&["clone", "-q", "--depth", "2", &from, "shallow"]);
    scratch.git(&[
        "clone",
        "-q",
        "--filter=blob:none",
        "--no-checkout",
        &from,
        "partial",
    ]);
    let flags = |repository: &Repository| {
        clear(repository);
        (repository.is_shallow(), repository.is_partial())
    };
    assert_eq!(scratch.read("", flags), (false, false));
    assert_eq!(scratch.read("shallow", flags), (true, false));
    assert_eq!(scratch.read("partial", flags), (false, true));
    std::fs::remove_dir_all(scratch.dir.join("shallow/.git/refs/remotes")).unwrap();
    std::fs::remove_file(scratch.dir.join("shallow/.git/packed-refs")).unwrap_or_default();
    scratch.read("shallow", |repository| {
        let found = crate::unpushed(repository).unwrap();
        assert!(found[0].commits == 2 && !found[0].more);
        clear(repository);
    });
}

#[test]
fn unknown_formats_are_doubts() {
    let scratch = Scratch::empty();
    for (argument, what) in [
        ("--ref-format=reftable", "refstorage"),
        ("--object-format=sha256", "objectformat"),
    ] {
        let output = scratch.try_git(&["init", "-q", argument, what]);
        if !output.status.success() {
            continue;
        }
        scratch.read(what, |repository| {
            assert!(repository.doubts().join("").contains(what));
            assert!(repository.head().is_err() && repository.refs().is_err());
        });
    }
    scratch.git(&["init", "-q", "new"]);
    scratch.git(&["-C", "new", "config", "core.repositoryFormatVersion", "2"]);
    scratch.read("new", |repository| assert!(repository.head().is_err()));
}
