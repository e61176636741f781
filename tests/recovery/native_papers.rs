//! What is written down of snapshots of file systems, and who may act on it: records that are lost, stores that were copied, disks that are
//! elsewhere, sessions that nobody knows of.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::native::Btrfs;
use crate::native_behind::{launch, nothing_frozen, only};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::kill::fill;
use crate::support::machine::{has_points, run_tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A launch that died when its mount was frozen, and how that was.
fn killed(sandbox: &Sandbox, btrfs: &Btrfs) -> Tree {
    fill(&btrfs.project, 30);
    let before = Tree::read(&btrfs.project);
    let dying = launch(sandbox, &btrfs.project, "true").with("JACKIN_RECOVERY_FAIL_AT", "frozen");
    dying.run();
    assert_eq!(btrfs.others().len(), 1);
    before
}

fn holder(btrfs: &Btrfs) -> PathBuf {
    let all = fs::read_dir(&btrfs.disk)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let mut held = all.filter(|path| path.to_string_lossy().ends_with("-frozen"));
    held.next().unwrap()
}

/// Its record may be put back, and needs what it was made of.
#[test]
fn a_kept_snapshot_whose_record_is_lost_stays() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    sandbox.configure("config.toml", "[recovery]\nnative = \"require\"\n");
    fill(&btrfs.project, 30);
    let before = Tree::read(&btrfs.project);
    launch(&sandbox, &btrfs.project, "rm -r many").run().ok();
    let instance = only(&sandbox);
    let record = sandbox
        .store()
        .join(format!("snapshots/{}.json", instance.snapshot("baseline").id));
    let aside = sandbox.scratch("record");
    fs::rename(&record, &aside).unwrap();
    for words in [["prune", "--yes"], ["pin", &instance.id], ["prune", "--yes"]] {
        let run = sandbox.jackin(words).code_in(&[0, 5, 7]);
        assert!(!run.text().contains("is not stored yet"), "{run}");
        assert_eq!(btrfs.others().len(), 2, "{run}");
    }
    fs::rename(&aside, &record).unwrap();
    sandbox.jackin(["restore", &instance.id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&btrfs.project));
}

/// What a copy of a store finds written down is the other one's.
#[test]
fn a_store_that_was_copied_removes_nothing_of_the_first_one() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let before = killed(&sandbox, &btrfs);
    let copy = sandbox.scratch("copied");
    let home = sandbox.home().join(".jackin");
    run_tool(Command::new("cp").arg("-a").arg(&home).arg(&copy));
    let id = only(&sandbox).id;
    let command = sandbox.command(["pin", &id]).with("JACKIN_HOME_DIR", &copy);
    command.run().ok().has("it was written in the store");
    assert_eq!(btrfs.others().len(), 1);
    sandbox.jackin(["pin", &id]).ok().has("is stored now");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&btrfs.project));
    nothing_frozen(&sandbox, &btrfs, "stored by its own store");
}

/// What cannot be seen is not gone: its disk may be elsewhere.
#[test]
fn a_baseline_whose_snapshot_cannot_be_seen_waits_for_it() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let before = killed(&sandbox, &btrfs);
    let (held, aside) = (holder(&btrfs), btrfs.disk.join("elsewhere"));
    fs::rename(&held, &aside).unwrap();
    let id = only(&sandbox).id;
    for words in [["pin", &id], ["prune", "--yes"]] {
        sandbox.jackin(words).ok().has("cannot be taken up");
    }
    fs::rename(&aside, &held).unwrap();
    sandbox.jackin(["pin", &id]).ok().has("is stored now");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&btrfs.project));
    nothing_frozen(&sandbox, &btrfs, "seen again");
}

/// Nobody heard of its session, so nobody would ever end it.
#[test]
fn a_begin_that_died_when_its_mount_was_frozen_leaves_no_session() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    Build::at(&btrfs.project).file("a", "a\n");
    let target = btrfs.project.to_str().unwrap();
    let begin = sandbox.command(["begin", "--snapshot", "project", target]);
    begin.with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    assert_eq!(btrfs.others().len(), 1);
    let id = sandbox.launch(&btrfs.project, "echo agent >a");
    nothing_frozen(&sandbox, &btrfs, "removed");
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read_to_string(btrfs.project.join("a")).unwrap(), "a\n");
}

/// A tool call of an agent does not wait until a baseline is stored, and what nobody needs goes all the same.
#[test]
fn a_verb_inside_a_session_removes_and_stores_nothing() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let before = killed(&sandbox, &btrfs);
    let lost = only(&sandbox).id;
    let other = sandbox.project("other");
    Build::at(&other).file("b", "b\n");
    let script = |command: &str| {
        let program = crate::support::machine::binary();
        let words = [
            "launch",
            "--snapshot",
            "project",
            other.to_str().unwrap(),
            "--",
            "sh",
            "-c",
        ];
        let script = format!("echo more >>b; {} recovery {command}", program.display());
        let run = sandbox
            .command(words.into_iter().chain([script.as_str()]))
            .inside(&other);
        run.run().ok()
    };
    // A limit that its baseline goes beyond, so that nothing outside stores it either.
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 20\n");
    script("checkpoint --name one").has("cannot be stored");
    assert_eq!(btrfs.others().len(), 1);
    sandbox.configure("config.toml", "");
    let papers = sandbox.store().join("native");
    let name = fs::read_dir(&papers).unwrap().flatten().next().unwrap().path();
    // What was frozen and never was all of it is nobody's.
    let made = name.join("made");
    let aside = sandbox.scratch("made");
    fs::rename(&made, &aside).unwrap();
    let inside = sandbox.command(["list"]).with("JACKIN_RECOVERY_INSTANCE", &lost);
    inside.run().ok();
    assert_eq!(btrfs.others().len(), 1, "a reader removes nothing");
    fs::rename(&aside, &made).unwrap();
    sandbox.jackin(["pin", &lost]).ok().has("is stored now");
    sandbox.restore(&lost, &[]);
    assert_same_tree(&before, &Tree::read(&btrfs.project));
    // A checkpoint that died is removed by the next one of an agent.
    let id = String::from_utf8_lossy(
        &sandbox
            .jackin(["begin", "--snapshot", "project", btrfs.project.to_str().unwrap()])
            .ok()
            .stdout,
    )
    .trim()
    .to_owned();
    let checkpoint = |name: &str| sandbox.command(["checkpoint", &id, "--name", name]);
    checkpoint("one").with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    assert_eq!(btrfs.others().len(), 1);
    checkpoint("two").with("JACKIN_RECOVERY_INSTANCE", &id).run().ok();
    nothing_frozen(&sandbox, &btrfs, "removed inside");
    sandbox.jackin(["end", &id]).ok();
}
