//! Symbolic and hard links (scenarios 10, 13, 14).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

const SECRET: &str = "-----BEGIN MARKED PRIVATE KEY-----";

#[test]
fn s10_symlinks_come_back_with_their_targets() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("links");
    Build::at(&project)
        .file("target", "t\n")
        .file("other", "o\n")
        .file("dir/inside", "i\n")
        .symlink("deleted", "target")
        .symlink("retargeted", "target")
        .symlink("replaced", "target")
        .symlink("became-dir", "dir")
        .symlink("dangling", "no/such")
        .symlink("absolute", "/nonexistent/place")
        .symlink("untouched", "dir/../target")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "rm deleted dangling; ln -sfn other retargeted; rm replaced; echo file > replaced; \
         rm became-dir; mkdir became-dir; echo x > became-dir/x; ln -sfn /etc absolute",
    );
    sandbox.diff(&id, &["--no-renames"]).are(&[
        ("deleted", "deleted"),
        ("deleted", "dangling"),
        ("modified", "retargeted"),
        ("modified", "absolute"),
        ("type", "replaced"),
        ("type", "became-dir"),
        ("added", "became-dir/x"),
    ]);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(
        &before,
        &after,
        &[
            "deleted",
            "dangling",
            "retargeted",
            "absolute",
            "replaced",
            "became-dir",
        ],
    );
}

#[test]
fn s10_files_and_directories_replaced_by_links_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("replaced");
    let outside = sandbox.project("outside");
    Build::at(&outside)
        .file("a", "outside a\n")
        .file("b", "outside b\n")
        .aged();
    Build::at(&project)
        .file("file", "f\n")
        .file("dir/a", "a\n")
        .file("dir/sub/b", "b\n")
        .aged();
    let before = Tree::read(&project);
    let outside_before = Tree::read(&outside);

    let id = sandbox.launch(
        &project,
        "rm file; ln -s ../outside/a file; rm -r dir; ln -s ../outside dir",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&outside_before, &Tree::read(&outside));
}

#[test]
fn s13_planted_link_never_pulls_in_its_target() {
    let sandbox = Sandbox::new();
    let key = sandbox.home().join(".ssh/id_rsa");
    Build::at(&sandbox.home())
        .file(".ssh/id_rsa", format!("{SECRET}\n"))
        .mode(".ssh/id_rsa", 0o600);
    Build::at(&sandbox.home()).mode(".ssh", 0o700);
    let key_before = Tree::read(key.parent().unwrap());
    let project = sandbox.project("planted");
    Build::at(&project)
        .file("notes", "notes\n")
        .file("kept", "k\n")
        .symlink("old", key.to_str().unwrap())
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "ln -s ~/.ssh/id_rsa x; rm notes; ln -s ~/.ssh/id_rsa notes; ln -s ~/.ssh d",
    );
    let report = sandbox.scratch("report.html");
    let html = ["diff", &id, "--html", report.to_str().unwrap()];
    for args in [
        &["show", &id][..],
        &["diff", &id],
        &["diff", &id, "--patch"],
        &["diff", &id, "--patch", "--show-secrets"],
        &["diff", &id, "--json"],
        &["restore", &id, "--dry-run"],
        &["list"],
    ] {
        sandbox.jackin(args).ok().hides(SECRET);
    }
    if sandbox.jackin(html).exit() == Some(0) {
        assert!(!fs::read_to_string(report).unwrap().contains(SECRET));
    }
    sandbox
        .diff(&id, &[])
        .are(&[("added", "x"), ("added", "d"), ("type", "notes")]);
    sandbox.restore(&id, &[]).touched(&["d", "notes", "x"]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&key_before, &Tree::read(key.parent().unwrap()));
    assert_store_lacks(&sandbox, SECRET);
}

/// Insists that no file of the store, and no archive's content, holds `secret`.
#[track_caller]
fn assert_store_lacks(sandbox: &Sandbox, secret: &str) {
    let mut archives = 0;
    for entry in walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let mut bytes = fs::read(entry.path()).unwrap();
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "zst")
        {
            archives += 1;
            bytes = run_tool(Command::new("zstd").arg("-dcq").arg(entry.path()));
        }
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "the secret is in {}", entry.path().display());
    }
    assert!(archives > 0, "no archive was looked at");
}

#[test]
fn s14_hard_links_come_back_as_links() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hard");
    Build::at(&project)
        .file("edited-1", "edited through one name\n")
        .hard_link("edited-2", "edited-1")
        .file("broken-1", "one name becomes a copy\n")
        .hard_link("sub/broken-2", "broken-1")
        .file("gone-1", "all names go\n")
        .hard_link("gone-2", "gone-1")
        .hard_link("sub/gone-3", "gone-1")
        .file("half-1", "one name goes\n")
        .hard_link("half-2", "half-1")
        .file("single-1", "the same bytes, never linked\n")
        .file("single-2", "the same bytes, never linked\n")
        .file("kept-1", "kept\n")
        .hard_link("kept-2", "kept-1")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo more >> edited-1; cp broken-1 c; mv c broken-1; echo x >> broken-1; \
         rm gone-1 gone-2 sub/gone-3 half-2; rm single-2; ln single-1 single-2; ln kept-1 planted",
    );
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_eq!(after.at("edited-2").group.as_deref(), Some(&b"edited-1"[..]));
    assert_eq!(before.at("kept-1").times.inode, after.at("kept-1").times.inode);
    assert_eq!(
        fs::metadata(project.join("kept-1")).unwrap().nlink(),
        2,
        "the planted name is gone"
    );
}

#[test]
fn s14_name_outside_the_mount_keeps_its_bytes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shared");
    let outside = sandbox.project("outside");
    Build::at(&project).file("inside", "first\n");
    Build::at(&sandbox.sources()).hard_link("outside/name", "shared/inside");
    Build::at(&project).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "echo second > inside");
    let outside_then = Tree::read(&outside);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    let outside_now = Tree::read(&outside);
    assert_eq!(
        outside_now.at("name").kind,
        outside_then.at("name").kind,
        "what lies outside is not ours to change"
    );
    assert!(matches!(&outside_now.at("name").kind, Kind::File(content) if content.size == 7));
}
