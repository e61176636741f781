//! A restore that was interrupted, and what somebody does while it waits: nothing of theirs is lost, and there is a way out of everything.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::patience::await_moment;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

pub(crate) struct Waiting {
    pub(crate) sandbox: Sandbox,
    pub(crate) project: PathBuf,
    pub(crate) id: String,
    before: Tree,
    wrecked: Tree,
}

/// A restore that was killed at `point`.
pub(crate) fn killed_at(point: &str) -> Waiting {
    let sandbox = Sandbox::new();
    let project = sandbox.project("waiting");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone/b", "before\n")
        .file("z", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo agent > a; rm -r gone; echo new > new; echo agent > z",
    );
    let wrecked = Tree::read(&project);
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let run = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
    assert_eq!(run.exit(), None, "{run}");
    Waiting {
        sandbox,
        project,
        id,
        before,
        wrecked,
    }
}

impl Waiting {
    fn staging(&self) -> PathBuf {
        let mut names = fs::read_dir(self.sandbox.sources()).unwrap().flatten();
        let found = names.find(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b".jackin-recovery-")
        });
        found.expect("a staging directory").path()
    }

    fn paper(&self, name: &str) -> PathBuf {
        let mut restores = fs::read_dir(self.sandbox.store().join("restores")).unwrap();
        restores.next().unwrap().unwrap().path().join(name)
    }

    fn is_below(directory: &Path, text: &str) -> bool {
        walkdir::WalkDir::new(directory)
            .into_iter()
            .flatten()
            .any(|entry| fs::read(entry.path()).is_ok_and(|bytes| bytes == text.as_bytes()))
    }
}

#[test]
fn an_edit_of_a_path_that_was_put_back_is_kept_aside_by_abort() {
    let waiting = killed_at("moved");
    fs::write(waiting.project.join("a"), "mine\n").unwrap();
    let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
    let staging = waiting.staging();
    run.shows(staging.to_str().unwrap());
    assert!(Waiting::is_below(&staging, "mine\n"), "it is nowhere");
}

#[test]
fn an_edit_of_a_path_that_was_put_back_stays_with_resume() {
    let waiting = killed_at("moved");
    fs::write(waiting.project.join("a"), "mine\n").unwrap();
    let run = waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(6);
    run.shows("a: it is not what it should be");
    assert_eq!(fs::read_to_string(waiting.project.join("a")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(waiting.project.join("z")).unwrap(), "before\n");
}

#[test]
fn an_edit_of_a_path_that_is_still_old_stops_resume_and_survives_abort() {
    let waiting = killed_at("move:1");
    fs::write(waiting.project.join("z"), "mine\n").unwrap();
    let run = waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(8);
    run.shows("z changed")
        .shows("abort")
        .hides("everything is as it was");
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(waiting.project.join("z")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(waiting.project.join("a")).unwrap(), "agent\n");
    waiting.sandbox.no_litter();
}

#[test]
fn a_file_of_mine_in_a_directory_that_was_put_back_is_not_removed_with_it() {
    let waiting = killed_at("moved");
    fs::write(waiting.project.join("gone/mine"), "mine\n").unwrap();
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    assert!(!waiting.project.join("gone").exists());
    assert!(Waiting::is_below(&waiting.staging(), "mine\n"), "it is nowhere");
}

#[test]
fn without_its_staging_directory_a_restore_is_taken_back_as_far_as_it_goes() {
    let waiting = killed_at("moved");
    fs::remove_dir_all(waiting.staging()).unwrap();
    let run = waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(8);
    run.shows("and its staged files are missing");
    let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    run.shows("waiting/a was removed").shows("--from");
    // The emergency snapshot has what is gone.
    let list = waiting
        .sandbox
        .jackin(["show", &waiting.id, "--json"])
        .ok()
        .json();
    let snapshots = list["instance"]["snapshots"].as_array().unwrap();
    let emergency = snapshots
        .iter()
        .find(|snapshot| snapshot["kind"] == "emergency")
        .unwrap();
    let from = emergency["id"].as_str().unwrap();
    let all = [
        "restore",
        &waiting.id,
        "--from",
        from,
        "--yes",
        "--overwrite-later-edits",
        "--delete-later-files",
    ];
    waiting.sandbox.jackin(all).ok();
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
}

#[test]
fn another_root_in_its_place_is_not_touched_and_as_is_forgets() {
    let waiting = killed_at("moved");
    let away = waiting.sandbox.sources().join("away");
    fs::rename(&waiting.project, &away).unwrap();
    fs::create_dir(&waiting.project).unwrap();
    for verb in ["resume", "abort"] {
        let run = waiting.sandbox.jackin([verb, &waiting.id, "--yes"]).code(8);
        run.shows("not the directory that the restore began in")
            .shows("--as-is");
    }
    assert_eq!(fs::read_dir(&waiting.project).unwrap().count(), 0);
    // Back in its place it goes on.
    fs::remove_dir(&waiting.project).unwrap();
    fs::rename(&away, &waiting.project).unwrap();
    waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).ok();
    assert_same_tree(&waiting.before, &Tree::read(&waiting.project));
}

#[test]
fn as_is_leaves_everything_and_names_what_lies_aside() {
    let waiting = killed_at("moved");
    let staging = waiting.staging();
    let (tree, aside) = (Tree::read(&waiting.project), Tree::read(&staging));
    let run = waiting
        .sandbox
        .jackin(["abort", &waiting.id, "--yes", "--as-is"])
        .code(6);
    run.shows(staging.to_str().unwrap());
    assert_same_tree(&tree, &Tree::read(&waiting.project));
    assert_same_tree(&aside, &Tree::read(&staging));
    assert!(
        !waiting
            .sandbox
            .jackin(["list"])
            .ok()
            .text()
            .contains("interrupted")
    );
    waiting.sandbox.jackin(["log", "--verify"]).ok();
    waiting
        .sandbox
        .jackin(["log"])
        .ok()
        .shows("discarded: the restore");
}

#[test]
fn a_damaged_journal_is_said_and_as_is_forgets() {
    let waiting = killed_at("moved");
    let journal = waiting.paper("journal");
    let mut bytes = fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, bytes).unwrap();
    let tree = Tree::read(&waiting.project);
    for verb in ["resume", "abort"] {
        waiting
            .sandbox
            .jackin([verb, &waiting.id, "--yes"])
            .code(7)
            .shows("is damaged");
    }
    waiting.sandbox.jackin(["restore", &waiting.id, "--yes"]).code(8);
    assert_same_tree(&tree, &Tree::read(&waiting.project));
    waiting
        .sandbox
        .jackin(["abort", &waiting.id, "--yes", "--as-is"])
        .code(6);
    waiting
        .sandbox
        .jackin(["restore", &waiting.id, "--dry-run"])
        .code_in(&[0, 6]);
}

#[test]
fn a_root_that_went_after_all_was_decided_stands_in_nobodys_way() {
    let waiting = killed_at("decided");
    fs::remove_dir_all(&waiting.project).unwrap();
    fs::create_dir(&waiting.project).unwrap();
    waiting.sandbox.restore(&waiting.id, &["--overwrite-later-edits"]);
    assert_same_tree(&waiting.before, &Tree::read(&waiting.project));
}

#[test]
fn undo_says_that_a_restore_waits_and_takes_back_one_that_was_only_not_written_down() {
    let waiting = killed_at("moved");
    for args in [&["undo", "--any", "--yes"][..], &["undo", &waiting.id, "--yes"]] {
        waiting.sandbox.jackin(args).code(8).shows("was interrupted");
    }
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
    let decided = killed_at("decided");
    decided.sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_same_tree(&decided.wrecked, &Tree::read(&decided.project));
}

#[test]
fn a_restore_that_is_done_and_not_recorded_is_named_until_it_is() {
    let decided = killed_at("decided");
    let inside = |args: &[&str]| decided.sandbox.command(args).inside(&decided.project).run();
    inside(&["status"]).ok().shows("restored");
    inside(&["undo", "--dry-run"])
        .code(8)
        .shows("is not recorded")
        .shows("resume");
    for args in [&["list"][..], &["show"], &["diff"]] {
        inside(args).ok().shows("is not recorded").shows("resume");
    }
    let doctor = inside(&["doctor"]);
    doctor.has("only cleanup is left");
    inside(&["resume", "--yes"]).ok();
    inside(&["status"]).ok().shows("restored");
    inside(&["undo", "--yes"]).ok();
    assert_same_tree(&decided.wrecked, &Tree::read(&decided.project));
    let begun = killed_at("intent");
    let doctor = begun.sandbox.jackin(["doctor"]);
    doctor
        .has("before it changed anything")
        .has(&format!("abort {}", begun.id));
}

#[test]
fn what_lies_aside_is_kept_when_its_directory_is_gone() {
    let waiting = killed_at("moved");
    let aside = Tree::read(&waiting.staging());
    fs::remove_dir_all(&waiting.project).unwrap();
    let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(8);
    run.shows("--as-is");
    assert_same_tree(&aside, &Tree::read(&waiting.staging()));
}

#[test]
fn what_is_planted_among_staged_content_does_not_come_in() {
    let waiting = killed_at("journaled");
    let staging = waiting.staging();
    let directory = fs::read_dir(&staging)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.is_dir());
    fs::write(directory.unwrap().join("evil"), "evil\n").unwrap();
    waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(8);
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    assert!(Waiting::is_below(&staging, "evil\n"));
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
}

#[test]
fn staged_content_that_is_gone_is_no_success() {
    let waiting = killed_at("journaled");
    for entry in fs::read_dir(waiting.staging()).unwrap().flatten() {
        let _ = fs::remove_dir_all(entry.path());
    }
    waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(8);
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
}

#[test]
fn a_kill_while_everything_is_left_as_it_is_clears_nothing_up() {
    if crate::support::machine::tool("strace").is_none() {
        return crate::support::machine::skip("a kill of abort --as-is", "strace is not installed");
    }
    let waiting = killed_at("moved");
    let aside = Tree::read(&waiting.staging());
    for when in 1..12 {
        let inject = format!("inject=unlink,unlinkat:signal=KILL:when={when}");
        let killed = waiting
            .sandbox
            .command(["abort", &waiting.id, "--as-is", "--yes"])
            .through(&["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject])
            .run();
        waiting
            .sandbox
            .jackin(["restore", &waiting.id, "--dry-run"])
            .code_in(&[0, 6, 8]);
        assert_same_tree(&aside, &Tree::read(&waiting.staging()));
        if killed.exit().is_some() {
            break;
        }
    }
    waiting
        .sandbox
        .jackin([
            "begin",
            "--snapshot",
            "project",
            waiting.project.to_str().unwrap(),
        ])
        .ok();
    assert_same_tree(&aside, &Tree::read(&waiting.staging()));
}

#[test]
fn a_mode_that_was_set_meanwhile_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("modes");
    Build::at(&project)
        .file("a", "a\n")
        .mode("a", 0o644)
        .file("b", "b\n")
        .aged();
    let id = sandbox.launch(&project, "chmod 600 a; echo agent > b");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    Build::at(&project).mode("a", 0o640);
    sandbox
        .jackin(["abort", &id, "--yes"])
        .code(6)
        .shows("a was changed while the restore was interrupted");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(project.join("a")).unwrap().permissions());
    assert_eq!(mode & 0o7777, 0o640);
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "agent\n");
}

#[test]
fn a_file_system_that_turns_read_only_half_way_leaves_no_mix_that_looks_done() {
    if crate::support::machine::tool("strace").is_none() {
        return crate::support::machine::skip(
            "a file system that turns read-only",
            "strace is not installed",
        );
    }
    let waiting = killed_at("intent");
    let words = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "inject=renameat2:error=EROFS:when=2+",
    ];
    let restore = waiting.sandbox.command(["restore", &waiting.id, "--yes"]);
    let run = restore.through(&words).run();
    if run.text().contains("ptrace") {
        return crate::support::machine::skip(
            "a file system that turns read-only",
            "tracing is not allowed here",
        );
    }
    run.code(8);
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
}

#[test]
fn another_file_under_the_name_of_the_staging_directory_stops_no_abort() {
    let waiting = killed_at("moved");
    let staging = waiting.staging();
    fs::remove_dir_all(&staging).unwrap();
    fs::write(&staging, "mine\n").unwrap();
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    assert_eq!(fs::read_to_string(&staging).unwrap(), "mine\n");
    assert!(
        !waiting
            .sandbox
            .jackin(["list"])
            .ok()
            .text()
            .contains("interrupted")
    );
}

#[test]
fn a_restore_killed_behind_its_receipt_is_complete_and_every_command_says_so() {
    // Its own files are removed one by one, the journal first.
    for point in ["receipt", "file-removed"] {
        let done = killed_at(point);
        for args in [&["list", "."][..], &["show"], &["diff"], &["undo", "--dry-run"]] {
            let run = done.sandbox.command(args).inside(&done.project).run();
            run.ok().hides("not recorded").hides("resume");
        }
        done.sandbox.jackin(["doctor"]).has("only cleanup is left");
        let plan = ["abort", &done.id, "--dry-run"];
        let run = done.sandbox.jackin(plan).ok();
        run.hides("before it changed anything")
            .hides("recovery abort")
            .shows("undo");
        let run = done.sandbox.jackin(["resume", &done.id, "--yes"]).ok();
        run.shows("to undo:").hides("is written now");
        assert_same_tree(&done.before, &Tree::read(&done.project));
        done.sandbox.no_litter();
        done.sandbox.jackin(["undo", &done.id, "--yes"]).ok();
        assert_same_tree(&done.wrecked, &Tree::read(&done.project));
        let receipts = done.sandbox.jackin(["log", "--json"]).ok().json();
        let receipts = receipts["receipts"].as_array().unwrap();
        let restores = receipts
            .iter()
            .filter(|receipt| receipt["act"]["act"] == "restore");
        assert_eq!(restores.count(), 2, "{point}: {receipts:?}");
    }
    let done = killed_at("file-removed");
    let run = done.sandbox.jackin(["abort", &done.id, "--yes"]).code(5);
    run.shows("already complete and recorded")
        .hides("is written now")
        .shows("undo");
    assert_same_tree(&done.before, &Tree::read(&done.project));
    let done = killed_at("file-removed");
    let made = done.sandbox.jackin(["resume", &done.id, "--yes", "--json"]);
    assert_eq!(made.ok().json()["outcome"], "restored");
}

#[test]
fn what_resume_leaves_in_the_staging_directory_is_named() {
    let waiting = killed_at("decided");
    let staging = waiting.staging();
    fs::write(staging.join("mine"), "mine\n").unwrap();
    let run = waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(6);
    run.shows(staging.to_str().unwrap());
    assert!(Waiting::is_below(&staging, "mine\n"));
    assert_same_tree(&waiting.before, &Tree::read(&waiting.project));
}

#[test]
fn a_restore_that_waits_stops_what_works_above_and_below_it_and_nothing_else() {
    let waiting = killed_at("moved:1");
    let sandbox = &waiting.sandbox;
    let begin = |directory: &Path| {
        let target = directory.to_str().unwrap();
        let words = [
            "launch",
            "--allow-broad",
            "--snapshot",
            "project",
            target,
            "--",
            "true",
        ];
        sandbox.jackin(words)
    };
    let inner = waiting.project.join("inner");
    fs::create_dir(&inner).unwrap();
    for directory in [&inner, &waiting.project, &sandbox.sources()] {
        let run = begin(directory).refused();
        assert!(
            run.text().contains("resume") && run.text().contains(&waiting.id),
            "{run}"
        );
    }
    let beside = sandbox.project("waiting-not");
    fs::write(beside.join("a"), "a").unwrap();
    begin(&beside).ok();
}

fn staging(beside: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(beside).unwrap().flatten();
    let mut names = entries.filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b".jackin-recovery-")
    });
    names.next().map(|entry| entry.path())
}

#[test]
fn killed_while_staging_leaves_the_old_tree_and_is_cleared_up() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("killed");
    Build::at(&project)
        .big("big", 256 << 20)
        .file("a", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm big; echo agent > a");
    let damaged = Tree::read(&project);

    let mut restore = sandbox.command(["restore", &id, "--yes"]).start();
    await_moment("what is staged", || staging(&sandbox.sources()).is_some());
    restore.child.kill().unwrap();
    restore.child.wait().unwrap();
    let left = staging(&sandbox.sources()).expect("it was killed while it staged");
    assert_untouched(&damaged, &Tree::read(&project));

    // Nothing was moved, so nothing waits: the next restore clears up after it, and says so.
    let run = sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(run.text().contains("had changed nothing"), "{run}");
    assert_same_tree(&before, &Tree::read(&project));
    assert!(!left.exists());
}

#[test]
fn a_session_without_files_has_no_restore_to_propose() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let target = project.to_str().unwrap();
    let words = ["launch", "--snapshot", "metadata", target, "--", "true"];
    sandbox.command(words).inside(&project).run().ok();
    let run = sandbox.jackin(["undo", &sandbox.newest(), "--yes"]).refused();
    run.shows("nothing to undo").hides("recovery restore");
}
