//! Work in a repository after a session: what it needs of git's own files stays, also where the session made them.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::git::Repository;
use crate::support::machine::skip;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const AGENT: &str = "git -c user.name=a -c user.email=a@x";

fn at(path: &Path) -> Repository {
    Repository {
        path: path.to_path_buf(),
    }
}

/// Commits a file of the operator's.
fn commit_mine(repository: &Repository) {
    fs::write(repository.path.join("mine"), "mine\n").unwrap();
    repository.git(&["add", "mine"]);
    let me = ["-c", "user.name=me", "-c", "user.email=me@x"];
    repository.git(&[&me[..], &["commit", "-q", "-m", "mine"]].concat());
}

/// Restores in part: the last commit is the operator's, git takes the repository for whole, and `undo` brings everything back.
fn keeps_mine(sandbox: &Sandbox, id: &str, project: &Path, repository: &Repository) {
    let before = Tree::read(project);
    sandbox.restore_in_part(id, &[]);
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    repository.git(&["status"]);
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "mine");
    assert_eq!(repository.git(&["show", "HEAD:mine"]), "mine\n");
    sandbox.jackin(["undo", id, "--yes"]).ok();
    crate::support::compare::assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn a_repository_that_the_session_made_stays_one_while_it_holds_a_later_commit() {
    for (made, place) in [
        ("git init -q -b main . && touch a && git add a", ""),
        ("git init -q -b main inner && touch inner/a", "inner"),
        (
            "git init -q -b main inner && cd inner && touch a && git add a && git pack-refs --all",
            "inner",
        ),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        Build::at(&project).file("old", "old\n").aged();
        let hook = "printf '#!/bin/sh\\n' > .git/hooks/post-merge && chmod +x .git/hooks/post-merge";
        let id = sandbox.launch(
            &project,
            &format!("{made} && cd {} && mkdir -p .git/hooks && {hook} && {AGENT} commit -q --allow-empty -m agent", project.join(place).display()),
        );
        let repository = at(&project.join(place));
        commit_mine(&repository);
        keeps_mine(&sandbox, &id, &project, &repository);
        sandbox.restore_in_part(&id, &[]);
        // No file of git needs a hook.
        assert!(!repository.path.join(".git/hooks/post-merge").exists());
        sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
        assert!(!repository.path.join(".git").exists());
    }
}

#[test]
fn a_repository_without_a_work_tree_stays_one_while_it_has_a_later_branch() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project.join("work"), 2);
    let id = sandbox.launch(&project, "git clone -q --bare work depot.git");
    commit_mine(&repository);
    repository.git(&["push", "-q", "../depot.git", "HEAD:refs/heads/mine"]);
    sandbox.restore_in_part(&id, &[]);
    let depot = at(&project.join("depot.git"));
    assert_eq!(depot.git(&["log", "-1", "--format=%s", "mine"]).trim(), "mine");
    depot.git(&["fsck", "--full", "--no-dangling"]);
}

#[test]
fn a_linked_work_tree_that_the_session_made_stays_one_while_it_holds_a_later_commit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git worktree add -q --detach tree; echo x > tree/x");
    let tree = at(&project.join("tree"));
    commit_mine(&tree);
    keeps_mine(&sandbox, &id, &project, &tree);
}

#[test]
fn a_later_commit_keeps_what_the_session_made_of_a_split_index() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        &format!("git config core.splitIndex true; git update-index --split-index; echo x >> README; {AGENT} commit -qam agent"),
    );
    commit_mine(&repository);
    keeps_mine(&sandbox, &id, &project, &repository);
}

#[test]
fn a_later_commit_keeps_what_the_session_made_of_a_reftable() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    fs::create_dir_all(&project).unwrap();
    let repository = at(&project);
    if !repository.try_git(&["init", "-q", "-b", "main", "--ref-format=reftable", "."]) {
        return skip("reftable", "this git cannot make one");
    }
    repository.git(&["config", "user.name", "me"]);
    repository.git(&["config", "user.email", "me@x"]);
    Build::at(&project).file("README", "text\n");
    repository.commit("first");
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        // So many that git writes all refs into one new table.
        &format!(
            "echo x >> README; {AGENT} commit -qam agent; \
             for i in $(seq 300); do echo create refs/heads/b$i HEAD; done | git update-ref --stdin"
        ),
    );
    commit_mine(&repository);
    keeps_mine(&sandbox, &id, &project, &repository);
}

#[test]
fn a_later_commit_keeps_the_ends_of_a_history_that_the_session_made_shallow() {
    let sandbox = Sandbox::new();
    let remote = Repository::with_history(&sandbox.project("remote"), 4);
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 1);
    Build::at(&project).aged();
    let url = format!("file://{}", remote.path.display());
    let id = sandbox.launch(
        &project,
        &format!("git fetch -q --depth 1 {url} main && git checkout -q -b theirs FETCH_HEAD"),
    );
    assert!(project.join(".git/shallow").exists());
    commit_mine(&repository);
    sandbox.restore_in_part(&id, &[]);
    repository.git(&["fsck", "--full", "--no-dangling"]);
    assert_eq!(
        repository.git(&["log", "-1", "--format=%s", "theirs"]).trim(),
        "mine"
    );
}

/// A command of the operator's on a repository that names itself by its arguments.
fn mine(repository: &Repository, words: &str) {
    repository.git(&words.split_whitespace().collect::<Vec<_>>());
}

/// A repository with two commits, a branch beside `main` and a tag.
fn with_topic(sandbox: &Sandbox) -> Repository {
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    mine(&repository, "branch topic");
    mine(&repository, "tag t1");
    repository
}

/// The value of each ref counts, whether it has a file of its own or is packed.
#[test]
fn a_ref_that_was_changed_later_stays_also_where_it_is_packed() {
    let agent = &format!("{AGENT} commit -q --allow-empty -m agent");
    let make = "-c user.name=me -c user.email=me@x commit -q --allow-empty -m mine";
    for (session, later, name) in [
        (
            format!("{agent}; git gc -q"),
            &[make, "gc -q"][..],
            "refs/heads/main",
        ),
        (
            "git branch -q -D topic".to_owned(),
            &[make, "branch topic", "pack-refs --all"],
            "refs/heads/topic",
        ),
        (
            "git pack-refs --all --prune".to_owned(),
            &[make, "tag -f t1", "pack-refs --all"],
            "refs/tags/t1",
        ),
        (
            "git pack-refs --all --prune".to_owned(),
            &["branch -D topic"],
            "refs/heads/topic",
        ),
    ] {
        let sandbox = Sandbox::new();
        let repository = with_topic(&sandbox);
        let project = repository.path.clone();
        Build::at(&project).aged();
        let id = sandbox.launch(&project, &session);
        for words in later {
            mine(&repository, words);
        }
        let value = || repository.tried(&["rev-parse", "--verify", "-q", name]);
        let (before, tree) = (value(), Tree::read(&project));
        let run = sandbox.restore_in_part(&id, &[]);
        assert_eq!(value(), before, "{session}: {run:?}");
        repository.git(&["fsck", "--full", "--no-dangling"]);
        if !run.applied.is_empty() {
            sandbox.jackin(["undo", &id, "--yes"]).ok();
        }
        crate::support::compare::assert_same_tree(&tree, &Tree::read(&project));
    }
}

/// Packing changes no ref, so it is no later edit.
#[test]
fn a_ref_that_was_only_packed_later_comes_back() {
    let sandbox = Sandbox::new();
    let repository = with_topic(&sandbox);
    let project = repository.path.clone();
    mine(&repository, "checkout -q -b feature/x");
    Build::at(&project).aged();
    let names = ["rev-parse", "topic", "main", "feature/x"];
    let was = repository.git(&names);
    let agent = format!("git branch -q -D topic; {AGENT} commit -q --allow-empty -m agent");
    let id = sandbox.launch(&project, &agent);
    mine(&repository, "pack-refs --all");
    sandbox.restore(&id, &[]);
    assert_eq!(repository.git(&names), was);
}

#[test]
fn head_stays_on_a_branch_that_was_changed_later() {
    for packs in [false, true] {
        head_stays(packs);
    }
}

fn head_stays(packs: bool) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let agent = format!("git checkout -q -b w; {AGENT} commit -q --allow-empty -m agent");
    let id = sandbox.launch(&project, &agent);
    commit_mine(&repository);
    if packs {
        mine(&repository, "pack-refs --all");
    }
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.shows("names .git/refs/heads/w, which stays")
        .hides("only in the emergency snapshot");
    assert_eq!(repository.git(&["branch", "--show-current"]).trim(), "w");
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "mine");
    sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
    assert_eq!(repository.git(&["branch", "--show-current"]).trim(), "main");
}

/// An undo touches only what the restore did, and the branch that you work on is not among that.
#[test]
fn an_undo_leaves_head_on_the_branch_of_a_later_commit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let agent = format!("git checkout -q -b w; {AGENT} commit -q --allow-empty -m agent");
    let id = sandbox.launch(&project, &agent);
    sandbox.restore(&id, &[]);
    commit_mine(&repository);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    undone.shows("names .git/refs/heads/main, which stays");
    assert_eq!(repository.git(&["branch", "--show-current"]).trim(), "main");
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "mine");
}

/// A clone that shares the objects of another repository in the same directory.
#[test]
fn objects_stay_that_a_later_commit_of_another_repository_borrows() {
    for shares in ["clone -q --shared A B", "clone -q --reference ../A A B"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        Repository::with_history(&project.join("A"), 2);
        let both = at(&project);
        mine(
            &both,
            &shares.replace("../A", project.join("A").to_str().unwrap()),
        );
        Build::at(&project).aged();
        let id = sandbox.launch(
            &project,
            &format!("cd A; {AGENT} commit -q --allow-empty -m agent"),
        );
        let borrower = at(&project.join("B"));
        mine(&borrower, "pull -q");
        commit_mine(&borrower);
        sandbox.restore_in_part(&id, &[]);
        borrower.git(&["fsck", "--full", "--no-dangling"]);
        assert_eq!(
            borrower
                .git(&["log", "--format=%s"])
                .lines()
                .take(2)
                .collect::<Vec<_>>(),
            ["mine", "agent"]
        );
    }
}

/// Git's own lists of objects and packs are written by its maintenance.
#[test]
fn what_a_later_list_of_objects_names_stays() {
    let agent = format!("{AGENT} commit -q --allow-empty -m agent");
    for (session, later) in [
        (agent.clone(), "commit-graph write --reachable"),
        (agent.clone(), "commit-graph write --reachable --split"),
        (format!("{agent}; git repack -adq"), "multi-pack-index write"),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 2);
        Build::at(&project).aged();
        let id = sandbox.launch(&project, &session);
        mine(&repository, later);
        sandbox.restore(&id, &[]);
        repository.git(&["fsck", "--full", "--no-dangling"]);
        assert_ne!(repository.git(&["log", "-1", "--format=%s"]).trim(), "agent");
    }
}

/// A repository whose refs are all packed: `main` and `side` at the second commit, `mine` at the first.
fn packed(project: &Path) -> Repository {
    let repository = Repository::with_history(project, 2);
    repository.git(&["branch", "side"]);
    repository.git(&["branch", "mine", "HEAD~1"]);
    repository.git(&["tag", "-a", "-m", "a tag", "v1"]);
    repository.git(&["pack-refs", "--all"]);
    Build::at(project).aged();
    repository
}

#[test]
fn refs_that_were_packed_before_the_session_and_after_it_are_restored_one_by_one() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = packed(&project);
    let refs = ["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"];
    let before = repository.git(&refs);
    let id = sandbox.launch(
        &project,
        &format!(
            "{AGENT} commit -q --allow-empty -m agent; git branch -qf side; git branch -qD mine; git branch made; {AGENT} tag -fam moved v1"
        ),
    );
    // All that the session did is in the list now, and nothing else is.
    repository.git(&["pack-refs", "--all"]);
    let tree = Tree::read(&project);
    let shown = sandbox.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 6]);
    shown.hides("packed-refs: changed after");
    sandbox.restore(&id, &[]);
    assert_eq!(repository.git(&refs), before);
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    crate::support::compare::assert_same_tree(&tree, &Tree::read(&project));
    // A later branch is in the same list, with a commit that only it has, on top of the session's.
    repository.git(&["checkout", "-q", "made"]);
    commit_mine(&repository);
    repository.git(&["checkout", "-q", "main"]);
    repository.git(&["pack-refs", "--all"]);
    let made = repository.git(&["rev-parse", "made"]);
    sandbox.restore_in_part(&id, &[]);
    let after = repository.git(&refs);
    assert_eq!(repository.git(&["rev-parse", "made"]), made);
    let rest: Vec<&str> = after.lines().filter(|line| !line.contains("/made ")).collect();
    assert_eq!(rest, before.lines().collect::<Vec<_>>());
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn of_a_packed_list_that_stays_head_stays_on_its_branch() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = packed(&project);
    let id = sandbox.launch(
        &project,
        &format!("git checkout -q side; {AGENT} commit -q --allow-empty -m agent; git branch -qf main"),
    );
    commit_mine(&repository);
    repository.git(&["pack-refs", "--all"]);
    sandbox.restore_in_part(&id, &[]);
    // The later commit is on `side`, and `main` is where it was.
    assert_eq!(
        repository.git(&["symbolic-ref", "--short", "HEAD"]).trim(),
        "side"
    );
    assert_eq!(repository.git(&["log", "-1", "--format=%s"]).trim(), "mine");
    assert_eq!(
        repository.git(&["rev-parse", "main"]),
        repository.git(&["rev-parse", "v1^{}"])
    );
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn objects_that_were_pruned_after_the_session_come_back_with_what_needs_them() {
    for packs in [false, true] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 3);
        if packs {
            repository.git(&["gc", "-q"]);
        }
        Build::at(&project).aged();
        let head = repository.git(&["rev-parse", "HEAD"]);
        let id = sandbox.launch(&project, "git reset -q --hard HEAD~1");
        repository.git(&["reflog", "expire", "--expire=now", "--all"]);
        repository.git(&["gc", "-q", "--prune=now"]);
        let gone = head.trim();
        assert!(!repository.try_git(&["cat-file", "-e", gone]));
        let pruned = Tree::read(&project);
        match packs {
            // The reflogs were empty before.
            true => sandbox.restore(&id, &[]),
            false => sandbox.restore_in_part(&id, &[]),
        };
        assert_eq!(repository.git(&["rev-parse", "HEAD"]), head, "packs: {packs}");
        repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        crate::support::compare::assert_same_tree(&pruned, &Tree::read(&project));
    }
}

/// Git deletes a directory of objects, refs or reflogs that it has emptied. That is no decision of the operator about what the session deleted
/// in it.
#[test]
fn what_was_deleted_comes_back_in_a_directory_that_git_has_emptied_since() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 30);
    for branch in ["topic/a", "topic/b"] {
        repository.git(&["branch", branch]);
    }
    Build::at(&project).aged();
    let history = repository.git(&["log", "--format=%H"]);
    let reset = "git reset -q --hard HEAD~12; git branch -q -D topic/a; \
                 git reflog expire --expire=now --all; git prune --expire=now";
    let id = sandbox.launch(&project, reset);
    let tidied = |repository: &Repository| {
        repository.git(&["gc", "-q"]);
        let objects = fs::read_dir(project.join(".git/objects")).unwrap();
        assert!(objects.count() < 5, "git has deleted what it emptied");
    };
    tidied(&repository);
    let packed = Tree::read(&project);
    sandbox.restore(&id, &[]);
    let is_whole = |repository: &Repository| {
        assert_eq!(repository.git(&["log", "--format=%H"]), history);
        assert_eq!(repository.git(&["log", "--format=%H", "topic/a"]), history);
        repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    };
    is_whole(&repository);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    crate::support::compare::assert_same_tree(&packed, &Tree::read(&project));
    for path in [".git", "."] {
        sandbox.restore(&id, &[path]);
        is_whole(&repository);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
    }
}

/// A branch that only has a file of its own is deleted without a change of `packed-refs`.
#[test]
fn an_undo_brings_back_no_branch_that_was_deleted_since() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 3);
    repository.git(&["branch", "topic", "HEAD~1"]);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git pack-refs --all");
    sandbox.restore(&id, &[]);
    repository.git(&["branch", "-q", "-D", "topic"]);
    let refs = repository.git(&["for-each-ref"]);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).code(6);
    undone.shows(".git/packed-refs: deleted after that restore");
    assert_eq!(repository.git(&["for-each-ref"]), refs);
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn an_undo_names_a_list_that_has_a_branch_which_it_cannot_delete() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 3);
    repository.git(&["branch", "topic", "HEAD~1"]);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git branch -q -D topic");
    sandbox.restore(&id, &[]);
    repository.git(&["pack-refs", "--all"]);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).code(6);
    undone.shows(".git/packed-refs: created after that restore");
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    // With a list in both states the branch is taken out of it.
    repository.git(&["pack-refs", "--all"]);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git update-ref -d refs/heads/topic; git branch -q gone");
    sandbox.restore(&id, &[]);
    repository.git(&["pack-refs", "--all"]);
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(!repository.try_git(&["rev-parse", "-q", "--verify", "refs/heads/topic"]));
    repository.git(&["rev-parse", "-q", "--verify", "refs/heads/gone"]);
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn an_undo_brings_objects_back_into_a_directory_that_git_has_emptied_since() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 20);
    Build::at(&project).aged();
    let commits =
        format!("for i in $(seq 12); do echo $i > agent-$i; git add .; {AGENT} commit -q -m agent; done");
    let id = sandbox.launch(&project, &commits);
    let made = repository.git(&["rev-parse", "HEAD"]);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    repository.git(&[
        "-c",
        "gc.reflogExpire=never",
        "-c",
        "gc.reflogExpireUnreachable=never",
        "gc",
        "-q",
    ]);
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    assert!(repository.try_git(&["cat-file", "-e", made.trim()]));
}

#[test]
fn objects_that_git_only_packed_after_the_session_are_not_stored_twice() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 3);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, &format!("{AGENT} commit -q --allow-empty -m agent"));
    repository.git(&["-c", "gc.reflogExpire=never", "gc", "-q"]);
    sandbox.restore(&id, &[]);
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    let counts = repository.git(&["count-objects", "-v"]);
    assert!(counts.starts_with("count: 0\n"), "{counts}");
}

#[test]
fn a_later_commit_keeps_the_history_that_the_session_fetched() {
    let sandbox = Sandbox::new();
    let origin = Repository::with_history(&sandbox.scratch("origin"), 5);
    let project = sandbox.project("project");
    let url = format!("file://{}", origin.path.display());
    let target = project.to_str().unwrap();
    fs::remove_dir(&project).unwrap_or_default();
    origin.git(&["clone", "-q", "--depth", "1", &url, target]);
    for fetch in ["--deepen=2", "--unshallow"] {
        let id = sandbox.launch(&project, &format!("git fetch -q {fetch}"));
        let repository = at(&project);
        commit_mine(&repository);
        let history = repository.git(&["log", "--format=%s"]);
        sandbox.restore_in_part(&id, &[]);
        assert_eq!(repository.git(&["log", "--format=%s"]), history, "{fetch}");
        repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        // Without it the next one has nothing new.
        repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
}

#[test]
fn a_branch_that_the_operator_rebases_stays_until_that_is_over() {
    for packs in ["true", "git pack-refs --all"] {
        rebased(packs);
    }
}

fn rebased(packs: &str) {
    let sandbox = Sandbox::new();
    let repository = Repository::init(&sandbox.project("project"));
    let project = repository.path.clone();
    fs::write(project.join("f"), "one\n").unwrap();
    repository.git(&["add", "f"]);
    repository.commit("one");
    let main = repository.git(&["branch", "--show-current"]).trim().to_owned();
    repository.git(&["branch", "side"]);
    fs::write(project.join("f"), "of main\n").unwrap();
    repository.git(&["commit", "-q", "-a", "-m", "of main"]);
    repository.git(&["checkout", "-q", "side"]);
    fs::write(project.join("f"), "of side\n").unwrap();
    repository.git(&["commit", "-q", "-a", "-m", "of side"]);
    repository.git(&["checkout", "-q", &main]);
    let id = sandbox.launch(
        &project,
        &format!("echo a > a && git add a && {AGENT} commit -q -m agent && {packs}"),
    );
    let tip = repository.git(&["rev-parse", &main]);
    assert!(!repository.try_git(&["rebase", "-q", "side"]));
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(repository.git(&["rev-parse", &main]), tip);
    fs::write(project.join("f"), "both\n").unwrap();
    repository.git(&["add", "f"]);
    repository.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(
        repository.git(&["log", "--format=%s", &main]),
        "agent\nof main\nof side\none\n"
    );
}

/// All refs with their objects.
const REFS: [&str; 2] = ["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"];

/// Asserts that git finds nothing wrong, and nothing to commit.
fn is_whole(repository: &Repository) {
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_undo_moves_a_ref_that_was_only_packed_since() {
    let agent = &format!("echo a > new; git add new; {AGENT} commit -qm agent; git branch feature/x");
    let packing = &format!("{agent}; git branch -qD topic; git pack-refs --all");
    for (before, session, later) in [
        ("status", agent, "pack-refs --all"),
        ("status", agent, "gc -q"),
        ("pack-refs --all", agent, "pack-refs --all"),
        ("pack-refs --all", agent, "gc -q"),
        // Here the restore changed the list, or deleted it.
        ("pack-refs --all", packing, "pack-refs --all"),
        ("status", packing, "gc -q"),
    ] {
        let sandbox = Sandbox::new();
        let repository = with_topic(&sandbox);
        mine(&repository, "checkout -q -b work/on");
        mine(&repository, before);
        // The commits of tests are old.
        mine(&repository, "config gc.reflogExpire never");
        mine(&repository, "config gc.reflogExpireUnreachable never");
        let project = repository.path.clone();
        Build::at(&project).aged();
        let was = repository.git(&REFS);
        let id = sandbox.launch(&project, session);
        let by_agent = repository.git(&REFS);
        sandbox.restore(&id, &[]);
        mine(&repository, later);
        assert_eq!(repository.git(&REFS), was);
        let tree = Tree::read(&project);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_eq!(repository.git(&REFS), by_agent, "{before}, {session}, {later}");
        is_whole(&repository);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        crate::support::compare::assert_same_tree(&tree, &Tree::read(&project));
    }
}

#[test]
fn an_undo_keeps_a_later_ref_in_a_packed_list() {
    for session in ["git pack-refs --all", "true"] {
        let sandbox = Sandbox::new();
        let repository = with_topic(&sandbox);
        let project = repository.path.clone();
        Build::at(&project).aged();
        let id = sandbox.launch(
            &project,
            &format!("{AGENT} commit -q --allow-empty -m agent; {session}"),
        );
        let agents = repository.git(&["rev-parse", "main"]);
        sandbox.restore(&id, &[]);
        mine(&repository, "checkout -q topic");
        commit_mine(&repository);
        mine(&repository, "checkout -q main");
        mine(&repository, "pack-refs --all");
        let topic = repository.git(&["rev-parse", "topic"]);
        sandbox.jackin(["undo", &id, "--yes"]).code(6);
        assert_eq!(repository.git(&["rev-parse", "topic"]), topic);
        assert_eq!(repository.git(&["rev-parse", "main"]), agents, "{session}");
        repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        // A branch that was moved since stays.
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        commit_mine(&repository);
        mine(&repository, "pack-refs --all");
        let refs = repository.git(&REFS);
        sandbox.jackin(["undo", &id, "--yes"]).code(6);
        assert_eq!(repository.git(&REFS), refs, "{session}");
    }
}

#[test]
fn an_undo_moves_packed_refs_of_a_linked_work_tree_and_of_a_submodule() {
    let sandbox = Sandbox::new();
    let origin = Repository::with_history(&sandbox.scratch("origin"), 2);
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    mine(&repository, "worktree add -q linked");
    let url = origin.path.to_str().unwrap();
    let adds = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    repository.git(&[&adds[..], &[url, "part"]].concat());
    repository.git(&["commit", "-qm", "part"]);
    Build::at(&project).aged();
    let commit = format!("touch new; git add new; {AGENT} commit -qm agent");
    let id = sandbox.launch(&project, &format!("(cd linked; {commit}); (cd part; {commit})"));
    let works = [at(&project.join("linked")), at(&project.join("part"))];
    let refs = || works.each_ref().map(|work| work.git(&REFS));
    let by_agent = refs();
    sandbox.restore(&id, &[]);
    for work in &works {
        mine(work, "pack-refs --all");
    }
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_eq!(refs(), by_agent);
    works.iter().for_each(is_whole);
}
