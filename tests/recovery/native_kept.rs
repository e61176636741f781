//! Snapshots of file systems that keep the contents themselves, what is written down of them, and who may act on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::native::{Btrfs, subvolume};
use crate::native_behind::{launch, nothing_frozen, only};
use crate::replicas::{PLACE, RECIPIENT, own_key, signed};
use crate::support::bucket::Bucket;
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::kill::{Dice, fill};
use crate::support::machine::{has_points, is_portable, run_tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

fn configure(sandbox: &Sandbox, text: &str) {
    let config = sandbox.home().join(".config/jackin");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), text).unwrap();
}

/// Bytes that nothing compresses.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    (0..bytes)
        .map(|_| u8::try_from(dice.below(256)).unwrap())
        .collect()
}

fn archived(sandbox: &Sandbox) -> u64 {
    let all = fs::read_dir(sandbox.store().join("archives")).unwrap().flatten();
    all.map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn required_snapshots_keep_the_contents_and_everything_comes_back() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    configure(
        &sandbox,
        "[recovery]\nnative = \"require\"\n[recovery.retention]\ninstances = 1\n",
    );
    crate::file_systems::build(project);
    Build::at(project).file("noise", noise(1, 300_000)).aged();
    let before = Tree::read(project);
    let id = sandbox.launch(
        project,
        "rm noise; echo agent >edited; rm -r dir; head -c 200000 /dev/urandom >new",
    );
    let damaged = Tree::read(project);
    assert!(archived(&sandbox) < 100_000, "contents are in archives");
    assert_eq!(btrfs.others().len(), 2, "baseline and closing");
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    assert_eq!(listed["instances"][0]["native"].as_array().unwrap().len(), 2);
    sandbox
        .jackin(["show", &id])
        .ok()
        .has("kept by the file system in");
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["doctor"]).ok();
    sandbox.jackin(["diff", &id, "--patch"]).ok().has("+agent");
    let run = sandbox.jackin(["restore", &id, "--yes", "-v"]).ok();
    run.has("shares its blocks");
    assert_same_tree(&before, &Tree::read(project));
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_same_tree(&damaged, &Tree::read(project));
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(project));
    let to = sandbox.scratch("to");
    sandbox
        .jackin(["restore", &id, "--yes", "--to", to.to_str().unwrap()])
        .ok();
    assert_eq!(fs::read(to.join("noise")).unwrap(), noise(1, 300_000));

    // What is exported needs no file system.
    let file = sandbox.scratch("export");
    sandbox.jackin(["export", &id, file.to_str().unwrap()]).ok();
    let other = Sandbox::new();
    other.jackin(["import", file.to_str().unwrap(), "--yes"]).ok();
    let there = other.scratch("there");
    other
        .jackin([
            "restore",
            &other.newest(),
            "--from",
            "baseline",
            "--yes",
            "--to",
            there.to_str().unwrap(),
        ])
        .ok();
    assert_eq!(fs::read(there.join("noise")).unwrap(), noise(1, 300_000));

    // A session without them relies on none of them.
    configure(
        &sandbox,
        "[recovery]\nnative = \"auto\"\n[recovery.retention]\ninstances = 1\n",
    );
    let second = sandbox.launch(project, "rm noise");
    assert!(archived(&sandbox) > 300_000);
    // By the rules the first session went, but for what takes its last restore back, and the snapshots with it.
    sandbox.jackin(["prune", "--yes"]).ok();
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    let all = listed["instances"].as_array().unwrap().iter();
    let kept: usize = all.map(|one| one["native"].as_array().unwrap().len()).sum();
    assert_eq!(btrfs.others().len(), kept);
    assert!((1..=2).contains(&kept), "{listed}");
    sandbox.jackin(["restore", &second, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(project));
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn a_kept_snapshot_that_is_gone_or_changed_is_found_and_restores_nothing_wrong() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    let project = &btrfs.project;
    configure(&sandbox, "[recovery]\nnative = \"require\"\n");
    Build::at(project)
        .file("a", noise(2, 50_000))
        .file("b", noise(3, 50_000))
        .file("same", noise(4, 50_000))
        .aged();
    let id = sandbox.launch(project, "rm a b");
    let damaged = Tree::read(project);
    let papers = fs::read_dir(sandbox.store().join("native")).unwrap().flatten();
    let of = |id: &str| sandbox.store().join("native").join(id).join("paper");
    assert_eq!(papers.count(), 2);
    let instance = &instances(&sandbox.jackin(["list", "--json"]).ok())[0];
    let snapshot = |kind: &str| instance.snapshot(kind).id.as_str();
    let place = |kind: &str| {
        let paper = fs::read_to_string(of(snapshot(kind))).unwrap();
        let (_, at) = paper.split_once("\"at\":\"").unwrap();
        at.split_once('"').unwrap().0.to_owned()
    };
    let damage = |at: &str, name: &str| {
        let set = |read_only: &str| {
            run_tool(Command::new("btrfs").args(["property", "set", "-t", "subvol", at, "ro", read_only]));
        };
        set("false");
        let file = Path::new(at).join(name);
        let mut bytes = fs::read(&file).unwrap();
        bytes[100] ^= 1;
        fs::write(file, bytes).unwrap();
        set("true");
    };
    let (at, closing) = (place("baseline"), place("closing"));
    damage(&at, "a");
    // What one of them still has says nothing of the other one.
    damage(&closing, "same");
    sandbox
        .jackin(["verify", "--read-data"])
        .code(7)
        .shows(&format!(
            "snapshot {}, a in project: its content",
            snapshot("baseline")
        ))
        .shows(&format!(
            "snapshot {}, same in project: its content",
            snapshot("closing")
        ))
        .hides(&format!("snapshot {}, same", snapshot("baseline")));
    sandbox.jackin(["restore", &id, "--yes"]).code(7);
    assert_same_tree(&damaged, &Tree::read(project));
    run_tool(Command::new("btrfs").args(["subvolume", "delete", &at]));
    sandbox.jackin(["verify"]).code(7).has("is missing");
    sandbox.jackin(["restore", &id, "--yes"]).code(7);
    assert_same_tree(&damaged, &Tree::read(project));
}

#[test]
fn what_a_kept_snapshot_would_hold_beside_the_mount_is_refused() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    configure(&sandbox, "[recovery]\nnative = \"require\"\n");
    let inner = btrfs.project.join("inner");
    fs::create_dir(&inner).unwrap();
    let explain = |at: &Path| sandbox.jackin(["explain", "--snapshot", "project", at.to_str().unwrap()]);
    explain(&inner).code(2).has("it is not a subvolume of its own");
    let nested = btrfs.project.join("nested");
    subvolume(&nested);
    explain(&nested).ok();
}

/// A session is closed, and a restore can be undone, also when a mount cannot be frozen any more: its contents are archived then, all of them.
#[test]
fn a_mount_that_cannot_be_frozen_any_more_is_archived_when_its_session_ends() {
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    configure(&sandbox, "[recovery]\nnative = \"require\"\n");
    let other = btrfs.disk.join("other");
    subvolume(&other);
    for mount in [&btrfs.project, &other] {
        Build::at(mount)
            .file("same", noise(3, 100_000))
            .file("a", "a\n")
            .dir("over")
            .aged();
    }
    let text = format!(
        "[[mounts]]\nsrc = {:?}\ndst = \"/one\"\n[[mounts]]\nsrc = {other:?}\ndst = \"/two\"\n[recovery]\nsnapshot = \"project\"\n",
        btrfs.project
    );
    sandbox.configure("workspaces/both.toml", &text);
    let before = Tree::read(&other);
    let script = format!("rm {0}/a; mount -t tmpfs none {0}/over", other.display());
    let run = sandbox
        .command(["launch", "both", "--", "sh", "-c", &script])
        .run()
        .ok();
    run.has("its contents are in the archive").has("is mounted in it");
    run_tool(Command::new("umount").arg(other.join("over")));
    assert!(archived(&sandbox) > 100_000, "{run}");
    sandbox.jackin(["verify", "--read-data"]).ok();
    let id = instances(&sandbox.jackin(["list", "--json"]).ok()).remove(0).id;
    fs::remove_file(other.join("same")).unwrap();
    sandbox
        .jackin(["restore", &id, "--overwrite-later-edits", "--yes"])
        .ok();
    assert_same_tree(&before, &Tree::read(&other));
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn what_a_copy_of_the_store_would_lack_is_told_before_and_after() {
    let bucket = Bucket::start();
    let sandbox = Sandbox::new();
    let Some(btrfs) = Btrfs::new(&sandbox) else { return };
    fs::write(btrfs.project.join("a"), "a\n").unwrap();
    let copied = format!(
        "[recovery.state]\nrecipients = [\"{RECIPIENT}\"]\n[recovery.store]\nreplicate = \"{PLACE}\"\n"
    );
    let text = |native: &str, more: &str| {
        format!("[recovery]\nsnapshot = \"project\"\nnative = \"{native}\"\n{more}")
    };
    configure(&sandbox, &text("require", ""));
    let kept = sandbox.launch(&btrfs.project, "echo b >b");
    configure(&sandbox, &text("require", &copied));
    let target = btrfs.project.to_str().unwrap();
    let run = sandbox.jackin(["launch", target, "--", "touch", "c"]).code(2);
    run.shows("are not copied").shows("native = \"auto\"");
    assert!(!btrfs.project.join("c").exists());
    configure(&sandbox, &text("auto", &copied));
    let run = signed(&sandbox, &bucket, &["launch", target, "--", "touch", "d"]).ok();
    run.shows("lie in snapshots of file systems");
    let run = signed(&sandbox, &bucket, &["replicate", "--json"]).code(6);
    let hurt = run.json()["hurt"].as_array().unwrap().len();
    assert_eq!(hurt, 2, "the baseline and the closing of {kept}: {run}");
    // The receipts tell of them, so that nobody takes what came for all.
    let fresh = Sandbox::new();
    let identity = own_key(&fresh);
    let words = ["import", "--from", PLACE, "--identity", &identity, "--yes"];
    signed(&fresh, &bucket, &words).code(6).shows("is not there");
    let there = fresh.scratch("there");
    fresh
        .jackin([
            "restore",
            &fresh.newest(),
            "--yes",
            "--to",
            there.to_str().unwrap(),
        ])
        .ok();
    assert_eq!(fs::read(there.join("b")).unwrap(), b"b\n");
}

#[test]
fn a_restore_shares_blocks_where_it_can_and_writes_where_it_cannot() {
    let kinds: [(&str, u64, &[&str], bool); 3] = [
        (
            "xfs",
            320 << 20,
            &["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
            true,
        ),
        ("btrfs", 160 << 20, &["mkfs.btrfs", "-q", "-f"], true),
        ("ext4", 64 << 20, &["mkfs.ext4", "-q"], false),
    ];
    for (kind, size, make, shares) in kinds {
        let sandbox = Sandbox::new();
        let disk = sandbox.sources().join("disk");
        let Some(_volume) = Volume::image(&disk, kind, size, make) else {
            continue;
        };
        let project = disk.join("project");
        Build::at(&project)
            .file("large", noise(5, 400_000))
            .file("other", noise(6, 100_000))
            .file("small", "small\n")
            .sparse("holes", 300_000, &[(100_000, b"data")])
            .aged();
        let before = Tree::read(&project);
        // Its content is still there, at other paths; that of `other` is not.
        let script = "mv large moved; mv holes moved-holes; mv small moved-small; rm other";
        let id = sandbox.launch(&project, script);
        let run = sandbox.jackin(["restore", &id, "--yes", "-v"]).ok();
        let shares = shares && !is_portable("only a new file shares blocks with another one: a clone");
        assert_eq!(
            run.said().contains("2 files share their"),
            shares,
            "{kind}: {run}"
        );
        assert_same_tree(&before, &Tree::read(&project));
        sandbox.undo(&id);
        sandbox.undo(&id);
        assert_same_tree(&before, &Tree::read(&project));
    }
}

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
        sandbox
            .jackin(words)
            .ok()
            .has("cannot use the file-system snapshot");
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
    let id = sandbox.begin(btrfs.project.to_str().unwrap());
    let checkpoint = |name: &str| sandbox.command(["checkpoint", &id, "--name", name]);
    checkpoint("one").with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    assert_eq!(btrfs.others().len(), 1);
    checkpoint("two").with("JACKIN_RECOVERY_INSTANCE", &id).run().ok();
    nothing_frozen(&sandbox, &btrfs, "removed inside");
    sandbox.jackin(["end", &id]).ok();
}
