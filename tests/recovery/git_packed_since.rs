//! A repository that git only packed after the session: its files differ, and what is in it does not.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::conversation::Conversation;
use crate::support::git::Repository;
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
        restored.shows("stored by git since; no object or ref is missing");
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
