//! A repository that git only packed after the session: its files differ, and what is in it does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::conversation::Conversation;
use crate::support::git::Repository;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A repository with reflogs that `git gc` leaves alone, although the commits of tests are old.
fn with_history(path: &Path) -> Repository {
    let repository = Repository::with_history(path, 5);
    for key in ["gc.reflogExpire", "gc.reflogExpireUnreachable"] {
        repository.git(&["config", key, "never"]);
    }
    repository
}

/// The same with a branch, packed in part if `packs`, and an ordinary file.
fn repository(sandbox: &Sandbox, packs: bool) -> Repository {
    let project = sandbox.project("project");
    let repository = with_history(&project);
    if packs {
        repository.git(&["gc", "-q"]);
    }
    repository.git(&["branch", "topic/a", "HEAD~1"]);
    fs::write(project.join("later"), "later\n").unwrap();
    repository.commit("later");
    fs::write(project.join("ordinary"), "mine\n").unwrap();
    Build::at(&project).aged();
    repository
}

fn is_whole(repository: &Repository) {
    repository.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn what_git_stores_in_other_files_is_no_later_edit() {
    let ways: [&[&[&str]]; 4] = [
        &[&["gc", "-q"]],
        &[&["gc", "-q", "--prune=now"], &["multi-pack-index", "write"]],
        &[&["pack-refs", "--all"], &["update-server-info"]],
        &[
            &["repack", "-q", "-a", "-d"],
            &["commit-graph", "write", "--reachable"],
        ],
    ];
    for (at, packing) in ways.iter().enumerate() {
        let sandbox = Sandbox::new();
        let repository = repository(&sandbox, at % 2 == 0);
        let project = repository.path.clone();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "rm ordinary");
        for git in *packing {
            repository.git(git);
        }
        let refs = repository.git(&["for-each-ref"]);
        let packed = Tree::read(&project);
        sandbox.restore(&id, &[]);
        let after = Tree::read(&project);
        assert_untouched(&packed.only(".git"), &after.only(".git"));
        assert_same_tree(&before.without(".git"), &after.without(".git"));
        assert_eq!(repository.git(&["for-each-ref"]), refs);
        is_whole(&repository);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&packed, &Tree::read(&project));
        let restored = sandbox.jackin(["restore", &id, "--yes"]).ok();
        restored.shows("stored by git since; no object or ref of the snapshot is missing");
    }
}

#[test]
fn a_session_is_restored_in_a_repository_that_was_packed_since() {
    for packs in [false, true] {
        let sandbox = Sandbox::new();
        let repository = repository(&sandbox, packs);
        let project = repository.path.clone();
        let refs = repository.git(&["for-each-ref"]);
        let agent = "git -c user.name=a -c user.email=a@x";
        let id = sandbox.launch(
            &project,
            &format!("echo agent > new; git add new; {agent} commit -qm agent; git branch -qD topic/a"),
        );
        let by_agent = repository.git(&["for-each-ref"]);
        repository.git(&["gc", "-q"]);
        let packed = Tree::read(&project);
        sandbox.restore(&id, &[]);
        assert_eq!(repository.git(&["for-each-ref"]), refs, "packs: {packs}");
        assert!(!project.join("new").exists());
        is_whole(&repository);
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&packed, &Tree::read(&project));
        assert_eq!(repository.git(&["for-each-ref"]), by_agent);
    }
}

/// Without the packs the objects would be nowhere.
#[test]
fn objects_that_were_packed_since_are_deleted_by_no_flag() {
    for flags in [
        &["--delete-later-files"][..],
        &["--overwrite-later-edits"],
        &["--delete-later-files", "--overwrite-later-edits"],
        &[
            "--delete-later-files",
            "--overwrite-later-edits",
            ".git/objects/pack",
        ],
        &[
            "--delete-later-files",
            "--overwrite-later-edits",
            ".git/packed-refs",
        ],
    ] {
        let sandbox = Sandbox::new();
        let repository = repository(&sandbox, false);
        let project = repository.path.clone();
        let before = Tree::read(&project);
        let refs = repository.git(&["for-each-ref"]);
        let id = sandbox.launch(&project, "rm ordinary");
        repository.git(&["gc", "-q", "--prune=now"]);
        let packed = Tree::read(&project);
        sandbox.restore(&id, flags);
        is_whole(&repository);
        assert_eq!(repository.git(&["for-each-ref"]), refs, "{flags:?}");
        if flags.len() == 2 {
            assert_same_tree(&before, &Tree::read(&project));
        }
        if flags.len() == 1 {
            assert_untouched(&packed.only(".git"), &Tree::read(&project).only(".git"));
        }
        if flags.len() < 3 {
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            assert_same_tree(&packed, &Tree::read(&project));
        }
    }
}

/// Git makes none of these.
#[test]
fn what_the_operator_puts_among_the_objects_is_a_later_edit() {
    let sandbox = Sandbox::new();
    let repository = repository(&sandbox, true);
    let project = repository.path.clone();
    fs::write(
        project.join(".git/objects/info/alternates"),
        "# borrows from none\n",
    )
    .unwrap();
    let id = sandbox.launch(&project, "rm ordinary");
    let packs = fs::read_dir(project.join(".git/objects/pack")).unwrap();
    let mut packs = packs.map(|entry| entry.unwrap().path());
    let pack = packs
        .find(|path| path.extension().is_some_and(|is| is == "pack"))
        .unwrap();
    fs::write(pack.with_extension("keep"), "mine\n").unwrap();
    fs::write(project.join(".git/objects/pack/notes"), "mine\n").unwrap();
    fs::remove_file(project.join(".git/objects/info/alternates")).unwrap();
    let name = pack.with_extension("keep");
    let keep = format!(
        ".git/objects/pack/{}",
        name.file_name().unwrap().to_str().unwrap()
    );
    let conflicts = [
        ".git/objects/info/alternates",
        ".git/objects/pack/notes",
        keep.as_str(),
    ];
    let restored = sandbox.restore_in_part(&id, &[]);
    assert_eq!(restored.conflicts, conflicts.map(|path| path.as_bytes().to_vec()));
}

#[test]
fn what_git_packed_between_turns_is_no_conflict() {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    let repository = with_history(&project);
    fs::write(project.join("ordinary"), "mine\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "touch one");
    agent.shell("git gc -q --prune=now");
    agent.turn("two", "rm ordinary");
    agent.end();
    agent.run().ok();
    let id = sandbox.newest();
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("ordinary")).unwrap(), "mine\n");
    assert!(!project.join("one").exists());
    is_whole(&repository);
}

/// The session packed the objects, and left them in files of their own as well. What is stored elsewhere then is stored in what a restore would
/// delete.
#[test]
fn packs_of_the_session_stay_if_the_objects_are_nowhere_else() {
    let borrow = "echo ../../../lender/.git/objects > .git/objects/info/alternates";
    for (session, later) in [
        ("git repack -q -a", &["prune-packed"][..]),
        (
            "git maintenance run --task=loose-objects",
            &["maintenance", "run", "--task=loose-objects"],
        ),
        (borrow, &["prune-packed"]),
    ] {
        for flags in [&[][..], &["--overwrite-later-edits"], &["--delete-later-files"]] {
            let sandbox = Sandbox::new();
            let repository = repository(&sandbox, false);
            let project = repository.path.clone();
            let lender = project.with_file_name("lender");
            run_tool(Command::new("cp").arg("-r").args([&project, &lender]));
            Repository { path: lender.clone() }.git(&["repack", "-q", "-a", "-d"]);
            let id = sandbox.launch(&project, &format!("rm ordinary; {session}"));
            repository.git(later);
            let packed = Tree::read(&project);
            let refs = repository.git(&["for-each-ref"]);
            // What a repository outside of the mount lends is not looked at.
            let overwrites = flags == ["--overwrite-later-edits"];
            let code = if session == borrow && !overwrites { 6 } else { 0 };
            let restore = [&["restore", &id, "--yes"][..], flags].concat();
            sandbox.jackin(restore).code(code);
            is_whole(&repository);
            assert_eq!(repository.git(&["for-each-ref"]), refs, "{session}, {flags:?}");
            assert!(project.join("ordinary").exists());
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            assert_same_tree(&packed, &Tree::read(&project));
        }
    }
}

#[test]
fn packs_stay_if_what_is_in_them_is_not_asked_for() {
    let sandbox = Sandbox::new();
    let repository = repository(&sandbox, false);
    let project = repository.path.clone();
    let id = sandbox.launch(&project, "git repack -q -a -d -n");
    sandbox
        .jackin(["restore", &id, "--yes", ".git/objects/pack"])
        .code_in(&[0, 6]);
    is_whole(&repository);
}

/// Their refs are not read: a list may have any of them.
#[test]
fn a_list_of_refs_that_cannot_be_read_stays_with_them() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository {
        path: project.clone(),
    };
    repository.git(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    for (key, value) in [("user.name", "me"), ("user.email", "me@x")] {
        repository.git(&["config", key, value]);
    }
    for name in ["one", "two"] {
        fs::write(project.join(name), name).unwrap();
        repository.commit(name);
    }
    repository.git(&["branch", "topic"]);
    fs::write(project.join("ordinary"), "mine\n").unwrap();
    Build::at(&project).aged();
    let refs = repository.git(&["for-each-ref"]);
    let id = sandbox.launch(&project, "rm ordinary; git gc -q");
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(repository.git(&["for-each-ref"]), refs);
    assert!(project.join("ordinary").exists());
    is_whole(&repository);
}

/// Git packs what a ref that names another one leads to.
#[test]
fn a_ref_that_names_another_one_comes_back_as_such() {
    let sandbox = Sandbox::new();
    let repository = repository(&sandbox, false);
    let project = repository.path.clone();
    repository.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    Build::at(&project).aged();
    let id = sandbox.launch(
        &project,
        "git update-ref --no-deref refs/heads/alias HEAD; git pack-refs --all",
    );
    repository.git(&["branch", "later"]);
    repository.git(&["pack-refs", "--all"]);
    sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert_eq!(
        repository.git(&["symbolic-ref", "refs/heads/alias"]),
        "refs/heads/main\n"
    );
    repository.git(&["rev-parse", "--verify", "-q", "refs/heads/later"]);
    is_whole(&repository);
}

/// A repository with a branch called `name` in its list, which a session deletes, and after that a branch of the operator in it.
fn with_deleted(sandbox: &Sandbox, name: &str) -> (Repository, String) {
    let repository = repository(sandbox, true);
    repository.git(&["config", "core.logAllRefUpdates", "false"]);
    repository.git(&["branch", name, "HEAD~1"]);
    repository.git(&["pack-refs", "--all"]);
    Build::at(&repository.path).aged();
    let id = sandbox.launch(&repository.path, &format!("git branch -qD {name}"));
    repository.git(&["branch", "mine"]);
    repository.git(&["pack-refs", "--all"]);
    (repository, id)
}

/// Git forbids a dot only at the end of a whole name.
#[test]
fn a_branch_with_a_dot_at_the_end_of_a_part_is_restored() {
    let sandbox = Sandbox::new();
    let (repository, id) = with_deleted(&sandbox, "v1./x");
    sandbox.restore(&id, &[]);
    let refs = repository.git(&["for-each-ref", "--format=%(refname)"]);
    for name in ["refs/heads/v1./x\n", "refs/heads/mine\n"] {
        assert!(refs.contains(name), "{refs}");
    }
    is_whole(&repository);
}

#[test]
fn a_list_of_refs_with_a_line_that_is_not_understood_is_a_conflict() {
    let sandbox = Sandbox::new();
    let (repository, id) = with_deleted(&sandbox, "gone");
    let list = repository.path.join(".git/packed-refs");
    let head = repository.git(&["rev-parse", "HEAD"]);
    let text = fs::read_to_string(&list).unwrap() + head.trim() + " refs/heads/not..a.name\n";
    fs::write(&list, &text).unwrap();
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.shows("packed-refs");
    assert_eq!(fs::read_to_string(&list).unwrap(), text);
}
