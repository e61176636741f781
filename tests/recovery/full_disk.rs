//! No room in the middle of a restore, or a limit on the size of files: the old tree is there, nothing is left behind, and it goes on when there
//! is room.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::{skip, tool};
use crate::support::run::Run;
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

/// The same command, none of whose files may become larger than so many bytes.
fn limited(sandbox: &Sandbox, at: &Path, bytes: u64, words: &[&str]) -> Run {
    let limit = format!("--fsize={bytes}:unlimited");
    sandbox
        .command(words)
        .inside(at)
        .through(&["prlimit", &limit])
        .run()
}

fn project(sandbox: &Sandbox) -> std::path::PathBuf {
    let project = sandbox.project("limited");
    let build = Build::at(&project);
    for number in 0..20 {
        build.file(format!("dir/{number}"), format!("content {number}\n").repeat(40));
    }
    build.big("big", 300_000).aged();
    project
}

#[test]
fn a_launch_beyond_the_limit_says_so_and_starts_nothing() {
    if tool("prlimit").is_none() {
        return skip("limits on files", "prlimit is not installed");
    }
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let target = project.to_str().unwrap();
    let mut refused = 0;
    for bytes in [0, 8192, 20_000, 60_000, 1 << 20] {
        let words = ["launch", "--snapshot", "project", target, "--", "touch", "ran"];
        let run = limited(&sandbox, &project, bytes, &words);
        // What fits under the limit goes through.
        if run.exit() == Some(0) {
            assert!(project.join("ran").exists(), "{bytes}: {run}");
            fs::remove_file(project.join("ran")).unwrap();
            continue;
        }
        let run = run.code(125);
        refused += 1;
        names_the_limit(&run, bytes);
        assert!(!project.join("ran").exists(), "{bytes}: {run}");
    }
    assert!(refused >= 2, "{refused}");
    sandbox.launch(&project, "echo agent > big");
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["log", "--verify"]).ok();
}

/// The message names the limit. Below 8 KiB the output itself does not fit, which goes into a file as well.
#[track_caller]
fn names_the_limit(run: &Run, bytes: u64) {
    let told = run.said();
    let causes = ["File too large", "disk I/O error", "full"];
    assert!(
        bytes < 8192 || causes.iter().any(|cause| told.contains(cause)),
        "{bytes}: {run}"
    );
}

#[test]
fn a_restore_beyond_the_limit_loses_nothing() {
    if tool("prlimit").is_none() {
        return skip("limits on files", "prlimit is not installed");
    }
    for bytes in [0, 1000, 8192, 20_000, 50_000, 100_000, 200_000, 299_999] {
        let sandbox = Sandbox::new();
        let project = project(&sandbox);
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, "rm -r dir; : > big; echo new > new");
        let damaged = Tree::read(&project);
        let run = limited(&sandbox, &project, bytes, &["restore", &id, "--yes"]);
        let code = run
            .exit()
            .unwrap_or_else(|| panic!("{bytes}: a signal ended it\n{run}"));
        if code == 0 {
            assert_same_tree(&before, &Tree::read(&project));
            continue;
        }
        assert!([1, 8].contains(&code), "{bytes}: {run}");
        names_the_limit(&run, bytes);
        let waits = sandbox.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 8]);
        if waits.exit() == Some(8) {
            sandbox.jackin(["resume", &id, "--yes"]).ok();
        } else {
            if !run.said().contains("no receipt could be written") {
                assert_untouched(&damaged, &Tree::read(&project));
            }
            sandbox.jackin(["restore", &id, "--yes"]).ok();
        }
        assert_same_tree(&before, &Tree::read(&project));
        sandbox.no_litter();
        sandbox.jackin(["verify", "--read-data"]).ok();
        sandbox.jackin(["log", "--verify"]).ok();
    }
}

#[test]
fn the_command_has_the_signal_as_it_is_outside() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("signal");
    Build::at(&project).file("a", "a\n").aged();
    let report = sandbox.scratch("report");
    let script = format!("grep '^Sig[IC]' /proc/self/status > {}", report.display());
    sandbox.launch(&project, &script);
    let said = fs::read_to_string(&report).unwrap();
    for line in said.lines() {
        let (name, mask) = line.split_once(':').unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        // SIGXFSZ is 25.
        assert_eq!(mask & (1 << 24), 0, "{name}: {said}");
    }
    let script = "(ulimit -f 1; head -c 100000 /dev/zero > beyond) 2>/dev/null; echo $? > code";
    sandbox.launch(&project, script);
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "153\n");
}

/// Returns a project and the home of jackin on a disk of their own with 40 MiB, and some random bytes in a file of the project.
fn small_disk(sandbox: &Sandbox) -> Option<(Volume, std::path::PathBuf, std::path::PathBuf)> {
    let disk = sandbox.sources().join("disk");
    let volume = Volume::tmpfs_of(&disk, "size=40m")?;
    let (project, home) = (disk.join("project"), disk.join("home"));
    Build::at(&project)
        .file("edited", "before\n")
        .file("gone", "gone\n")
        .aged();
    fs::create_dir(&home).unwrap();
    Some((volume, project, home))
}

#[test]
fn an_agent_that_fills_the_disk_of_the_store_is_undone() {
    let sandbox = Sandbox::new();
    let Some((_volume, project, home)) = small_disk(&sandbox) else {
        return;
    };
    let before = Tree::read(&project);
    let script = "rm gone; echo agent > edited; cat /dev/zero > filler";
    let run = sandbox.launching(&project, &["sh", "-c", script]);
    let run = run.with("JACKIN_HOME_DIR", &home).inside(&project).run();
    // The status is that of the command.
    let run = run.code(1).shows("1 added, 1 modified, 1 deleted");
    assert!(!run.text().contains("could not be recorded"), "{run}");
    let jackin = |words: &[&str]| {
        let command = sandbox.command(words).with("JACKIN_HOME_DIR", &home);
        command.inside(&project).run()
    };
    jackin(&["diff"]).ok().shows("A filler");
    jackin(&["restore", "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn what_does_not_fit_on_a_full_disk_is_said_and_room_can_be_made() {
    let sandbox = Sandbox::new();
    let Some((_volume, project, home)) = small_disk(&sandbox) else {
        return;
    };
    let jackin = |words: &[&str]| {
        let command = sandbox.command(words).with("JACKIN_HOME_DIR", &home);
        command.inside(&project).run()
    };
    let launch = |script: &str| {
        let launch = sandbox.launching(&project, &["sh", "-c", script]);
        launch.with("JACKIN_HOME_DIR", &home).inside(&project).run()
    };
    launch("head -c 4000000 /dev/urandom > first").ok();
    launch("rm first").ok();
    let before = Tree::read(&project);
    let run = launch("rm gone; cat /dev/urandom > filler");
    let run = run.code(1).shows("the closing snapshot failed");
    assert!(!run.text().contains("could not be recorded"), "{run}");
    jackin(&["status"]).ok().shows("undo: ended");
    jackin(&["show"]).ok().shows("no closing snapshot");
    jackin(&["diff"]).ok().shows("A filler");
    let damaged = Tree::read(&project);
    jackin(&["restore", "--yes"])
        .code(1)
        .shows("the emergency snapshot failed, so nothing was changed");
    assert_untouched(&damaged, &Tree::read(&project));
    // The store alone can make room, too.
    jackin(&["forget", "@3", "--yes"]).ok();
    jackin(&["forget", "@2", "--yes"]).ok().shows("3.8 MiB freed");
    fs::remove_file(project.join("filler")).unwrap();
    jackin(&["restore", "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
}

/// Largest size of a file that leaves room for a receipt, and none for the catalog.
const NO_CATALOG: u64 = 40_000;

/// Returns the number of receipts in the log.
fn receipts(sandbox: &Sandbox) -> usize {
    let log = fs::read_to_string(sandbox.store().join("receipts.log")).unwrap();
    log.lines().count()
}

#[test]
fn a_forget_with_its_receipt_says_that_it_is_done_and_what_is_left() {
    if tool("prlimit").is_none() {
        return skip("limits on files", "prlimit is not installed");
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("forgetful");
    Build::at(&project).file("a", "before\n").aged();
    let stays = sandbox.launch(&project, "echo stays > a");
    let goes = sandbox.launch(&project, "echo goes > a");
    let records = || fs::read_dir(sandbox.store().join("snapshots")).unwrap().count();
    let before = records();
    let run = limited(&sandbox, &project, NO_CATALOG, &["forget", &goes, "--yes"]).code(1);
    let run = run.shows(&format!("deleted (receipt {})", receipts(&sandbox)));
    let run = run.shows("some of its bytes are still in the store");
    let run = run.shows("hint: to remove them: jackin recovery prune");
    assert!(!run.said().contains("run the command again"), "{run}");
    assert_eq!(records(), before);
    sandbox.jackin(["prune", "--yes"]).ok();
    assert_eq!(records(), before - 2);
    sandbox.jackin(["verify", "--read-data"]).ok();
    let list = sandbox.jackin(["list"]).ok().shows(&stays);
    assert!(!list.text().contains(&goes), "{list}");
}

#[test]
fn a_prune_with_its_receipt_says_that_it_is_done_and_what_is_left() {
    if tool("prlimit").is_none() {
        return skip("limits on files", "prlimit is not installed");
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("pruned");
    Build::at(&project).file("a", "before\n").aged();
    let goes = sandbox.launch(&project, "echo goes > a");
    sandbox.launch(&project, "echo stays > a");
    sandbox.configure("config.toml", "[recovery.retention]\ninstances = 1\n");
    let run = limited(&sandbox, &project, NO_CATALOG, &["prune", "--yes"]).code(1);
    let run = run.shows(&format!("deleted (receipt {})", receipts(&sandbox)));
    run.shows("hint: to remove them: jackin recovery prune");
    sandbox.jackin(["prune", "--yes"]).ok();
    let records = fs::read_dir(sandbox.store().join("snapshots")).unwrap();
    assert_eq!(records.count(), 2);
    sandbox.jackin(["verify", "--read-data"]).ok();
    assert!(!sandbox.jackin(["list"]).ok().text().contains(&goes));
}

#[test]
fn a_command_with_its_receipt_is_never_to_be_repeated() {
    if tool("prlimit").is_none() {
        return skip("limits on files", "prlimit is not installed");
    }
    let commands: [(&[&str], bool); 7] = [
        (&["pin", "@2"], true),
        (&["rename", "@2", "other"], true),
        (&["fork", "@2"], true),
        (&["restore", "@1", "--yes"], false),
        (&["undo", "@2", "--yes"], false),
        (&["end", "@1"], false),
        (&["launch", "--snapshot", "project", ".", "--", "true"], false),
    ];
    for (words, is_done) in commands {
        let sandbox = Sandbox::new();
        let project = sandbox.project("repeated");
        Build::at(&project).file("a", "a\n").file("b", "b\n").aged();
        let first = sandbox.launch(&project, "echo agent > a");
        sandbox.restore(&first, &[]);
        sandbox.launch(&project, "echo agent > b");
        if words.starts_with(&["end"]) {
            sandbox.begin(&project);
        }
        let before = receipts(&sandbox);
        let run = limited(&sandbox, &project, NO_CATALOG, words);
        assert!(receipts(&sandbox) > before, "{run}");
        assert!(!run.said().contains("run the command again"), "{run}");
        assert!(!is_done || run.exit() == Some(0), "{run}");
    }
}
