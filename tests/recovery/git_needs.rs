//! Needs of the files of a repository: no ref, index or operation is left without its objects, and no work tree without its repository.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

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

fn forget_unreachable(repository: &Repository) {
    run(repository, "reflog expire --expire=now --all");
    run(repository, "gc -q --prune=now");
}

fn is_whole(repository: &Repository) {
    run(repository, "fsck --full --strict --no-dangling");
    run(repository, "status");
}

/// A branch `side` that changes the same line as `main`.
fn with_side(project: &Path) -> Repository {
    let repository = Repository::with_history(project, 2);
    run(&repository, "checkout -q -b side");
    fs::write(project.join("history.txt"), "of side\n").unwrap();
    repository.commit("of side");
    run(&repository, "checkout -q main");
    fs::write(project.join("history.txt"), "of main\n").unwrap();
    repository.commit("of main");
    repository
}

#[test]
fn an_undo_brings_back_the_objects_that_its_refs_need() {
    for repacks in [true, false] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 2);
        // The commits of tests are old.
        run(&repository, "config gc.reflogExpire never");
        run(&repository, "config gc.reflogExpireUnreachable never");
        Build::at(&project).aged();
        let agent = format!("echo a > a; git add a; {AGENT} commit -qm agent");
        let id = sandbox.launch(&project, &agent);
        let made = run(&repository, "rev-parse main");
        run(&repository, "gc -q");
        sandbox.restore(&id, &[]);
        match repacks {
            true => drop(run(&repository, "repack -q -a -d")),
            false => forget_unreachable(&repository),
        }
        assert!(!repository.try_git(&["cat-file", "-e", made.trim()]));
        sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
        assert_eq!(run(&repository, "rev-parse main"), made, "repacks: {repacks}");
        assert_eq!(run(&repository, "show HEAD:a"), "a\n");
        is_whole(&repository);
    }
}

#[test]
fn a_ref_that_alone_is_asked_for_brings_its_objects() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 3);
    Build::at(&project).aged();
    let head = run(&repository, "rev-parse main");
    let id = sandbox.launch(&project, "git reset -q --hard HEAD~1");
    forget_unreachable(&repository);
    let pruned = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes", ".git/refs"])
        .code_in(&[0, 6]);
    assert_eq!(run(&repository, "rev-parse main"), head);
    is_whole(&repository);
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_same_tree(&pruned, &Tree::read(&project));
}

#[test]
fn a_ref_stays_if_its_objects_cannot_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 3);
    Build::at(&project).aged();
    let head = run(&repository, "rev-parse main");
    let id = sandbox.launch(&project, "git reset -q --hard HEAD~1");
    run(&repository, "reflog expire --expire=now --all");
    run(&repository, "prune --expire=now");
    let left = run(&repository, "rev-parse main");
    // A file of the operator's is where the directory of the commit was.
    let directory = project.join(".git/objects").join(&head[..2]);
    fs::remove_dir_all(&directory).unwrap_or_default();
    fs::write(&directory, "mine\n").unwrap();
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(run(&repository, "rev-parse main"), left);
    run(&repository, "log");
    run(&repository, "status");
}

#[test]
fn an_undo_keeps_the_objects_that_the_index_needs() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    run(&repository, "checkout -q -b topic");
    fs::write(project.join("t"), "of topic\n").unwrap();
    repository.commit("of topic");
    let topic = run(&repository, "rev-parse HEAD");
    run(&repository, "checkout -q main");
    run(&repository, "reflog expire --expire=now --all");
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "git branch -qD topic; git reflog expire --expire=now --all; git prune --expire=now",
    );
    sandbox.restore(&id, &[]);
    // An index that git only refreshed keeps nothing.
    Build::at(&project).file("README", "read me\n");
    run(&repository, "update-index -q --refresh");
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(!repository.try_git(&["cat-file", "-e", topic.trim()]));
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    run(&repository, &format!("cat-file -e {topic}"));
    run(&repository, "checkout topic -- t");
    fs::write(project.join("t"), "worked on\n").unwrap();
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    assert_eq!(run(&repository, "show :t"), "of topic\n");
    is_whole(&repository);
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

/// Its commit is named by no ref.
#[test]
fn an_operation_that_comes_back_brings_its_commit() {
    for (begin, quit, name) in [
        ("merge FETCH_HEAD", "git merge --quit", "MERGE_HEAD"),
        (
            "cherry-pick FETCH_HEAD",
            "git cherry-pick --quit",
            "CHERRY_PICK_HEAD",
        ),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 2);
        let other = sandbox.scratch("other");
        run(&repository, &format!("clone -q . {}", other.display()));
        fs::write(other.join("history.txt"), "theirs\n").unwrap();
        let identity = ["-c", "user.name=b", "-c", "user.email=b@x"];
        at(&other).git(&[&identity[..], &["commit", "-qam", "theirs"]].concat());
        fs::write(project.join("history.txt"), "mine\n").unwrap();
        repository.commit("mine");
        run(&repository, &format!("fetch -q {} main", other.display()));
        let begun: Vec<&str> = begin.split(' ').collect();
        assert!(!repository.try_git(&begun), "{begin} has a conflict");
        let theirs = fs::read_to_string(project.join(".git").join(name)).unwrap();
        Build::at(&project).aged();
        let id = sandbox.launch(&project, quit);
        run(&repository, "reflog expire --expire=now --all");
        run(&repository, "prune --expire=now");
        assert!(!repository.try_git(&["cat-file", "-e", theirs.trim()]));
        sandbox.restore_in_part(&id, &[]);
        run(&repository, &format!("cat-file -e {name}"));
        fs::write(project.join("history.txt"), "both\n").unwrap();
        run(&repository, "add history.txt");
        run(&repository, "commit -q -m both");
        is_whole(&repository);
    }
}

/// Restores in part: the work tree belongs to its repository as before, with the later commit. `undo` brings everything back.
fn keeps_mine(sandbox: &Sandbox, id: &str, project: &Path, work: &Repository) {
    let git_dir = run(work, "rev-parse --absolute-git-dir");
    let before = Tree::read(project);
    let restored = sandbox.restore_in_part(id, &[]);
    assert_eq!(run(work, "rev-parse --absolute-git-dir"), git_dir);
    assert_eq!(run(work, "log -1 --format=%s").trim(), "mine");
    is_whole(work);
    if !restored.applied.is_empty() {
        sandbox.jackin(["undo", id, "--yes"]).ok();
    }
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn a_work_tree_stays_one_if_the_session_moved_its_repository() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git init -q --separate-git-dir gd .");
    commit_mine(&repository);
    keeps_mine(&sandbox, &id, &project, &repository);
}

#[test]
fn a_submodule_stays_one_if_the_session_moved_its_repository() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    let part = Repository::with_history(&project.join("part"), 2);
    run(
        &repository,
        "-c protocol.file.allow=always submodule --quiet add ./part part",
    );
    run(&repository, "commit -q -m part");
    Build::at(&project).aged();
    let id = sandbox.launch(&project, "git submodule --quiet absorbgitdirs");
    assert!(project.join("part/.git").is_file());
    commit_mine(&part);
    keeps_mine(&sandbox, &id, &project, &part);
}

#[test]
fn a_linked_work_tree_stays_one_also_if_it_was_moved() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "git worktree add -q -b topic tree; git worktree move tree work",
    );
    let work = at(&project.join("work"));
    commit_mine(&work);
    keeps_mine(&sandbox, &id, &project, &work);
}

#[test]
fn a_submodule_stays_one_whatever_it_is_called() {
    let sandbox = Sandbox::new();
    let origin = Repository::with_history(&sandbox.scratch("origin"), 2);
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    let url = origin.path.display();
    run(
        &repository,
        &format!("-c protocol.file.allow=always submodule --quiet add --name libs/foo {url} vendor/bar"),
    );
    run(&repository, "commit -q -m part");
    run(&repository, "submodule --quiet deinit -f vendor/bar");
    fs::remove_dir_all(project.join(".git/modules")).unwrap();
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "git -c protocol.file.allow=always submodule --quiet update --init",
    );
    let part = at(&project.join("vendor/bar"));
    run(&part, "checkout -q -b mine");
    commit_mine(&part);
    keeps_mine(&sandbox, &id, &project, &part);
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

#[test]
fn a_branch_that_the_operator_merges_into_stays_until_that_is_over() {
    for undoes in [false, true] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = with_side(&project);
        Build::at(&project).aged();
        let id = sandbox.launch(
            &project,
            &format!("echo a > a; git add a; {AGENT} commit -qm agent"),
        );
        if undoes {
            sandbox.restore(&id, &[]);
        }
        let tip = run(&repository, "rev-parse main");
        assert!(!repository.try_git(&["merge", "-q", "side"]));
        match undoes {
            true => drop(sandbox.jackin(["undo", &id, "--yes"]).code(6)),
            false => drop(sandbox.restore_in_part(&id, &[])),
        }
        assert_eq!(run(&repository, "rev-parse main"), tip, "undoes: {undoes}");
        fs::write(project.join("history.txt"), "both\n").unwrap();
        run(&repository, "add history.txt");
        run(&repository, "commit -q -m both");
        assert_eq!(run(&repository, "rev-parse HEAD^1"), tip);
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

/// The last line of a reflog says where its ref is.
#[test]
fn the_reflogs_stay_with_a_branch_on_which_an_operation_is_under_way() {
    for begin in ["merge other", "rebase other"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("project");
        let repository = Repository::with_history(&project, 2);
        repository.git(&["switch", "-qc", "other", "HEAD~1"]);
        fs::write(project.join("history.txt"), "theirs\n").unwrap();
        repository.commit("theirs");
        repository.git(&["switch", "-q", "main"]);
        Build::at(&project).aged();
        let id = sandbox.launch(
            &project,
            &format!("echo agent > new; git add new; {AGENT} commit -qm agent"),
        );
        let begun: Vec<&str> = begin.split(' ').collect();
        assert!(!repository.try_git(&begun), "{begin} has a conflict");
        let logs = ["HEAD", "main"].map(|name| repository.git(&["log", "-g", "--format=%h %gs", name]));
        sandbox.restore_in_part(&id, &[]);
        let left = ["HEAD", "main"].map(|name| repository.git(&["log", "-g", "--format=%h %gs", name]));
        assert_eq!(logs, left, "{begin}");
        is_whole(&repository);
    }
}
