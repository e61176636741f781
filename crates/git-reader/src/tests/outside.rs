//! Places outside of a tree that git in it works on: named if git would use them, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::scratch::{Scratch, rel};
use crate::{Live, places_outside};
use handle_fs::Root;
use handle_fs::remote::Transports;

/// Places that git works on in `work` of the directory `top`, both below the scratch directory.
#[track_caller]
fn outside(scratch: &Scratch, top: &str, work: &str) -> Vec<PathBuf> {
    let root = Root::open(&Transports::default(), &scratch.dir.join(top)).unwrap();
    let (found, unread) = places_outside(&Live::new(&root), &rel(work));
    assert!(unread.is_none(), "{unread:?}");
    found
}

fn init(scratch: &Scratch, at: &str) {
    scratch.git(&["init", "-q", "-b", "main", at]);
    scratch.git(&["-C", at, "commit", "-q", "--allow-empty", "-m", "first"]);
}

#[test]
fn a_linked_work_tree_works_on_the_repository_that_it_belongs_to() {
    let scratch = Scratch::empty();
    init(&scratch, "main");
    scratch.git(&["-C", "main", "worktree", "add", "-q", "../wt"]);
    let own = scratch.dir.join("main/.git/worktrees/wt");
    assert_eq!(outside(&scratch, "wt", ""), std::slice::from_ref(&own));
    // Where both are in one tree, and the path leads there, nothing is outside.
    assert!(outside(&scratch, "", "wt").is_empty());
    assert!(outside(&scratch, "main", "").is_empty());
    // A relative path leads out of the tree, too.
    fs::write(scratch.dir.join("wt/.git"), "gitdir: ../main/.git/worktrees/wt\n").unwrap();
    assert_eq!(outside(&scratch, "wt", ""), [own]);
    assert!(outside(&scratch, "", "wt").is_empty());
}

#[test]
fn a_work_tree_that_the_configuration_names_counts_where_git_reads_it() {
    let scratch = Scratch::empty();
    init(&scratch, "repo");
    // Git may refuse to run in it.
    let configure = |words: &[&str]| scratch.git(&[&["config", "-f", "repo/.git/config"], words].concat());
    for (named, expected) in [("/elsewhere", "/elsewhere"), ("../../beside", "beside")] {
        configure(&["core.worktree", named]);
        assert_eq!(outside(&scratch, "repo", ""), [scratch.dir.join(expected)]);
    }
    let top = scratch.dir.join("repo");
    for named in ["..", "../sub", top.to_str().unwrap(), ""] {
        configure(&["core.worktree", named]);
        assert!(outside(&scratch, "repo", "").is_empty(), "{named}");
    }
    configure(&["--unset", "core.worktree"]);
    // It does not count in a file that is not read.
    scratch.write("repo/.git/config.worktree", "[core]\nworktree = /elsewhere\n");
    assert!(outside(&scratch, "repo", "").is_empty());
    configure(&["extensions.worktreeConfig", "true"]);
    assert_eq!(outside(&scratch, "repo", ""), [PathBuf::from("/elsewhere")]);
}

#[test]
fn a_common_directory_and_links_lead_outside() {
    let scratch = Scratch::empty();
    init(&scratch, "repo");
    let elsewhere = |top: &str| outside(&scratch, top, "");
    scratch.write("repo/.git/commondir", "/elsewhere/.git\n");
    assert_eq!(elsewhere("repo"), [PathBuf::from("/elsewhere/.git")]);
    scratch.write("repo/.git/commondir", ".\n");
    assert!(elsewhere("repo").is_empty());
    fs::remove_file(scratch.dir.join("repo/.git/commondir")).unwrap();
    // Links to parts of another repository, as `git-new-workdir` makes them. Hooks are only read.
    fs::create_dir_all(scratch.dir.join("linked/.git")).unwrap();
    for part in ["objects", "refs", "config"] {
        let from = scratch.dir.join("repo/.git").join(part);
        symlink(from, scratch.dir.join("linked/.git").join(part)).unwrap();
    }
    symlink("/usr/share/hooks", scratch.dir.join("linked/.git/hooks")).unwrap();
    fs::copy(
        scratch.dir.join("repo/.git/HEAD"),
        scratch.dir.join("linked/.git/HEAD"),
    )
    .unwrap();
    let parts = ["config", "objects", "refs"].map(|part| scratch.dir.join("repo/.git").join(part));
    assert_eq!(elsewhere("linked"), parts);
    // The whole directory is a link, in the tree or out of it, also by way of another one.
    fs::create_dir(scratch.dir.join("whole")).unwrap();
    symlink("../repo/.git", scratch.dir.join("whole/.git")).unwrap();
    assert_eq!(elsewhere("whole"), [scratch.dir.join("repo/.git")]);
    assert!(outside(&scratch, "", "whole").is_empty());
    fs::rename(scratch.dir.join("repo/.git"), scratch.dir.join("repo/store")).unwrap();
    symlink("way/store", scratch.dir.join("repo/.git")).unwrap();
    symlink(".", scratch.dir.join("repo/way")).unwrap();
    assert!(elsewhere("repo").is_empty());
    fs::remove_file(scratch.dir.join("repo/way")).unwrap();
    symlink("/elsewhere", scratch.dir.join("repo/way")).unwrap();
    assert_eq!(elsewhere("repo"), [PathBuf::from("/elsewhere/store")]);
    fs::remove_file(scratch.dir.join("repo/way")).unwrap();
    symlink("way", scratch.dir.join("repo/way")).unwrap();
    assert!(elsewhere("repo").is_empty(), "git finds nothing there either");
}

#[test]
fn a_large_configuration_hides_no_other_place() {
    let scratch = Scratch::empty();
    init(&scratch, "repo");
    fs::remove_dir_all(scratch.dir.join("repo/.git/refs/heads")).unwrap();
    symlink("/elsewhere/heads", scratch.dir.join("repo/.git/refs/heads")).unwrap();
    scratch.write("repo/.git/config", "# a comment\n".repeat(1 << 19));
    let root = Root::open(&Transports::default(), &scratch.dir.join("repo")).unwrap();
    let (found, unread) = places_outside(&Live::new(&root), &rel(""));
    assert_eq!(found, [PathBuf::from("/elsewhere/heads")]);
    assert!(unread.is_some());
}

#[test]
fn a_path_that_is_too_long_leads_nowhere() {
    let scratch = Scratch::empty();
    init(&scratch, "repo");
    let long = "a/../".repeat(200_000);
    scratch.write("repo/.git/config", format!("[core]\nworktree = {long}..\n"));
    assert!(outside(&scratch, "repo", "").is_empty());
}

#[test]
fn ordinary_repositories_and_submodules_lie_inside() {
    let scratch = Scratch::empty();
    init(&scratch, "repo");
    init(&scratch, "other");
    scratch.git(&["clone", "-q", "--bare", "other", "repo/bare.git"]);
    scratch.git(&[
        "-C",
        "repo",
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../other",
        "sub",
    ]);
    scratch.write("repo/plain/.git/nothing", "");
    for work in ["", "sub", "bare.git", "plain", ".git/modules/sub"] {
        assert!(outside(&scratch, "repo", work).is_empty(), "{work}");
    }
    // An old git wrote whole paths.
    fs::write(
        scratch.dir.join("repo/sub/.git"),
        "gitdir: /old/.git/modules/sub\n",
    )
    .unwrap();
    assert_eq!(
        outside(&scratch, "repo", "sub"),
        [PathBuf::from("/old/.git/modules/sub")]
    );
}
