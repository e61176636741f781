//! An index that git only refreshed is no later edit; one that stages something else is.

use std::fs;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::machine::{run_tool, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Runs git as a user does: `status` may rewrite the index.
fn git(repository: &Repository, args: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(&repository.path).args(args);
    let global = [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")];
    run_tool(git.envs(global));
}

/// Runs git so that it finds the stat data of each file outdated and rewrites the index.
fn refresh(repository: &Repository, args: &[&str]) {
    let index = repository.path.join(".git/index");
    let before = fs::read(&index).unwrap();
    let file = fs::File::options()
        .write(true)
        .open(repository.path.join("README"))
        .unwrap();
    let now = std::time::SystemTime::now();
    file.set_modified(now - std::time::Duration::from_secs(5000 + before.len() as u64))
        .unwrap();
    git(repository, args);
    assert!(
        before != fs::read(&index).unwrap(),
        "git {args:?} rewrote no index"
    );
}

#[test]
fn a_refreshed_index_is_no_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("refreshed");
    let repository = Repository::with_history(&project, 3);
    Build::at(&project).file("mine", "before\n").aged();
    for (setting, by) in [
        (["core.untrackedCache", "false"], &["status"][..]),
        (["core.untrackedCache", "true"], &["status"]),
        (["index.version", "4"], &["diff"]),
    ] {
        repository.git(&["config", setting[0], setting[1]]);
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "echo agent > mine; git add mine; git commit -qm agent");
        refresh(&repository, by);
        let diff = sandbox.jackin(["diff", &id, "--all"]).ok();
        diff.shows(".git/index").hides(".git/index  edited since");
        let damaged = Tree::read(&project);
        let plan = sandbox.plan(&id, &[]);
        plan.conflicted::<&str>(&[]);
        sandbox.restore(&id, &[]);
        assert_same_tree(&before.without("README"), &Tree::read(&project).without("README"));
        // The same before an undo.
        refresh(&repository, by);
        sandbox.undo(&id);
        assert_same_tree(&damaged, &Tree::read(&project));
        sandbox.restore(&id, &[]);
    }
}

#[test]
fn a_refreshed_split_index_is_no_later_edit() {
    // Before the session the index is split, or the refresh splits it.
    for splits_before in [true, false] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("split");
        let repository = Repository::with_history(&project, 3);
        git(&repository, &["config", "splitIndex.maxPercentChange", "100"]);
        if splits_before {
            git(&repository, &["update-index", "--split-index"]);
        }
        Build::at(&project).aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "echo agent > history.txt; git add history.txt");
        let by = match splits_before {
            true => &["status"][..],
            false => &["-c", "core.splitIndex=true", "status"],
        };
        refresh(&repository, by);
        let damaged = Tree::read(&project);
        sandbox.plan(&id, &[]).conflicted::<&str>(&[]);
        sandbox.restore(&id, &[]);
        assert_same_tree(&before.without("README"), &Tree::read(&project).without("README"));
        // The same before an undo.
        if splits_before {
            refresh(&repository, by);
        }
        sandbox.undo(&id);
        assert_same_tree(&damaged, &Tree::read(&project));
        repository.git(&["status"]);
    }
}

#[test]
fn a_split_index_that_stages_more_or_cannot_be_read_is_a_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("split");
    let repository = Repository::with_history(&project, 3);
    git(&repository, &["config", "splitIndex.maxPercentChange", "100"]);
    git(&repository, &["update-index", "--split-index"]);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "echo agent > history.txt; git add history.txt");
    let index = fs::read(project.join(".git/index")).unwrap();
    git(&repository, &["rm", "-q", "--cached", "src/main.c"]);
    let plan = sandbox.plan(&id, &[]);
    assert!(plan.conflicts.contains(&b".git/index".to_vec()), "{plan:?}");
    fs::write(project.join(".git/index"), index).unwrap();
    refresh(&repository, &["status"]);
    sandbox.plan(&id, &[]).conflicted::<&str>(&[]);
    for entry in fs::read_dir(project.join(".git")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_str().unwrap().contains("sharedindex") {
            fs::write(path, "DIRC").unwrap();
        }
    }
    let plan = sandbox.plan(&id, &[]);
    assert!(plan.conflicts.contains(&b".git/index".to_vec()), "{plan:?}");
}

#[test]
fn an_index_that_stages_more_is_a_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("staged");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).file("mine", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > mine; git add mine");
    Build::at(&project).file("operator", "staged\n");
    git(&repository, &["add", "operator"]);
    let plan = sandbox.plan(&id, &[]);
    assert!(plan.conflicts.contains(&b".git/index".to_vec()), "{plan:?}");
    // Cut off, it is no index, so nothing is known of it.
    fs::write(project.join(".git/index"), "DIRC").unwrap();
    let plan = sandbox.plan(&id, &[]);
    assert!(plan.conflicts.contains(&b".git/index".to_vec()), "{plan:?}");
}

#[test]
fn a_restored_index_hides_no_change_of_the_second_in_which_it_was_written() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("racy");
    let repository = Repository::with_history(&project, 1);
    Build::at(&project).file("other", "before\n");
    // Of the same length, in the same second as far as possible: git sees by the time of the index that it has to look.
    fs::write(project.join("file"), "aaaa").unwrap();
    repository.git(&["add", "file"]);
    repository.git(&["commit", "-qm", "file"]);
    fs::write(project.join("file"), "AAAA").unwrap();
    let status = || {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(&project)
            .args(["--no-optional-locks", "status", "--porcelain", "file"]);
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    assert_eq!(status(), " M file\n");
    let id = sandbox.launch(&project, "git add other file; echo after > other");
    sandbox.restore(&id, &[]);
    assert_eq!(status(), " M file\n");
}

#[test]
fn a_refreshed_index_of_a_repository_with_sha256_is_no_later_edit() {
    for is_split in [false, true] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("sha256");
        let path = project.clone();
        let repository = Repository { path };
        if !repository.try_git(&["init", "-q", "-b", "main", "--object-format=sha256", "."]) {
            skip("--object-format=sha256", "this git cannot make one");
            return;
        }
        Build::at(&project)
            .file("README", "read me\n")
            .file("mine", "before\n");
        git(&repository, &["config", "user.name", "me"]);
        git(&repository, &["config", "user.email", "me@x"]);
        repository.commit("first");
        git(&repository, &["worktree", "add", "-q", "linked"]);
        git(&repository, &["config", "splitIndex.maxPercentChange", "100"]);
        if is_split {
            git(&repository, &["update-index", "--split-index"]);
        }
        Build::at(&project).aged();
        let before = Tree::read(&project);
        let stages = "echo agent > mine; git add mine";
        let id = sandbox.launch(&project, &format!("{stages}; cd linked; {stages}"));
        let linked = |args: &[&str]| {
            fs::write(project.join("linked/README"), "read me\n").unwrap();
            git(&repository, &[&["-C", "linked"], args].concat());
        };
        refresh(&repository, &["status"]);
        linked(&["status"]);
        let damaged = Tree::read(&project);
        sandbox.plan(&id, &[]).conflicted::<&str>(&[]);
        sandbox.restore(&id, &[]);
        let without = |tree: &Tree| tree.without("README").without("linked/README");
        assert_same_tree(&without(&before), &without(&Tree::read(&project)));
        // The same before an undo.
        refresh(&repository, &["status"]);
        linked(&["status"]);
        sandbox.undo(&id);
        assert_same_tree(&without(&damaged), &without(&Tree::read(&project)));
        git(&repository, &["add", "README"]);
        Build::at(&project).file("mine", "of the operator\n");
        git(&repository, &["add", "mine"]);
        let plan = sandbox.plan(&id, &[]);
        assert!(plan.conflicts.contains(&b".git/index".to_vec()), "{plan:?}");
    }
}
