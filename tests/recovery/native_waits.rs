//! Launches whose baseline is still being stored: signals, checkpoints, and several mounts in one snapshot of the file system.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, kill_process};

use crate::native::Btrfs;
use crate::native_behind::{large, launch, nothing_frozen, only};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::kill::fill;
use crate::support::sandbox::Sandbox;
use crate::support::stop::{catches, interrupt};
use crate::support::tree::Tree;

/// Ctrl-C gives up what is waited for, and not the closing snapshot that follows.
#[test]
fn interrupted_while_its_baseline_is_stored_a_session_is_closed_all_the_same() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let done = sandbox.scratch("done");
    let script = format!("echo agent >mode; touch {}", done.display());
    let running = launch(&sandbox, project, &script).start();
    let pid = running.child.id();
    while !done.exists() || !catches(pid, interrupt()) {
        std::thread::sleep(Duration::from_millis(2));
    }
    // The command has to be collected first: until then the signal is its own.
    std::thread::sleep(Duration::from_millis(80));
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    kill_process(raw, interrupt()).unwrap();
    let run = running.finish().ok();
    run.has("its baseline is still being stored")
        .has("the baseline is not stored")
        .has("its baseline is not stored yet");
    let instance = only(&sandbox);
    assert_eq!(instance.status, "ended", "{run}");
    assert!(instance.snapshot("closing").complete, "{run}");
    sandbox.jackin(["pin", &instance.id]).ok().has("is stored now");
    nothing_frozen(&sandbox, &btrfs, "stored late");
    sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn checkpoints_by_the_clock_come_behind_a_baseline_that_takes_longer() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    large(project);
    let before = Tree::read(project);
    let target = project.to_str().unwrap();
    let script = "for n in 1 2 3 4 5 6 7 8; do echo $n >mode; sleep 1; done";
    let words = [
        "launch",
        "--snapshot",
        "project",
        "--checkpoint-every",
        "1s",
        target,
        "--",
        "sh",
        "-c",
        script,
    ];
    let run = sandbox.command(words).inside(project).run().ok();
    let instance = only(&sandbox);
    let kinds: Vec<&str> = instance.snapshots.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"closing"), "{run}");
    assert_eq!(kinds.last(), Some(&"baseline"), "{run}");
    assert!(kinds.contains(&"checkpoint"), "{run}");
    nothing_frozen(&sandbox, &btrfs, "checkpoints");
    sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(project));
}

#[test]
fn two_mounts_in_one_subvolume_share_a_snapshot() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let [one, two] = ["one", "two"].map(|name| btrfs.project.join(name));
    for mount in [&one, &two] {
        fs::create_dir(mount).unwrap();
        fill(mount, 40);
    }
    Build::at(&btrfs.project).file("beside", "not covered\n");
    let text = format!(
        "[[mounts]]\nsrc = {one:?}\ndst = \"/one\"\n[[mounts]]\nsrc = {two:?}\ndst = \"/two\"\n[recovery]\nsnapshot = \"project\"\n"
    );
    sandbox.configure("workspaces/both.toml", &text);
    let before = [&one, &two].map(|mount| Tree::read(mount));
    let script = format!(
        "ls {disk} -A | grep frozen | wc -l >{seen}; btrfs subvolume list {disk} | wc -l >>{seen}; rm -r {one}/many {two}/big; echo x >{two}/mode",
        disk = btrfs.disk.display(),
        seen = sandbox.scratch("seen").display(),
        one = one.display(),
        two = two.display(),
    );
    let run = sandbox
        .command(["launch", "both", "--", "sh", "-c", &script])
        .run()
        .ok();
    let seen = fs::read_to_string(sandbox.scratch("seen")).unwrap();
    assert!(
        ["0\n2\n", "1\n2\n", "0\n1\n"].contains(&seen.as_str()),
        "{seen} {run}"
    );
    nothing_frozen(&sandbox, &btrfs, "two mounts");
    sandbox.restore(&only(&sandbox).id, &[]);
    let after = [&one, &two].map(|mount| Tree::read(mount));
    for (before, after) in before.iter().zip(&after) {
        assert_same_tree(before, after);
    }
}
