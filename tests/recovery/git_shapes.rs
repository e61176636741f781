//! Every shape of repository that people have, wrecked in every way that agents wreck them: what was captured comes back byte for
//! byte, and git agrees.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Makes a shape out of a repository with five commits at the path; gives false when this git cannot.
type Shape = fn(&Repository) -> bool;

fn shapes() -> Vec<(&'static str, Shape)> {
    vec![
        ("branch", |_| true),
        ("detached", |it| done(it, &["checkout -q --detach HEAD~1"])),
        ("unborn", |it| {
            done(it, &["checkout -q --orphan fresh", "rm -rfq --cached ."])
        }),
        ("packed", |it| {
            done(
                it,
                &[
                    "branch other HEAD~2",
                    "tag -a -m t v1",
                    "gc -q",
                    "pack-refs --all",
                ],
            )
        }),
        ("index-v3", |it| {
            Build::at(&it.path).file("later", "x\n");
            done(it, &["add -N later", "update-index --index-version 3"])
        }),
        ("index-v4", |it| done(it, &["update-index --index-version 4"])),
        ("split-index", |it| {
            let is_split = done(it, &["update-index --split-index"]);
            Build::at(&it.path).file("src/main.c", "staged\n");
            is_split && done(it, &["add src/main.c"])
        }),
        ("sparse", |it| {
            done(it, &["sparse-checkout set --cone src", "sparse-checkout reapply"])
        }),
        ("stash", |it| {
            Build::at(&it.path).file("README", "stashed\n");
            done(it, &["stash -q"])
        }),
        ("merging", |it| conflict(it, "merge -q other")),
        ("rebasing", |it| conflict(it, "rebase -q other")),
        ("picking", |it| conflict(it, "cherry-pick other")),
        ("bisecting", |it| done(it, &["bisect start -q HEAD HEAD~4"])),
        ("worktree", |it| done(it, &["worktree add -q wt HEAD~1"])),
        ("submodule", |it| {
            let inner = Repository::with_history(&it.path.with_extension("inner"), 2);
            let url = inner.path.display().to_string();
            it.try_git(&[
                "-c",
                "protocol.file.allow=always",
                "submodule",
                "--quiet",
                "add",
                &url,
                "sub",
            ]) && done(it, &["commit -q -m sub"])
        }),
        ("nested", |it| {
            let inner = Repository::init(&it.path.join("inner"));
            Build::at(&inner.path).file("never-committed", "x\n");
            Build::at(&it.path)
                .file("broken/.git", "gitdir: ../nowhere\n")
                .file("broken/file", "x\n");
            true
        }),
        ("bare", |it| done(it, &["clone -q --bare . depot.git"])),
        ("alternates", |it| done(it, &["clone -q --shared . twin"])),
        ("shallow", |it| {
            let url = format!("file://{}", it.path.display());
            it.try_git(&["clone", "-q", "--depth", "2", &url, "short"])
        }),
        ("partial", |it| {
            let url = format!("file://{}", it.path.display());
            it.git(&["config", "uploadpack.allowFilter", "true"]);
            it.try_git(&["clone", "-q", "--filter=blob:none", "--no-checkout", &url, "thin"])
        }),
        ("reftable", |it| {
            it.try_git(&["init", "-q", "--ref-format=reftable", "table"])
        }),
    ]
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

fn tried(shape: &str, make: Shape, damages: &[(&str, &str)]) -> bool {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 5);
    let project: &Path = &repository.path;
    Build::at(project)
        .file(".gitignore", "*.o\n")
        .file("ignored.o", "o\n")
        .file("untracked", "u\n");
    if !make(&repository) {
        crate::support::machine::skip(shape, "this git cannot make one");
        return false;
    }
    Build::at(project).aged();
    let said = told(&repository);
    let before = Tree::read(project);
    for (damage, script) in damages {
        let id = sandbox.launch(project, script);
        assert_ne!(before, Tree::read(project), "{shape}: {damage} changes nothing");
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(project));
        assert_eq!(said, told(&repository), "{shape}: {damage}");
        assert!(!fs::exists("/tmp/never").unwrap());
    }
    true
}

#[test]
fn every_shape_comes_back_from_every_damage() {
    // All of them take a minute and a half: one of two is enough to see that something broke.
    let all = std::env::var_os("JACKIN_CASES").is_some();
    let mut made = 0;
    for (number, (shape, make)) in shapes().into_iter().enumerate() {
        let some: Vec<(&str, &str)> = DAMAGES
            .into_iter()
            .enumerate()
            .filter(|(at, _)| all || (at + number) % 3 == 0)
            .map(|(_, damage)| damage)
            .collect();
        made += usize::from(tried(shape, make, &some));
    }
    assert!(made >= 19, "{made} shapes");
}
