//! No room in the middle of a restore: the old tree is there, nothing is left behind, and it goes on when there is room.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::skip;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// Makes empty files until no inode is left, but some.
fn use_up_inodes(directory: &Path, leave: usize) {
    fs::create_dir(directory).unwrap();
    let mut made = Vec::new();
    for n in 0.. {
        let path = directory.join(n.to_string());
        if fs::File::create(&path).is_err() {
            break;
        }
        made.push(path);
    }
    for path in made.iter().rev().take(leave) {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn s30_no_inode_left_while_content_is_staged() {
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    let Some(_volume) = Volume::tmpfs_of(&disk, "nr_inodes=200") else {
        return;
    };
    let project = disk.join("project");
    for n in 0..60 {
        Build::at(&project).file(format!("dir/{n}"), format!("content {n}\n"));
    }
    Build::at(&project).file("edited", "before\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm -r dir; echo agent > edited; echo new > new");
    let damaged = Tree::read(&project);
    use_up_inodes(&disk.join("ballast"), 30);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    run.shows("No space left on device");
    assert_untouched(&damaged, &Tree::read(&project));
    sandbox.no_litter();
    assert!(!sandbox.jackin(["list"]).text().contains("interrupted"));
    fs::remove_dir_all(disk.join("ballast")).unwrap();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s30_a_killed_restore_needs_no_room_to_be_finished_or_taken_back() {
    for (how, point) in [("abort", "moved"), ("resume", "move"), ("resume", "moved")] {
        let sandbox = Sandbox::new();
        let disk = sandbox.sources().join("disk");
        let Some(_volume) = Volume::tmpfs_of(&disk, "size=2m") else {
            return;
        };
        let project = disk.join("project");
        Build::at(&project)
            .big("big", 300_000)
            .file("dir/a", "a\n")
            .file("edited", "before\n")
            .aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(
            &project,
            "rm -r dir; echo agent > edited; : > big; mkdir new; echo n > new/n",
        );
        let damaged = Tree::read(&project);
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
        assert_eq!(killed.exit(), None, "{killed}");
        let ballast = fs::File::create(disk.join("ballast")).unwrap();
        let filled = (0..1000)
            .take_while(|n| std::os::unix::fs::FileExt::write_all_at(&ballast, &[1; 4096], n * 4096).is_ok());
        if filled.count() == 1000 {
            return skip("s30 on a full disk", "it cannot be filled");
        }
        sandbox.jackin([how, &id, "--yes"]).ok();
        let wanted = if how == "abort" { &damaged } else { &before };
        assert_same_tree(wanted, &Tree::read(&project));
    }
}
