//! A root that was where a disk is mounted, and the disk is not mounted now, or another one is: what is on it was not deleted, and what
//! lies below the mount point is none of the session's business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::compare::assert_untouched;
use crate::support::documents::instances;
use crate::support::machine::run_tool;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::{Volume, unmount};

const BOTH: [&str; 3] = ["--yes", "--overwrite-later-edits", "--delete-later-files"];

/// A root with something below the mount point.
fn point(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project("disk");
    fs::write(project.join("under"), "mine\n").unwrap();
    project
}

/// Insists that the one session has no snapshot but its baseline.
fn only_baseline(sandbox: &Sandbox) {
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    let kinds: Vec<&str> = all[0].snapshots.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["baseline"], "{run}");
}

fn restore(sandbox: &Sandbox, id: &str) -> Run {
    sandbox.jackin([&["restore", id][..], &BOTH].concat())
}

#[test]
fn a_disk_that_is_not_mounted_is_no_deletion_and_nothing_is_restored_below_it() {
    let sandbox = Sandbox::new();
    let project = point(&sandbox);
    let Some(disk) = Volume::tmpfs(&project) else {
        return;
    };
    fs::write(project.join("f1"), "disk\n").unwrap();
    fs::write(project.join("f2"), "disk\n").unwrap();
    let id = sandbox.session(&project, |project| fs::remove_file(project.join("f1")).unwrap());
    drop(disk);
    let below = Tree::read(&project);
    restore(&sandbox, &id)
        .refused()
        .has("nothing is mounted at")
        .has("mount the file systems as they were");
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .refused()
        .has("nothing is mounted at");
    sandbox
        .jackin(["diff", &id, "--now"])
        .refused()
        .has("nothing is mounted at");
    assert_untouched(&below, &Tree::read(&project));
    // What the session did is known all the same.
    sandbox.diff(&id, &[]).are(&[("deleted", "f1")]);
    sandbox
        .jackin(["diff", &id])
        .ok()
        .shows("cannot find later edits")
        .hides("changed since the session ended");
}

#[test]
fn an_end_without_the_disk_records_no_deletion() {
    let sandbox = Sandbox::new();
    let project = point(&sandbox);
    let Some(disk) = Volume::image(&project, "ext4", 32 << 20, &["mkfs.ext4", "-q"]) else {
        return;
    };
    fs::write(project.join("f1"), "disk\n").unwrap();
    let id = sandbox.begin(sandbox.target(&project));
    unmount(&project);
    sandbox
        .jackin(["checkpoint", &id])
        .refused()
        .has("nothing is mounted at");
    let ended = sandbox.jackin(["end", &id]);
    ended.has("nothing is mounted at");
    assert!(!ended.text().contains("deleted"), "{ended}");
    only_baseline(&sandbox);
    // Once it is mounted again all is as ever.
    let image = project.with_extension("image");
    run_tool(
        Command::new("mount")
            .args(["-o", "loop"])
            .arg(&image)
            .arg(&project),
    );
    fs::remove_file(project.join("f1")).unwrap();
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("f1")).unwrap(), "disk\n");
    drop(disk);
}

#[test]
fn a_late_closing_snapshot_without_the_disk_records_no_deletion() {
    let sandbox = Sandbox::new();
    let project = point(&sandbox);
    let Some(disk) = Volume::tmpfs(&project) else {
        return;
    };
    fs::write(project.join("f1"), "disk\n").unwrap();
    let keeper = Command::new("sleep").arg("600").spawn();
    let mut keeper = keeper.unwrap();
    let pid = keeper.id().to_string();
    let target = sandbox.target(&project);
    let begun = sandbox
        .jackin(["begin", "--pid", &pid, "--snapshot", "project", &target])
        .ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    drop(disk);
    sandbox
        .jackin(["diff", &id])
        .refused()
        .has("nothing is mounted at");
    only_baseline(&sandbox);
}

#[test]
fn another_disk_in_its_place_is_refused() {
    type Make<'a> = &'a dyn Fn(&PathBuf) -> Option<Volume>;
    let made: [Make<'_>; 4] = [
        &|at| Volume::tmpfs(at),
        &|at| Volume::image(at, "ext4", 32 << 20, &["mkfs.ext4", "-q"]),
        &|at| Volume::image(at, "xfs", 320 << 20, &["mkfs.xfs", "-q"]),
        &|at| Volume::image(at, "btrfs", 128 << 20, &["mkfs.btrfs", "-q"]),
    ];
    let by_root =
        crate::support::machine::is_portable("ext4 and btrfs: file systems have no numbers of their own");
    for make in made.into_iter().step_by(if by_root { 2 } else { 1 }) {
        let sandbox = Sandbox::new();
        let project = point(&sandbox);
        let Some(disk) = make(&project) else { continue };
        fs::write(project.join("f1"), "disk\n").unwrap();
        let id = sandbox.session(&project, |project| fs::remove_file(project.join("f1")).unwrap());
        drop(disk);
        let Some(_other) = make(&project) else { continue };
        fs::write(project.join("theirs"), "another disk\n").unwrap();
        let there = Tree::read(&project);
        restore(&sandbox, &id)
            .refused()
            .has("another file system is mounted at");
        sandbox
            .jackin(["diff", &id, "--now"])
            .refused()
            .has("another file system is mounted at");
        assert_untouched(&there, &Tree::read(&project));
    }
}

#[test]
fn the_same_disk_mounted_again_is_the_same_disk() {
    let kinds: [(&str, u64, &[&str]); 3] = [
        ("ext4", 32 << 20, &["mkfs.ext4", "-q"]),
        ("xfs", 320 << 20, &["mkfs.xfs", "-q"]),
        ("btrfs", 128 << 20, &["mkfs.btrfs", "-q"]),
    ];
    for (kind, bytes, make) in kinds {
        let sandbox = Sandbox::new();
        let project = point(&sandbox);
        let Some(disk) = Volume::image(&project, kind, bytes, make) else {
            continue;
        };
        fs::write(project.join("f1"), "disk\n").unwrap();
        let id = sandbox.session(&project, |project| fs::remove_file(project.join("f1")).unwrap());
        // Another loop device: the number of the device is another one.
        let other = sandbox.scratch("taken");
        fs::create_dir_all(&other).unwrap();
        let taken = Volume::image(&other, "ext4", 8 << 20, &["mkfs.ext4", "-q"]);
        disk.offline(|_| {});
        sandbox.diff(&id, &[]).are(&[("deleted", "f1")]);
        sandbox.restore(&id, &[]);
        assert_eq!(
            fs::read_to_string(project.join("f1")).unwrap(),
            "disk\n",
            "{kind}"
        );
        disk.offline(|_| {});
        sandbox.undo(&id);
        assert!(!project.join("f1").exists(), "{kind}");
        drop(taken);
    }
}

#[test]
fn a_memory_file_system_that_is_mounted_elsewhere_meanwhile_is_the_same() {
    let sandbox = Sandbox::new();
    let project = point(&sandbox);
    let Some(_disk) = Volume::tmpfs(&project) else {
        return;
    };
    fs::write(project.join("f1"), "disk\n").unwrap();
    let id = sandbox.session(&project, |project| fs::remove_file(project.join("f1")).unwrap());
    let aside = sandbox.scratch("aside");
    fs::create_dir_all(&aside).unwrap();
    let bind = |from: &PathBuf, to: &PathBuf| run_tool(Command::new("mount").arg("--bind").arg(from).arg(to));
    bind(&project, &aside);
    unmount(&project);
    bind(&aside, &project);
    unmount(&aside);
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read_to_string(project.join("f1")).unwrap(), "disk\n");
}

/// A quiet session of a directory in which `script` ran.
fn quietly(sandbox: &Sandbox, project: &Path, script: &str) -> Run {
    let launch = [
        "launch",
        "-q",
        "--snapshot",
        "project",
        ".",
        "--",
        "sh",
        "-c",
        script,
    ];
    sandbox.command(launch).inside(project).run().ok()
}

#[test]
fn what_a_closing_snapshot_could_not_see_is_not_said_to_have_none() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("away");
    fs::write(project.join("a"), "a\n").unwrap();
    let aside = project.with_file_name("aside");
    let script = format!("echo x >> a; mv {0} {1}", project.display(), aside.display());
    quietly(&sandbox, &project, &script);
    fs::rename(&aside, &project).unwrap();
    let run = sandbox
        .jackin(["restore", &sandbox.newest(), "--dry-run"])
        .code(6);
    run.has("a: not in the closing snapshot; this may be a later edit");
}

#[test]
fn a_quiet_launch_tells_its_result_as_a_whole() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("replaced");
    let script = format!("mv {0} {0}-away; ln -s nowhere {0}", project.display());
    let run = quietly(&sandbox, &project, &script);
    let said = run.said();
    let words: Vec<&str> = said.split_whitespace().collect();
    let told = words.join(" ");
    assert!(told.contains("compares with the current files"), "{run}");
}
