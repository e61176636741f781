//! Repositories that are wrecked come back whole, in every shape that people have: `.git` is archived like any other directory, and no git is
//! started on it (scenarios 1 to 4, 16 to 21).

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::git::Repository;
use crate::support::machine::{skip, tool};
use crate::support::rows::rows;
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
fn wrecked_and_restored(script: &str) {
    let sandbox = Sandbox::new();
    let repository = dirty(&sandbox, "wrecked");
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

rows! {
    wrecked_and_restored:
    s02_checkout_and_clean_are_undone_and_staging_is_as_it_was("git checkout -q -- . && git clean -qfdx");
    s02_staged_work_that_was_thrown_away_comes_back("git reset -q --hard && git clean -qfdx && git stash drop -q");
    s03_lost_commits_are_reachable_again(
        "git reset -q --hard HEAD~3 && git reflog expire --expire=now --all && git gc -q --prune=now"
    );
    s04_removed_git_directory_comes_back("git checkout -q --orphan x && git rm -rfq . && rm -rf .git");
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
fn objects_stay_with_a_branch_that_is_not_restored() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    let before = Tree::read(&repository.path);
    let script = "echo agent > new; git add new; git commit -qm agents";
    let id = sandbox.launch(&repository.path, script);
    let agents = repository.git(&["rev-parse", "HEAD"]);
    for more in [&["--exclude", "main"][..], &[".git/objects", ".git/index"]] {
        sandbox.restore(&id, more);
        assert_eq!(repository.git(&["rev-parse", "HEAD"]), agents);
        repository.git(&["fsck", "--strict"]);
        sandbox.undo(&id);
    }
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path));
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
    let index = fs::read(project.join(".git/index")).unwrap();
    let staged = repository.git(&["diff", "--cached"]);
    assert!(staged.contains("return 1"));

    let id = sandbox.launch(&project, "true");
    assert_untouched(&before, &Tree::read(&project));
    let id_of_damage = sandbox.launch(&project, "git add -A; git reset -q; rm README");
    sandbox.restore(&id_of_damage, &[]);
    assert_eq!(index, fs::read(project.join(".git/index")).unwrap());
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
    fs::write(&trap, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
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
        let started = fs::read_to_string(&trace).unwrap();
        // On macOS a shell of the system finds the signals that a process ignores.
        let asks = |line: &str| {
            let is_portable = cfg!(any(feature = "portable", not(target_os = "linux")));
            is_portable && line.contains("execve(\"/bin/sh\", [\"/bin/sh\", \"-c\", \"for signal in 1 2 ")
        };
        let is_other = |line: &&str| line.contains("exec") && !asks(line);
        let programs: Vec<&str> = started.lines().filter(is_other).collect();
        assert_eq!(programs.len(), 1, "{args:?}: {started}");
    }
}

#[test]
fn s01_ignored_files_come_back_byte_for_byte() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("ignored");
    let repository = Repository::with_history(&project, 2);
    let build = Build::at(&project);
    build.file(".gitignore", ".env\nlocal.db\ndata/*.csv\n");
    repository.commit("ignore");
    build
        .file(".env", "TOKEN=not-a-real-one\n")
        .mode(".env", 0o600)
        .file("local.db", (0..=255_u8).cycle().take(300_000).collect::<Vec<_>>())
        .file("data/one.csv", "1,2,3\n")
        .file("data/two.csv", "4,5,6\n")
        .file("data/readme", "tracked by nobody\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "rm .env local.db data/*.csv");
    let gone = [".env", "data/one.csv", "data/two.csv", "local.db"];
    sandbox.diff(&id, &[]).are(&gone.map(|path| ("deleted", path)));
    sandbox.restore(&id, &[]).touched(&gone);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &gone);
}

#[test]
fn s20_tracked_and_ignored_file_is_never_deleted() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("forced");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file(".gitignore", "*.log\nbuild/\n")
        .file("keep.log", "added with -f\n")
        .file("build/keep.txt", "added with -f\n")
        .file("a", "before\n");
    repository.git(&["add", "-f", "keep.log", "build/keep.txt"]);
    repository.commit("all");
    Build::at(&project)
        .file("loose.log", "ignored, tracked by nobody\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo agent > a; git rm -q --cached keep.log; echo x > new.log; echo x > build/new",
    );
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for path in ["keep.log", "build/keep.txt", "loose.log"] {
        assert_untouched(&before.only(path), &after.only(path));
    }
}

#[test]
fn s21_line_taken_out_of_gitignore_costs_no_file() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("unignored");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file(".gitignore", ".env\nsecrets/\n")
        .file("a", "before\n");
    repository.commit("all");
    Build::at(&project)
        .file(".env", "TOKEN=x\n")
        .mode(".env", 0o600)
        .file("secrets/key", "k\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, ": > .gitignore; echo agent > a");
    sandbox
        .diff(&id, &[])
        .are(&[("modified", ".gitignore"), ("modified", "a")]);
    sandbox.restore(&id, &[]).touched(&[".gitignore", "a"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for path in [".env", "secrets"] {
        assert_untouched(&before.only(path), &after.only(path));
    }
}

#[test]
fn s21_line_put_into_gitignore_hides_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hidden");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file("a", "before\n")
        .file("b", "before\n")
        .file(".gitignore", "none\n");
    repository.commit("all");
    Build::at(&project).aged();
    let before = Tree::read(&project);

    // Today's .gitignore says that all of this is not worth looking at.
    let id = sandbox.launch(
        &project,
        "echo '*' > .gitignore; echo agent > a; rm b; echo x > planted; mkdir -p d/e",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

rows! {
    comes_back:
    shape_branch(0, |_| true);
    shape_detached(1, |it| done(it, &["checkout -q --detach HEAD~1"]));
    shape_unborn(2, |it| done(it, &["checkout -q --orphan fresh", "rm -rfq --cached ."]));
    shape_packed(3, |it| done(it, &["branch other HEAD~2", "tag -a -m t v1", "gc -q", "pack-refs --all"]));
    shape_index_v3(4, |it| {
        Build::at(&it.path).file("later", "x\n");
        done(it, &["add -N later", "update-index --index-version 3"])
    });
    shape_index_v4(5, |it| done(it, &["update-index --index-version 4"]));
    shape_split_index(6, |it| {
        let is_split = done(it, &["update-index --split-index"]);
        Build::at(&it.path).file("src/main.c", "staged\n");
        is_split && done(it, &["add src/main.c"])
    });
    shape_stash(8, |it| {
        Build::at(&it.path).file("README", "stashed\n");
        done(it, &["stash -q"])
    });
    shape_merging(9, |it| conflict(it, "merge -q other"));
    shape_rebasing(10, |it| conflict(it, "rebase -q other"));
    shape_picking(11, |it| conflict(it, "cherry-pick other"));
    shape_bisecting(12, |it| done(it, &["bisect start -q HEAD HEAD~4"]));
    shape_worktree(13, |it| done(it, &["worktree add -q wt HEAD~1"]));
    shape_submodule(14, |it| {
        let inner = Repository::with_history(&it.path.with_extension("inner"), 2);
        let url = inner.path.display().to_string();
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"];
        it.try_git(&add) && done(it, &["commit -q -m sub"])
    });
    shape_nested(15, |it| {
        let inner = Repository::init(&it.path.join("inner"));
        Build::at(&inner.path).file("never-committed", "x\n");
        Build::at(&it.path)
            .file("broken/.git", "gitdir: ../nowhere\n")
            .file("broken/file", "x\n");
        true
    });
    shape_bare(16, |it| done(it, &["clone -q --bare . depot.git"]));
    shape_alternates(17, |it| done(it, &["clone -q --shared . twin"]));
    shape_shallow(18, |it| {
        let url = format!("file://{}", it.path.display());
        it.try_git(&["clone", "-q", "--depth", "2", &url, "short"])
    });
    shape_partial(19, |it| {
        let url = format!("file://{}", it.path.display());
        it.git(&["config", "uploadpack.allowFilter", "true"]);
        it.try_git(&["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "thin"])
    });
}

rows! {
    comes_back_by_newer_git:
    shape_sparse(7, |it| done(it, &["sparse-checkout set --cone src", "sparse-checkout reapply"]));
    shape_reftable(20, |it| done(it, &["init -q --ref-format=reftable table"]));
}

fn done(it: &Repository, commands: &[&str]) -> bool {
    let run = |command: &&str| it.try_git(&command.split(' ').collect::<Vec<_>>());
    commands.iter().all(run)
}

/// Both branches change the same line, and the command stops in the middle.
fn conflict(it: &Repository, command: &str) -> bool {
    let file = |text: &str| {
        Build::at(&it.path).file("history.txt", text);
    };
    it.git(&["checkout", "-q", "-b", "other", "HEAD~1"]);
    file("theirs\n");
    it.commit("theirs");
    it.git(&["checkout", "-q", "main"]);
    file("ours\n");
    it.commit("ours");
    !done(it, &[command])
}

/// What agents did, as a script that runs in the project.
const DAMAGES: [(&str, &str); 7] = [
    (
        "the work tree is wiped",
        "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +",
    ),
    ("the repository is wiped", "rm -rf .git"),
    (
        "everything is wiped",
        "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +",
    ),
    ("the index is corrupt", "printf broken > .git/index"),
    (
        "a branch is gone",
        "rm -f .git/refs/heads/main; sed -i '/heads.main/d' .git/packed-refs 2>/dev/null; true",
    ),
    (
        "a hook is planted",
        "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch /tmp/never' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    ),
    (
        "history is rewritten",
        "git -c user.name=a -c user.email=a@x commit -q --allow-empty --amend -m rewritten; \
         git reflog expire --expire=now --all; git gc -q --prune=now; true",
    ),
];

/// What git says of it, errors included.
fn told(repository: &Repository) -> Vec<(bool, String)> {
    [
        &["status", "--porcelain=v2", "--branch", "--ignored"][..],
        &["for-each-ref"],
        &["stash", "list"],
        &["fsck", "--no-dangling"],
    ]
    .map(|args| repository.tried(args))
    .into()
}

/// Makes a shape of a repository with five commits; not every git can. The number decides which damages are its share.
fn tried(number: usize, make: fn(&Repository) -> bool) -> bool {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 5);
    let project: &Path = &repository.path;
    Build::at(project)
        .file(".gitignore", "*.o\n")
        .file("ignored.o", "o\n")
        .file("untracked", "u\n");
    if !make(&repository) {
        return false;
    }
    Build::at(project).aged();
    let said = told(&repository);
    let before = Tree::read(project);
    // All of them take a minute and a half: one of three is enough to see that something broke.
    let all = std::env::var_os("JACKIN_CASES").is_some();
    for (at, (damage, script)) in DAMAGES.into_iter().enumerate() {
        if !all && !(at + number).is_multiple_of(3) {
            continue;
        }
        let id = sandbox.launch(project, script);
        assert_ne!(before, Tree::read(project), "{damage} changes nothing");
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(project));
        assert_eq!(said, told(&repository), "{damage}");
        assert!(!fs::exists("/tmp/never").unwrap());
    }
    true
}

fn comes_back(number: usize, make: fn(&Repository) -> bool) {
    assert!(tried(number, make), "this git cannot make one");
}

fn comes_back_by_newer_git(number: usize, make: fn(&Repository) -> bool) {
    if !tried(number, make) {
        skip("a shape of a repository", "this git cannot make one");
    }
}

#[test]
fn objects_stay_while_a_branch_that_stays_needs_them() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    let script = "echo agent > README; git -c user.name=a -c user.email=a@x commit -qam agent; rm -r src";
    let id = sandbox.launch(&project, script);
    // On top of what the agent committed.
    fs::write(project.join("mine"), "mine\n").unwrap();
    repository.git(&["add", "mine"]);
    repository.git(&["commit", "-qm", "mine"]);
    let restored = sandbox.restore_in_part(&id, &[]);
    assert!(!restored.conflicts.is_empty());
    assert!(project.join("src").exists());
    repository.git(&["fsck", "--full", "--strict"]);
    assert_eq!(
        repository.git(&["log", "--format=%s", "-2"]).trim(),
        "mine\nagent"
    );
    assert_eq!(repository.git(&["show", "HEAD~1:README"]), "agent\n");
}

#[test]
fn a_branch_that_is_named_as_objects_are_is_restored_as_any_other() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("project");
    let repository = Repository::with_history(&project, 2);
    let id = sandbox.launch(
        &project,
        "git branch objects/x && test -f .git/logs/refs/heads/objects/x",
    );
    // Of git's directory another file stays, so its objects do.
    repository.git(&["config", "user.nickname", "mine"]);
    let restored = sandbox.restore_in_part(&id, &[]);
    restored.conflicted(&[".git/config"]);
    restored.touched(&[
        ".git/logs/refs/heads/objects",
        ".git/logs/refs/heads/objects/x",
        ".git/refs/heads/objects",
        ".git/refs/heads/objects/x",
    ]);
    assert_eq!(repository.git(&["branch", "--list", "objects/*"]), "");
}
