//! Snapshots with names that a directory cannot have, or takes for one, when they come back to it or go to another one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::folding::{Rules, names};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// `café` in an encoding that is no UTF-8.
const LATIN: &[u8] = b"caf\xe9";
/// The same in UTF-8, with its last letter as one or as two.
const COMPOSED: &str = "caf\u{e9}";
const APART: &str = "cafe\u{301}";

/// A project on a file system whose rules change while it is mounted, as when it is copied to another volume.
fn project(rules: &Rules) -> Option<(Sandbox, PathBuf, Volume)> {
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    let volume = Volume::ruled(&disk, rules.clone())?;
    let project = disk.join("inside");
    fs::create_dir(&project).unwrap();
    Some((sandbox, project, volume))
}

fn remove(project: &Path, name: &[u8]) {
    fs::remove_file(project.join(OsStr::from_bytes(name))).unwrap();
}

#[test]
fn a_name_that_the_directory_refuses_is_a_conflict_and_the_rest_comes_back() {
    let rules = Rules::default();
    let Some((sandbox, project, _volume)) = project(&rules) else {
        return;
    };
    let mut inside = LATIN.to_vec();
    inside.extend(b"-dir/inside");
    Build::at(&project)
        .file(LATIN, "before\n")
        .file(&inside, "before\n")
        .file(COMPOSED, "before\n")
        .file("other", "before\n")
        .aged();
    let id = sandbox.session(&project, |project| {
        remove(project, LATIN);
        remove(project, COMPOSED.as_bytes());
        fs::remove_dir_all(project.join(OsStr::from_bytes(&inside[..8]))).unwrap();
        fs::write(project.join("other"), "agent\n").unwrap();
    });
    rules.refuses.store(true, Ordering::SeqCst);
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    plan.shows("caf\\xe9").shows("the file system takes no such name");
    let restored = sandbox.restore_in_part(&id, &[]);
    restored.touched(&[COMPOSED, "other"]);
    assert_eq!(names(&project), [COMPOSED, "other"]);
    assert_eq!(fs::read_to_string(project.join("other")).unwrap(), "before\n");
    sandbox.undo(&id);
    assert_eq!(names(&project), ["other"]);
}

#[test]
fn a_fork_is_not_made_where_a_name_is_refused() {
    let rules = Rules::default();
    let Some((sandbox, disk, _volume)) = project(&rules) else {
        return;
    };
    rules.refuses.store(true, Ordering::SeqCst);
    let source = sandbox.project("linux");
    Build::at(&source)
        .file("a/kept", "kept\n")
        .file([b"b/", LATIN].concat(), "latin\n")
        .aged();
    let id = sandbox.session(&source, |project| fs::remove_dir_all(project.join("a")).unwrap());
    let to = disk.join("fork");
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap()]).code(1);
    run.has("b/caf\\xe9");
    assert_eq!(names(&disk), [""; 0], "{run}");
    fs::create_dir(&to).unwrap();
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap()]).code(1);
    assert_eq!(names(&to), [""; 0], "{run}");
    let a = source.join("a");
    let one = [
        "restore",
        &id,
        "--to",
        to.to_str().unwrap(),
        "--yes",
        a.to_str().unwrap(),
    ];
    sandbox.jackin(one).ok();
    assert_eq!(fs::read_to_string(to.join("a/kept")).unwrap(), "kept\n");
}

#[test]
fn two_ways_to_compose_a_name_are_not_written_over_each_other() {
    let Some((sandbox, disk, _volume)) = project(&Rules::folding(true)) else {
        return;
    };
    let source = sandbox.project("linux");
    Build::at(&source)
        .file([b"dir/", COMPOSED.as_bytes()].concat(), "composed\n")
        .file([b"dir/", APART.as_bytes()].concat(), "apart\n")
        .file("kept", "kept\n")
        .aged();
    let id = sandbox.session(&source, |project| fs::remove_file(project.join("kept")).unwrap());
    let to = disk.join("fork");
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap()]).code(1);
    run.has("dir/cafe\\xcc\\x81")
        .has("dir/caf\\xc3\\xa9")
        .has("for one name");
    assert_eq!(names(&disk), [""; 0], "{run}");
}

#[test]
fn two_names_that_became_one_leave_the_tree_as_it_was() {
    let rules = Rules {
        exchanges: true,
        ..Rules::default()
    };
    let Some((sandbox, project, _volume)) = project(&rules) else {
        return;
    };
    Build::at(&project)
        .file(COMPOSED, "composed\n")
        .file(APART, "apart\n")
        .file("other", "before\n")
        .aged();
    let id = sandbox.session(&project, |project| {
        remove(project, COMPOSED.as_bytes());
        remove(project, APART.as_bytes());
        fs::write(project.join("other"), "agent\n").unwrap();
    });
    let damaged = Tree::read(&project);
    rules.folds.store(true, Ordering::SeqCst);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    run.shows("caf");
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.no_litter();
    let one = project.join(COMPOSED);
    sandbox.restore(&id, &[one.to_str().unwrap()]);
    assert_eq!(names(&project), [COMPOSED, "other"]);
}

#[test]
fn a_fork_where_names_are_those_of_fat_has_each_one_or_says_so() {
    let rules = Rules {
        fat: true,
        ..Rules::default()
    };
    let Some((sandbox, disk, _volume)) = project(&rules) else {
        return;
    };
    let fork = |name: &str, code: i32| {
        let source = sandbox.project(&format!("of-{}", name.trim_matches([':', '.'])));
        Build::at(&source)
            .file(format!("dir/{name}"), "content\n")
            .file("kept", "kept\n")
            .aged();
        let id = sandbox.session(&source, |project| fs::remove_file(project.join("kept")).unwrap());
        let to = disk.join("fork");
        sandbox.jackin(["fork", &id, to.to_str().unwrap()]).code(code)
    };
    let run = fork(":colon", 1);
    run.has("dir/:colon").has("Invalid argument");
    assert_eq!(names(&disk), [""; 0], "{run}");
    let run = fork("dots..", 6);
    run.has("dir/dots..").has("is kept under another name there");
    assert_eq!(names(&disk.join("fork/dir")), ["dots"]);
}
