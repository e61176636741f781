//! Trees that somebody made to get in the way of a restore, and places where a restore can do only part of its work.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn does(program: &str, args: &[&str]) -> bool {
    let run = Command::new(program).args(args).output();
    run.is_ok_and(|run| run.status.success())
}

#[test]
fn a_file_of_holes_larger_than_the_disk_comes_back() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLES) {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("holes");
    let file = fs::File::create(project.join("huge")).unwrap();
    if file.set_len(4 << 40).is_err() {
        skip("huge file of holes", "this file system has none");
        return;
    }
    let before = fs::metadata(project.join("huge")).unwrap();
    let id = sandbox.launch(&project, "rm huge");
    sandbox.restore(&id, &[]).touched(&["huge"]);
    let after = fs::metadata(project.join("huge")).unwrap();
    assert_eq!((before.len(), before.mode()), (after.len(), after.mode()));
    assert!(after.blocks() < 2048, "{} blocks", after.blocks());
    // What looks at it reads no holes, and a copy has them too.
    let limited = |words: &[&str]| {
        let command = sandbox.command(words).inside(&project);
        let limit = ["sh", "-c", "ulimit -t 30; exec \"$0\" \"$@\""];
        let scratch = sandbox.scratch("copies");
        fs::create_dir_all(&scratch).unwrap();
        command.with("TMPDIR", scratch).through(&limit).run()
    };
    limited(&["log", "huge"]).ok();
    limited(&["blame", "huge"]).shows("huge");
    let shown = limited(&["edit", "huge", "--tool", "stat -c '%s %b'"]).ok();
    let sizes = String::from_utf8_lossy(&shown.stdout).into_owned();
    let copy: Vec<u64> = sizes
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(copy[0] == 4 << 40 && copy[1] < 2048, "{shown}");
}

#[test]
fn what_could_not_be_made_exact_is_taken_back_by_undo_all_the_same() {
    let Some(sandbox) = Sandbox::unprivileged().filter(|_| is_root()) else {
        skip("inexact undo", "it takes root to make another user's file");
        return;
    };
    let project = sandbox.project("inexact");
    Build::at(&project)
        .file("gone", "before\n")
        .file("changed", "before\n")
        .aged();
    sandbox.give(&project);
    for name in ["gone", "changed"] {
        std::os::unix::fs::chown(project.join(name), Some(0), Some(0)).unwrap();
    }
    let id = sandbox.launch(&project, "rm gone; rm changed; echo agent > changed");
    let damaged = Tree::read(&project);
    // The files come back; that they were root's cannot.
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(fs::read_to_string(project.join("gone")).unwrap(), "before\n");
    assert_eq!(fs::read_to_string(project.join("changed")).unwrap(), "before\n");
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn an_attribute_of_a_read_only_file_comes_back_without_privilege() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "attribute of a read-only file",
            "commands cannot run as another user here",
        );
        return;
    };
    let project = sandbox.project("attribute");
    Build::at(&project).file("fixed", "same\n").aged();
    sandbox.give(&project);
    let fixed = project.join("fixed");
    if !does(
        "setfattr",
        &["-n", "user.tag", "-v", "mine", fixed.to_str().unwrap()],
    ) {
        skip("attribute of a read-only file", "attributes cannot be set here");
        return;
    }
    Build::at(&project).mode("fixed", 0o444);
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "chmod 644 fixed; setfattr -x user.tag fixed; chmod 444 fixed",
    );
    sandbox.restore(&id, &[]).touched(&["fixed"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn what_became_immutable_after_the_session_is_not_moved_to_where_it_could_not_be_removed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("immutable");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "mkdir new; echo agent > new/fixed; echo agent > new/free; rm a",
    );
    let fixed = project.join("new/fixed");
    if !is_root() || !does("chattr", &["+i", fixed.to_str().unwrap()]) {
        skip(
            "immutable file",
            "it takes root and a file system with such files",
        );
        return;
    }
    let restored = sandbox.restore_in_part(&id, &[]);
    let stays = fixed.exists();
    // Whoever asks for later work to go has it gone, flag and all.
    let all = sandbox.jackin(["restore", &id, "--yes", "--delete-later-files"]);
    assert!(
        all.exit() == Some(0) || does("chattr", &["-i", fixed.to_str().unwrap()]),
        "{all}"
    );
    assert!(stays, "{:#}", restored.document);
    assert!(
        restored.names("new/fixed") && restored.names("new"),
        "{:#}",
        restored.document
    );
    restored.touched(&["a", "new/free"]);
    all.ok();
    sandbox.no_litter();
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_very_deep_tree_is_removed_and_brought_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("deep");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let script = "i=0; while [ $i -lt 600 ]; do mkdir d && cd -P d; i=$((i+1)); done; echo leaf > leaf";
    let id = sandbox.launch(&project, script);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    let leaf = walkdir::WalkDir::new(&project).into_iter().map(Result::unwrap);
    assert_eq!(leaf.map(|entry| entry.depth()).max(), Some(601));
}

#[test]
fn files_of_an_overlay_whose_layers_lie_on_other_file_systems_are_captured() {
    if crate::support::machine::is_portable("there is no overlay") {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("overlay");
    let parts = sandbox.scratch("parts");
    let (lower, memory) = (parts.join("lower"), parts.join("memory"));
    fs::create_dir_all(&lower).unwrap();
    fs::create_dir_all(&memory).unwrap();
    fs::create_dir(lower.join("d")).unwrap();
    for name in ["edited", "d/removed"] {
        fs::write(lower.join(name), "before\n").unwrap();
    }
    let at = memory.to_str().unwrap();
    let options = format!(
        "lowerdir={},upperdir={at}/upper,workdir={at}/work",
        lower.display()
    );
    let mounted = is_root() && does("mount", &["-t", "tmpfs", "none", at]) && {
        fs::create_dir(memory.join("upper")).unwrap();
        fs::create_dir(memory.join("work")).unwrap();
        does(
            "mount",
            &["-t", "overlay", "-o", &options, "none", project.to_str().unwrap()],
        )
    };
    if mounted {
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "echo agent >> edited; rm d/removed; echo new > added");
        let run = sandbox.jackin(["restore", &id, "--yes"]);
        let after = Tree::read(&project);
        assert!(does("umount", &[project.to_str().unwrap()]) && does("umount", &[at]));
        run.ok();
        assert_same_tree(&before, &after);
    } else {
        does("umount", &[at]);
        skip("overlay", "it takes root and the right to mount");
    }
}

#[test]
fn a_file_on_the_way_to_a_tracked_directory_gives_way() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("way");
    Build::at(&project)
        .file("up/tracked/inside", "before\n")
        .file("other", "before\n")
        .aged();
    let before = Tree::read(&project);
    let script = "rm -r up; echo agent > up; echo agent >> other";
    let id = sandbox.launch_with(&["--path", "up/tracked"], &project, script);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before.without("other"), &after.without("other"));
    assert_eq!(
        fs::read_to_string(project.join("other")).unwrap(),
        "before\nagent\n"
    );
}

#[test]
fn pipes_and_links_with_several_names_come_back_with_all_of_them() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("names");
    let build = Build::at(&project);
    build.file("own/x", "before\n").aged();
    let script = "cd \"$1\" && mkfifo pipe own/split && ln pipe own/pipe && ln -s x link && ln -P link own/link && \
        ln own/split split";
    assert!(does("sh", &["-c", script, "sh", project.to_str().unwrap()]));
    let before = Tree::read(&project);
    let damage =
        "rm own/pipe link own/split; mkfifo own/split; ln -P own/link more; rm split; ln own/split split2";
    let id = sandbox.launch(&project, damage);
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}
