//! Names that break tools are captured, shown safely, restored and deleted exactly (scenario 15).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree};
use crate::support::documents::instances;
use crate::support::machine::run_tool;
use crate::support::nasty;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s15_names_deleted_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("names");
    nasty::named(&project);
    Build::at(&project).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "find . -mindepth 1 -delete");
    assert_eq!(Tree::read(&project).paths().count(), 0);
    let changes = sandbox.diff(&id, &["--no-renames"]);
    assert!(
        changes.all.iter().all(|change| change.what == "deleted"),
        "{}",
        changes.shown
    );
    assert_eq!(
        changes.touched(),
        before.paths().map(<[u8]>::to_vec).collect::<Vec<_>>()
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s15_names_planted_are_deleted_exactly() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("planted");
    // Neighbors that a name taken for a pattern, an option or a lossy string would hit.
    Build::at(&project)
        .file("rf", "x")
        .file("top", "x")
        .file("trailing", "x")
        .file("a-z", "x")
        .file("m", "x")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.session(&project, nasty::named);
    let planted: BTreeSet<Vec<u8>> = Tree::read(&project).paths().map(<[u8]>::to_vec).collect();
    let restored = sandbox.restore(&id, &[]);
    let old: BTreeSet<Vec<u8>> = before.paths().map(<[u8]>::to_vec).collect();
    restored.touched(&planted.difference(&old).collect::<Vec<_>>());
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &restored.applied);
}

#[test]
fn s15_names_edited_come_back_and_are_shown_safely() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("edited");
    nasty::named(&project);
    Build::at(&project).aged();
    let before = Tree::read(&project);

    let id = sandbox.session(&project, |project| {
        for name in nasty::names() {
            fs::write(project.join(OsStr::from_bytes(&name)), "overwritten").unwrap();
        }
    });
    for args in [
        &["diff", &id][..],
        &["diff", &id, "--stat"],
        &["diff", &id, "--name-status"],
        &["diff", &id, "--patch"],
    ] {
        let run = sandbox.jackin(args).ok().harmless().shows("café.txt");
        // One line a path, whatever the name holds: a name cannot forge a second entry. (A patch shows contents too.)
        let forged = run.text().lines().any(|line| line.trim() == "line");
        assert!(!forged || args.contains(&"--patch"), "{run}");
    }
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .code_in(&[0])
        .harmless();
    sandbox.restore(&id, &[]).touched(&nasty::names());
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s15_one_named_path_is_restored_and_no_other() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("one");
    nasty::named(&project);
    Build::at(&project).aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "find . -type f -delete");

    for name in [
        &b"*"[..],
        b"-rf",
        b":(top)x",
        b"new\nline",
        b"trailing ",
        b"invalid-\xff\xfe-utf8",
        b"!important",
    ] {
        let path = project.join(OsStr::from_bytes(name));
        let mut args: Vec<&OsStr> = ["restore", &id, "--yes", "--"].map(OsStr::new).to_vec();
        args.push(path.as_os_str());
        sandbox.jackin(&args).ok();
        assert!(path.is_file(), "{}", path.display());
    }
    let after = Tree::read(&project);
    assert_eq!(
        after
            .paths()
            .filter(|path| !path.contains(&b'/') && project.join(OsStr::from_bytes(path)).is_file())
            .count(),
        7
    );
    assert_eq!(before.at("*").kind, after.at("*").kind);
}

#[test]
fn s15_very_deep_path_comes_back_or_is_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("deep");
    // Longer than PATH_MAX as a whole: no single call can name the bottom from the root.
    let part = "d".repeat(250);
    let mut place = fs::File::open(&project).unwrap();
    for _ in 0..20 {
        mkdirat(&place, &part, Mode::RWXU).unwrap();
        place = openat(&place, &part, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .unwrap()
            .into();
    }
    mkdirat(&place, "bottom", Mode::RWXU).unwrap();
    drop(place);
    let listing = || run_tool(Command::new("find").arg(".").current_dir(&project));
    let before = listing();
    assert!(before.split(|byte| *byte == b'\n').any(|line| line.len() > 4096));

    let id = sandbox.launch(&project, "rm -rf d*");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let complete = instances(&run)[0].snapshot("baseline").complete;
    sandbox.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    assert!(
        !complete || before == listing(),
        "captured is restored; what is not captured is a gap\n{run}"
    );
}
