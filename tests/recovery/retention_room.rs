//! A disk that is nearly full: a session pays for what it stored itself, never another workspace, and nothing goes in vain.

use std::fs;
use std::path::{Path, PathBuf};

use crate::retention::{is_whole, rules};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// The ids of all snapshots that are listed of sessions about this directory.
fn snapshots(sandbox: &Sandbox, project: &Path) -> Vec<String> {
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    let root = project.to_str().unwrap();
    let sessions = listed["instances"].as_array().unwrap().iter();
    sessions
        .filter(|session| session["mounts"][0] == root)
        .flat_map(|session| session["snapshots"].as_array().unwrap())
        .map(|snapshot| snapshot["id"].as_str().unwrap().to_owned())
        .collect()
}

fn launch(sandbox: &Sandbox, project: &Path, script: &str) -> Run {
    let target = project.to_str().unwrap();
    let words = [
        "launch",
        "--snapshot",
        "project",
        "--exclude",
        "out/",
        target,
        "--",
        "sh",
        "-c",
        script,
    ];
    sandbox.command(words).inside(project).run()
}

/// Four sessions of a workspace, each with a change, and the tree before the first.
fn history(sandbox: &Sandbox, project: &Path) -> Tree {
    Build::at(project).file("a", "before\n").aged();
    let before = Tree::read(project);
    for number in 0..4 {
        launch(sandbox, project, &format!("echo {number} > a")).ok();
    }
    before
}

#[test]
fn an_agent_that_fills_the_disk_deletes_no_history() {
    // Into its mount, into an excluded directory of it, and beside it.
    for place in [".", "out", "../beside"] {
        let sandbox = Sandbox::new();
        let Some(_volume) = Volume::tmpfs_of(&sandbox.home(), "size=60m") else {
            return;
        };
        let (old, filled) = (sandbox.project("old"), sandbox.project("filled"));
        history(&sandbox, &old);
        history(&sandbox, &filled);
        let kept = [snapshots(&sandbox, &old), snapshots(&sandbox, &filled)];
        // Zeros take no room in the store, and all of it on the disk.
        let script = format!(
            "mkdir -p {place}; head -c 1M /dev/zero > {place}/spare; cat /dev/zero > {place}/zeros 2>/dev/null; rm {place}/spare; true"
        );
        let run = launch(&sandbox, &filled, &script).ok();
        assert!(!run.said().contains("larger than"), "{place}: {run}");
        assert!(!run.said().contains("deleted 1"), "{place}: {run}");
        let run = run.shows("min_free").shows("free on the disk");
        assert_eq!(snapshots(&sandbox, &old), kept[0], "{place}: {run}");
        let now = snapshots(&sandbox, &filled);
        assert!(kept[1].iter().all(|id| now.contains(id)), "{place}: {run}");
        let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
        assert_eq!(planned["snapshots"].as_array().unwrap().len(), 0, "{planned}");
        assert_eq!(planned["lacking"], 0, "{planned}");
        assert!(planned["shortage"]["missing"].as_u64().unwrap() > 0, "{planned}");
        // Nothing goes when somebody asks, either, for it would not help.
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(snapshots(&sandbox, &old), kept[0], "{place}");
        fs::remove_file(filled.join(place).join("zeros")).unwrap();
        is_whole(&sandbox);
    }
}

#[test]
fn a_session_makes_room_for_what_it_stored_from_its_own_workspace() {
    let sandbox = Sandbox::new();
    let jackin = sandbox.home().join(".jackin");
    fs::create_dir_all(&jackin).unwrap();
    let Some(_volume) = Volume::tmpfs_of(&jackin, "size=100m,mode=0700") else {
        return;
    };
    let (old, large) = (sandbox.project("old"), sandbox.project("large"));
    let before = history(&sandbox, &old);
    let kept = snapshots(&sandbox, &old);
    Build::at(&large).big("big", 15 << 20).aged();
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(launch(&sandbox, &large, "head -c 15M /dev/urandom > big").ok());
    }
    let told: Vec<&Run> = runs
        .iter()
        .filter(|run| run.said().contains("The retention policy deleted"))
        .collect();
    let last = told.last().unwrap_or_else(|| panic!("nothing went: {}", runs[5]));
    assert!(last.said().contains("too little room is free"), "{last}");
    assert!(last.said().contains("MiB are free again"), "{last}");
    assert_eq!(snapshots(&sandbox, &old), kept, "{last}");
    let sessions = instances(&sandbox.jackin(["list", "--json"]).ok());
    let first = sessions.iter().find(|session| !session.snapshots.is_empty());
    assert_eq!(first.unwrap().snapshots.len(), 2);
    let oldest = sessions.iter().rev().find(|session| session.id.ends_with("-old"));
    sandbox.restore(&oldest.unwrap().id, &["--overwrite-later-edits"]);
    assert_same_tree(&before, &Tree::read(&old));
    is_whole(&sandbox);
}

#[test]
fn the_rules_of_number_and_size_delete_of_the_own_workspace_alone() {
    for rule in ["instances = 1", "max_bytes = 1", "checkpoints = 1\ninstances = 1"] {
        let sandbox = Sandbox::new();
        let (old, own): (PathBuf, PathBuf) = (sandbox.project("old"), sandbox.project("own"));
        history(&sandbox, &old);
        history(&sandbox, &own);
        let kept = snapshots(&sandbox, &old);
        assert_eq!(kept.len(), 8);
        rules(&sandbox, rule);
        let run = launch(&sandbox, &own, "echo last > a").ok();
        assert_eq!(snapshots(&sandbox, &old), kept, "{rule}: {run}");
        assert_eq!(snapshots(&sandbox, &own).len(), 2, "{rule}: {run}");
        let run = run.shows("The retention policy deleted 2 snapshots of rc-");
        assert!(run.said().contains("-own"), "{rule}: {run}");
        // Whoever asks gets all of it.
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(snapshots(&sandbox, &old).len(), 2, "{rule}");
        is_whole(&sandbox);
    }
}
