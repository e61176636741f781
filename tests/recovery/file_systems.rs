//! A session, its restore and the undo of that on file systems that are not like the others.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;

use rustix::fs::SeekFrom;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::Restored;
use crate::support::folding::Rules;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::rows::rows;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};
use crate::support::volume::Volume;

/// What there is before the session.
pub(crate) fn build(project: &Path) {
    Build::at(project)
        .file("kept", "kept\n")
        .file("edited", "before\n")
        .file("gone", "gone\n")
        .file("program", "#!/bin/sh\n")
        .mode("program", 0o755)
        .file("dir/old/deep/file", "deep\n")
        .file("dir/kept", "kept\n")
        .file("was-dir/a", "a\n")
        .file("was-dir/sub/b", "b\n")
        .file("was-file", "file\n")
        .file("moded/inside", "inside\n")
        .file("moved/inside", "inside\n")
        .file("opaque/of-before", "before\n")
        .file("whole/a", "a\n")
        .file("whole/sub/b", "b\n")
        .dir("empty")
        .symlink("link", "kept")
        .aged();
}

/// What the agent does: every kind of change, to what was there and to what it made.
const DAMAGE: &str = "set -e
    echo agent > edited; rm gone; chmod 644 program; rm -r dir/old; echo new > dir/new; mkdir -p added/x; echo a > added/x/f
    rm -r was-dir; echo file > was-dir; rm was-file; mkdir was-file; echo in > was-file/in
    chmod 700 moded; echo more > moded/more; mv moved moved-to; rm -r opaque; mkdir opaque; echo fresh > opaque/fresh
    rm -r whole; rmdir empty; rm link; ln -s elsewhere link";

/// Baseline, damage, restore, undo, and forward again; every tree is what it must be.
#[track_caller]
pub(crate) fn there_and_back(sandbox: &Sandbox, project: &Path) {
    let before = Tree::read(project);
    let id = sandbox.launch(project, DAMAGE);
    let damaged = Tree::read(project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(project));
    sandbox.undo(&id);
    assert_same_tree(&before, &Tree::read(project));
    sandbox.jackin(["verify", "--read-data"]).ok();
}

/// The same where the project is the file system's root, and where it lies in it.
fn on(mount: impl Fn(&Path) -> Option<Volume>) {
    let sandbox = Sandbox::new();
    let root = sandbox.sources().join("root");
    let Some(_volume) = mount(&root) else { return };
    build(&root);
    there_and_back(&sandbox, &root);
    drop(_volume);

    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    let Some(_volume) = mount(&disk) else { return };
    let project = disk.join("inside");
    build(&project);
    there_and_back(&sandbox, &project);
}

rows! {
    on:
    tmpfs_there_and_back(Volume::tmpfs);
    btrfs_there_and_back(|at| Volume::image(at, "btrfs", 160 << 20, &["mkfs.btrfs", "-q", "-f"]));
    xfs_there_and_back(|at| Volume::image(at, "xfs", 320 << 20, &["mkfs.xfs", "-q", "-f"]));
}

#[test]
fn a_name_that_is_made_in_the_second_of_the_baseline_is_seen_where_times_are_whole_seconds() {
    let sandbox = Sandbox::new();
    let root = sandbox.sources().join("root");
    let make = ["mkfs.ext4", "-q", "-I", "128"];
    let Some(_volume) = Volume::image(&root, "ext4", 64 << 20, &make) else {
        return;
    };
    Build::at(&root).dir("d").aged();
    for round in ["1", "2", "3"] {
        fs::write(root.join("d/before"), round).unwrap();
        assert_eq!(fs::metadata(root.join("d")).unwrap().mtime_nsec(), 0);
        let id = sandbox.launch(&root, &format!("touch d/made-{round}"));
        sandbox
            .diff(&id, &[])
            .are(&[("added", format!("d/made-{round}"))]);
        fs::remove_file(root.join("d/before")).unwrap();
    }
}

#[test]
fn a_file_system_that_cannot_exchange_names_there_and_back() {
    on(Volume::served);
    // Who watches may have seen a path missing, so it is said.
    let sandbox = Sandbox::new();
    let root = sandbox.sources().join("root");
    let Some(_volume) = Volume::served(&root) else {
        return;
    };
    Build::at(&root).file("a", "before\n").aged();
    let id = sandbox.launch(&root, "echo agent > a");
    sandbox
        .jackin(["restore", &id, "--yes"])
        .ok()
        .shows("cannot exchange names");
    // Killed between the steps of an exchange, it goes either way.
    for (point, how, wanted) in [
        ("parted", "abort", "agent\n"),
        ("joined", "abort", "agent\n"),
        ("parted", "resume", "before\n"),
        ("joined", "resume", "before\n"),
    ] {
        sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 5]);
        fs::write(root.join("a"), "agent\n").unwrap();
        let restore = sandbox.command(["restore", &id, "--yes", "--overwrite-later-edits"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
        assert_eq!(killed.exit(), None, "{point}: {killed}");
        sandbox.jackin([how, &id, "--yes"]).ok();
        assert_eq!(
            fs::read_to_string(root.join("a")).unwrap(),
            wanted,
            "{point}, {how}"
        );
    }
}

/// FUSE and NFS keep a removed file that is open, under another name in its directory.
#[test]
fn a_store_where_open_files_stay_keeps_no_empty_directories() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n").aged();
    let Some(_volume) = Volume::served(&sandbox.home().join(".jackin")) else {
        return;
    };
    let left = |name: &str| match fs::read_dir(sandbox.store().join(name)) {
        Ok(found) => found.count(),
        Err(_) => 0,
    };
    // As a killed process leaves it.
    let dead = sandbox.store().join("tmp/sn-jrf5f86hvsp0");
    for _ in 0..2 {
        let id = sandbox.launch(&project, "rm a");
        fs::create_dir_all(&dead).unwrap();
        for verb in ["restore", "undo", "restore"] {
            let run = sandbox.jackin([verb, &id, "--yes"]).ok().hides("cannot remove");
            assert_eq!((left("tmp"), left("restores")), (0, 0), "{verb}: {run}");
        }
    }
    sandbox.jackin(["prune", "--yes"]).ok().hides("cannot remove");
}

/// Docker's file systems with a Mac's files do so too. A snapshot that took its word would hold zeros.
#[test]
fn what_a_file_system_wrongly_calls_holes_is_captured() {
    let rules = Rules {
        exchanges: true,
        hides_data: true,
        ..Rules::default()
    };
    on(|at| Volume::ruled(at, rules.clone()));
    let sandbox = Sandbox::new();
    let root = sandbox.sources().join("root");
    let Some(_volume) = Volume::ruled(&root, rules) else {
        return;
    };
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    Build::at(&root)
        .file("large", &content)
        .file("small", "small\n")
        .aged();
    let hidden = rustix::fs::seek(fs::File::open(root.join("large")).unwrap(), SeekFrom::Data(0));
    assert_eq!(hidden, Err(rustix::io::Errno::NXIO));
    let explain = ["explain", "--snapshot", "project", root.to_str().unwrap()];
    sandbox
        .jackin(explain)
        .ok()
        .shows("2 entries that are sparse or compressed");
    let id = sandbox.launch(&root, "rm large small");
    sandbox.restore(&id, &[]);
    assert!(fs::read(root.join("large")).unwrap() == content);
    assert_eq!(fs::read(root.join("small")).unwrap(), b"small\n");
}

/// As /proc has them, and FUSE for what it makes while it is read. Stored as empty they would come back so.
#[test]
fn a_file_whose_size_is_not_known_is_named() {
    let rules = Rules {
        exchanges: true,
        sizeless: true,
        ..Rules::default()
    };
    let sandbox = Sandbox::new();
    let root = sandbox.sources().join("root");
    let Some(_volume) = Volume::ruled(&root, rules) else {
        return;
    };
    fs::create_dir(root.join("empty")).unwrap();
    for number in 0..40 {
        fs::write(root.join(format!("empty/{number}")), "").unwrap();
    }
    fs::write(root.join("made"), "made while it is read\n").unwrap();
    let id = sandbox.launch(&root, "echo changed > made; rm empty/7");
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("made: cannot be read: its size is not known")
        .hides("empty/");
    let document = sandbox.jackin(["show", "--json", &id]).ok().json();
    let snapshots = document["instance"]["snapshots"].as_array().unwrap();
    assert!(
        snapshots.len() == 2 && snapshots.iter().all(|one| one["complete"] == false),
        "{document:#}"
    );
    let changes = sandbox.diff(&id, &[]);
    changes.are(&[("deleted", "empty/7")]);
    assert_eq!(changes.not_covered, [b"made".to_vec()], "{}", changes.shown);
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read(root.join("empty/7")).unwrap(), b"");
    assert_eq!(fs::read(root.join("made")).unwrap(), b"changed\n");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_makes_up_is_named() {
    let sandbox = Sandbox::new();
    let made_up = "/proc/sys/kernel/random";
    let words = ["begin", "--snapshot", "project", "--allow-broad", made_up];
    let begun = sandbox.jackin(words).ok().stdout;
    let id = std::str::from_utf8(&begun).unwrap().trim();
    sandbox
        .jackin(["show", id])
        .ok()
        .shows("boot_id: cannot be read: its size is not known");
    let refused = sandbox.jackin(["cat", id, "/proc/sys/kernel/random/boot_id"]);
    assert_ne!(refused.exit(), Some(0), "{refused}");
}

/// As macOS does with a program that has no permission for a directory.
#[test]
fn a_directory_that_the_system_closes_is_refused_as_a_target_and_kept_inside_one() {
    let rules = Rules::default();
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    let Some(_volume) = Volume::ruled(&disk, rules.clone()) else {
        return;
    };
    let project = disk.join("Documents");
    Build::at(&project)
        .file("private/inside", "mine\n")
        .file("gone", "before\n")
        .aged();
    let close = |path: &Path| {
        rules
            .closed
            .store(fs::metadata(path).unwrap().ino(), Ordering::SeqCst)
    };
    close(&project);
    let refused = sandbox.jackin(["begin", "--snapshot", "project", project.to_str().unwrap()]);
    let refused = refused.code(2).shows("cannot be read: Operation not permitted");
    if cfg!(any(feature = "portable", target_vendor = "apple")) {
        refused.shows("hint: let your terminal read it: System Settings, Privacy & Security");
    }
    close(&project.join("private"));
    let id = sandbox.launch(&project, "rm gone");
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("private: cannot be listed");
    sandbox.restore(&id, &[]);
    rules.closed.store(0, Ordering::SeqCst);
    assert_eq!(
        fs::read_to_string(project.join("private/inside")).unwrap(),
        "mine\n"
    );
    assert_eq!(fs::read_to_string(project.join("gone")).unwrap(), "before\n");
}

#[test]
fn a_name_that_only_changed_its_case_comes_back_where_case_does_not_count() {
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    if !Path::new("/sys/fs/ext4/features/casefold").exists() {
        return skip("names without case", "this kernel's ext4 has none");
    }
    let Some(_volume) = Volume::image(&disk, "ext4", 64 << 20, &["mkfs.ext4", "-q", "-O", "casefold"]) else {
        return;
    };
    let project = disk.join("inside");
    fs::create_dir(&project).unwrap();
    run_tool(Command::new("chattr").arg("+F").arg(&project));
    Build::at(&project)
        .file("README", "read me\n")
        .file("Dir/File", "x\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "mv README readme; mv Dir dir; mv dir/File dir/FILE");
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.restore(&id, &[]);
    sandbox
        .diff(&id, &["--from", "baseline", "--to", "now"])
        .are::<&str>(&[]);
}

/// Neither modes, owners, links nor exchanged names: what a file system without them can bear comes back.
#[test]
fn content_comes_back_on_fat() {
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    if tool("mkfs.vfat").is_none() {
        return skip("fat", "mkfs.vfat is not installed");
    }
    let Some(_volume) = Volume::image(&disk, "vfat", 32 << 20, &["mkfs.vfat"]) else {
        return;
    };
    let project = disk.join("inside");
    fs::create_dir(&project).unwrap();
    for (path, content) in [("edited", "before\n"), ("gone", "gone\n"), ("kept", "kept\n")] {
        fs::write(project.join(path), content).unwrap();
    }
    let contents = |tree: &Tree| -> Vec<(Vec<u8>, Kind)> {
        let all = tree.nodes.iter();
        all.map(|(path, node)| (path.clone(), node.kind.clone()))
            .collect()
    };
    let before = contents(&Tree::read(&project));
    let id = sandbox.launch(
        &project,
        "echo agent > edited; rm gone; mkdir new; echo x > new/x",
    );
    let run = sandbox
        .jackin(["restore", &id, "--yes", "--json"])
        .code_in(&[0, 6]);
    Restored::of(&run);
    assert!(contents(&Tree::read(&project)) == before, "{run}");
}
