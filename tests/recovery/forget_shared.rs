//! Archives that only a receipt of `forget` names: two sessions had the same manifest, and one of them lost a path. No record has
//! their names, and its snapshots need them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::retention::{is_whole, rules};
use crate::support::build::noise;
use crate::support::sandbox::Sandbox;

/// Two sessions that see the same files, so that the manifests of one are those of the other.
fn same_twice(sandbox: &Sandbox) -> (PathBuf, [String; 2]) {
    let project = sandbox.project("shop");
    fs::write(project.join("kept"), "kept\n").unwrap();
    fs::write(project.join("secret"), "sk-live-of-the-shop\n").unwrap();
    let sessions = [(); 2].map(|()| sandbox.launch(&project, "true"));
    (project, sessions)
}

fn forget(sandbox: &Sandbox, project: &Path, session: &str) {
    let words = ["forget", session, "--path", "secret", "--yes"];
    sandbox.command(words).inside(project).run().ok();
    assert_eq!(unnamed(sandbox).len(), 1, "its archive is named by no record");
}

/// The archives whose names are in no record.
fn unnamed(sandbox: &Sandbox) -> Vec<PathBuf> {
    let files = |name: &str| fs::read_dir(sandbox.store().join(name)).unwrap();
    let records = files("snapshots").map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let records = records.collect::<String>();
    let archives = files("archives").map(|entry| entry.unwrap().path());
    archives
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let id = name.strip_suffix(".tar.zst");
            id.is_some_and(|id| !records.contains(&format!("\"{id}\"")))
        })
        .collect()
}

#[test]
fn what_replaces_such_an_archive_stays_when_the_repack_ends() {
    let sandbox = Sandbox::new();
    let other = sandbox.project("other");
    fs::write(other.join("small"), noise("small", 300_000)).unwrap();
    fs::write(other.join("large"), noise("large", 2_000_000)).unwrap();
    sandbox.launch(&other, "rm small");
    let (project, [first, second]) = same_twice(&sandbox);
    sandbox.jackin(["pin", &first]).ok();
    rules(&sandbox, "instances = 1");
    sandbox.launch(&other, "true");
    forget(&sandbox, &project, &second);
    is_whole(&sandbox);
    let before = unnamed(&sandbox);
    // Without the session that has it most of the archive is dead, and the automatic prune repacks it.
    fs::remove_file(other.join("large")).unwrap();
    fs::write(other.join("new"), "new\n").unwrap();
    sandbox.launch(&other, "true");
    assert!(!before[0].exists(), "it was not repacked");
    is_whole(&sandbox);
    sandbox.jackin(["doctor"]).ok();
    fs::write(project.join("kept"), "damaged\n").unwrap();
    let words = ["restore", &second, "--yes", "--overwrite-later-edits"];
    sandbox.jackin(words).ok();
    assert_eq!(fs::read_to_string(project.join("kept")).unwrap(), "kept\n");
}

#[test]
fn doctor_does_not_take_it_for_left_over_and_misses_it_when_it_is_gone() {
    let sandbox = Sandbox::new();
    let (project, [first, _]) = same_twice(&sandbox);
    forget(&sandbox, &project, &first);
    sandbox
        .jackin(["doctor"])
        .ok()
        .shows("each where it belongs")
        .hides("no record names");
    let archive = unnamed(&sandbox).remove(0);
    let name = archive.file_name().unwrap().to_str().unwrap();
    let id = name.strip_suffix(".tar.zst").unwrap();
    fs::remove_file(&archive).unwrap();
    sandbox
        .jackin(["doctor"])
        .code(7)
        .shows(&format!("archive {id} is missing or has another size"));
}
