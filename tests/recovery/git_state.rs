//! Repositories that are wrecked come back whole: `.git` is archived like any other directory, and no git is started
//! on it (scenarios 2, 3, 4, 16 to 19).

use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::git::Repository;
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Commits, a staged hunk, an unstaged one on top, a stash, untracked and ignored files.
fn dirty(sandbox: &Sandbox, name: &str) -> Repository {
    let project = sandbox.project(name);
    let repository = Repository::with_history(&project, 5);
    let build = Build::at(&project);
    build.file("README", "to be stashed\n");
    repository.git(&["stash", "-q"]);
    build.file("src/main.c", "int main(void) { return 1; }\n");
    repository.git(&["add", "src/main.c"]);
    build
        .file("src/main.c", "int main(void) { return 2; }\n")
        .file("untracked", "u\n")
        .file(".gitignore", "*.o\n")
        .file("ignored.o", "o\n")
        .aged();
    repository
}

/// The damage of `script`, the restore, the undo: trees and git's own view of them.
#[track_caller]
fn wrecked_and_restored(name: &str, script: &str) {
    let sandbox = Sandbox::new();
    let repository = dirty(&sandbox, name);
    let project = repository.path.clone();
    let (before, status) = (Tree::read(&project), repository.status());
    let log = repository.git(&["log", "--all", "--format=%H %s"]);
    let id = sandbox.launch(&project, script);
    let damaged = Tree::read(&project);
    assert_ne!(before, damaged, "the script does damage");

    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_eq!(status, repository.status());
    assert_eq!(log, repository.git(&["log", "--all", "--format=%H %s"]));
    repository.git(&["fsck", "--strict"]);
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn s02_checkout_and_clean_are_undone_and_staging_is_as_it_was() {
    wrecked_and_restored("cleaned", "git checkout -q -- . && git clean -qfdx");
}

#[test]
fn s02_staged_work_that_was_thrown_away_comes_back() {
    wrecked_and_restored(
        "unstaged",
        "git reset -q --hard && git clean -qfdx && git stash drop -q",
    );
}

#[test]
fn s03_lost_commits_are_reachable_again() {
    wrecked_and_restored(
        "reset",
        "git reset -q --hard HEAD~3 && git reflog expire --expire=now --all && git gc -q --prune=now",
    );
}

#[test]
fn s04_removed_git_directory_comes_back() {
    wrecked_and_restored(
        "orphan",
        "git checkout -q --orphan x && git rm -rfq . && rm -rf .git",
    );
}

#[test]
fn s16_nested_dirty_repository_comes_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("outer");
    let outer = Repository::with_history(&project, 2);
    let inner = Repository::with_history(&project.join("vendor/inner"), 3);
    Build::at(&inner.path)
        .file("README", "dirty\n")
        .file("untracked", "u\n");
    inner.git(&["add", "README"]);
    Build::at(&project).aged();
    let (before, statuses) = (Tree::read(&project), [outer.status(), inner.status()]);

    let id = sandbox.launch(&project, "rm -rf vendor");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_eq!(statuses, [outer.status(), inner.status()]);
    inner.git(&["fsck", "--strict"]);
}

#[test]
fn s17_commits_of_the_agent_are_taken_back_and_not_lost() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("committed");
    let repository = Repository::with_history(&project, 2);
    Build::at(&project).file("history.txt", "uncommitted\n").aged();
    let before = Tree::read(&project);
    let head = repository.git(&["rev-parse", "HEAD"]);

    let commit = "git -c user.name=agent -c user.email=a@example.org commit -qam 'by the agent'";
    let id = sandbox.launch(
        &project,
        &format!("echo agent > src/main.c; {commit}; git branch side"),
    );
    let agents = repository.git(&["rev-parse", "HEAD"]);
    assert_ne!(head, agents);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), head);

    // The emergency snapshot has the commit, and an undo brings it back.
    sandbox.undo(&id);
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), agents);
    assert_eq!(
        repository.git(&["log", "-1", "--format=%s", "side"]),
        "by the agent\n"
    );
    repository.git(&["fsck", "--strict"]);
}

#[test]
fn s18_index_is_the_same_after_capture_and_after_restore() {
    let sandbox = Sandbox::new();
    let repository = dirty(&sandbox, "staged");
    let project = repository.path.clone();
    let before = Tree::read(&project);
    let index = std::fs::read(project.join(".git/index")).unwrap();
    let staged = repository.git(&["diff", "--cached"]);
    assert!(staged.contains("return 1"));

    let id = sandbox.launch(&project, "true");
    assert_untouched(&before, &Tree::read(&project));
    let id_of_damage = sandbox.launch(&project, "git add -A; git reset -q; rm README");
    sandbox.restore(&id_of_damage, &[]);
    assert_eq!(index, std::fs::read(project.join(".git/index")).unwrap());
    assert_eq!(staged, repository.git(&["diff", "--cached"]));
    sandbox.restore(&id, &[]).nothing();
}

#[test]
fn s19_what_an_agent_plants_in_git_is_never_started() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("trapped");
    Repository::with_history(&project, 2);
    Build::at(&project).aged();
    let before = Tree::read(&project);
    let marker = sandbox.scratch("started");
    let trap = sandbox.scratch("trap.sh");
    std::fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
    let set = |key: &str| format!("git config {key} 'sh {}'; ", trap.display());
    let keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "pager.diff",
        "diff.external",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "diff.x.textconv",
        "diff.x.command",
        "alias.status",
        "gpg.program",
        "credential.helper",
    ]
    .map(set)
    .concat();
    let hooks = [
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ]
    .map(|hook| {
        format!(
            "cp '{0}' .git/hooks/{hook}; chmod +x .git/hooks/{hook}; ",
            trap.display()
        )
    })
    .concat();
    let script = format!(
        "mkdir -p .git/hooks; {hooks} {keys} echo '* filter=x diff=x' > .gitattributes; \
         echo '* filter=x diff=x' > .git/info/attributes; echo agent > src/main.c; rm -f '{}'",
        marker.display()
    );
    let id = sandbox.launch(&project, &script);
    assert!(!marker.exists(), "the script itself must not spring its trap");
    for args in [
        &["list"][..],
        &["show", &id],
        &["diff", &id],
        &["diff", &id, "--patch"],
        &["diff", &id, "--stat"],
        &["restore", &id, "--dry-run"],
        &["restore", &id, "--yes"],
        &["undo", &id, "--yes"],
        &["restore", &id, "--yes"],
    ] {
        sandbox.command(args).inside(&project).run().ok();
        assert!(!marker.exists(), "{args:?} started what the agent planted");
    }
    if tool("strace").is_some() {
        sandbox.undo(&id);
        starts_nothing(&sandbox, &project, &id);
        sandbox.restore(&id, &[]);
    } else {
        skip("s19 by system calls", "strace is not installed");
    }
    // A whole session on the trapped repository: contract, baseline, closing.
    sandbox.undo(&id);
    sandbox.launch(&project, "true");
    assert!(!marker.exists(), "a launch started what the agent planted");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

/// No verb starts any program but ours: the kernel is asked, and not the trap.
fn starts_nothing(sandbox: &Sandbox, project: &Path, id: &str) {
    let trace = sandbox.scratch("programs");
    for args in [
        &["explain", "--snapshot", "project", "."][..],
        &["show", id],
        &["diff", id],
        &["diff", id, "--patch", "--show-secrets"],
        &["restore", id, "--dry-run"],
        &["restore", id, "--yes"],
        &["undo", id, "--yes"],
    ] {
        let strace = [
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=execve,execveat",
            "-o",
            trace.to_str().unwrap(),
        ];
        sandbox.command(args).inside(project).through(&strace).run().ok();
        let started = std::fs::read_to_string(&trace).unwrap();
        let programs: Vec<&str> = started.lines().filter(|line| line.contains("exec")).collect();
        assert_eq!(programs.len(), 1, "{args:?}: {started}");
    }
}
