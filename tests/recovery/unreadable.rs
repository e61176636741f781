//! What cannot be read is named, and never deleted (scenario 35).

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::machine::{is_root, run_tool, skip};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A sandbox whose user may not read everything in the project; `None`, and said so, when there is no such user.
fn with_gaps() -> Option<(Sandbox, PathBuf)> {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35", "commands cannot run as another user here");
        return None;
    };
    let project = sandbox.project("gaps");
    let build = Build::at(&project);
    build
        .file("readable", "r\n")
        .file("sub/edited", "before\n")
        .file("closed-file", "nobody reads this\n")
        .file("closed-dir/inside", "hidden\n")
        .file("closed-dir/deep/er", "hidden too\n")
        .aged();
    sandbox.give(&project);
    build.mode("closed-file", 0o000).mode("closed-dir", 0o000);
    if is_root() {
        build.file("roots", "owned by root\n").mode("roots", 0o600);
    }
    Some((sandbox, project))
}

#[test]
fn s35_root_is_not_proposed_where_the_snapshot_lacks_the_content() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("s35", "commands cannot run as another user here");
    };
    let project = sandbox.project("lacks");
    let build = Build::at(&project);
    build.file("x", "x\n").file("w", "w\n").file("wx/f", "f\n");
    sandbox.give(&project);
    build.mode("w", 0o222).mode("wx", 0o311);
    let id = sandbox.launch(&project, "chmod -R u+rwX .; rm x; echo new > w");
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.shows("cannot be listed").hides("as root").hides("sudo");
}

#[test]
fn what_the_session_made_of_an_unreadable_file_is_named() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("s35", "commands cannot run as another user here");
    };
    let project = sandbox.project("replaced");
    let unread = ["link", "file", "dir", "opened", "same", "later"];
    let build = Build::at(&project);
    for name in unread {
        build.file(name, "old\n");
    }
    build.file("kept", "k\n").aged();
    sandbox.give(&project);
    for name in unread {
        build.mode(name, 0o200);
    }
    let id = sandbox.launch(
        &project,
        "rm -f link file dir kept; ln -s /tmp link; echo new > file; mkdir dir; chmod 600 opened",
    );
    // You opened it, and the session did not touch it.
    build.mode("later", 0o600);
    let made = [
        ("dir", "was unreadable, is a directory now"),
        ("file", "was unreadable, can be read now"),
        ("link", "was unreadable, is a symbolic link now"),
        ("opened", "was unreadable, can be read now"),
    ];
    let mut diff = sandbox.jackin(["diff", &id]).ok();
    let mut run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    for (name, reason) in made {
        diff = diff.shows(&format!("{name}: {reason}"));
        run = run.shows(&format!("{name}: {reason}"));
    }
    diff.shows("same: cannot be read: permission denied");
    assert!(project.join("kept").exists() && project.join("link").is_symlink());

    let words = ["restore", id.as_str(), "--dry-run", "--json"];
    let document = sandbox.jackin(words).code(6).json();
    let failed = document["failed"].as_array().unwrap().iter();
    let failed: Vec<_> = failed
        .map(|gap| (gap["path"].as_str().unwrap(), gap["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(failed, made);
    sandbox.jackin(["restore", &id, "later"]).ok();
    // An undo reverts the restore alone.
    sandbox.jackin(["undo", &id, "--yes"]).ok();
}

#[test]
fn s35_gaps_are_named_and_the_rest_is_captured() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "rm readable; echo agent > sub/edited; echo new > sub/new",
    );
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(
        !instances(&run)[0].snapshot("baseline").complete,
        "a snapshot with gaps says so\n{run}"
    );
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("closed-file")
        .shows("closed-dir");

    let changes = sandbox.diff(&id, &[]);
    changes.are(&[
        ("deleted", "readable"),
        ("modified", "sub/edited"),
        ("added", "sub/new"),
    ]);
    for gap in ["closed-file", "closed-dir"] {
        assert!(
            changes.not_covered.contains(&gap.as_bytes().to_vec()),
            "{gap}\n{}",
            changes.shown
        );
    }
    let restored = sandbox.restore(&id, &[]);
    restored.touched(&["readable", "sub/edited", "sub/new"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for gap in ["closed-file", "closed-dir"] {
        assert_untouched(&before.only(gap), &after.only(gap));
    }
}

#[test]
fn s35_what_was_unreadable_is_not_deleted_when_it_can_be_read_later() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    // The session opens what was closed. Its earlier content is unknown, so all of it stays.
    let id = sandbox.launch(
        &project,
        "chmod 700 closed-dir; chmod 600 closed-file; echo planted > closed-dir/planted; rm readable",
    );
    let damaged = Tree::read(&project);
    let run = sandbox
        .jackin(["restore", &id, "--yes", "--json", "--delete-later-files"])
        .code(6);
    let after = Tree::read(&project);
    for path in [
        "closed-dir/inside",
        "closed-dir/deep/er",
        "closed-dir/planted",
        "closed-file",
    ] {
        assert_eq!(damaged.at(path).kind, after.at(path).kind, "{path}\n{run}");
    }
    assert!(after.has("readable"), "{run}");
}

#[test]
fn a_directory_that_the_session_closed_is_opened_and_the_next_command_is_said() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > sub/edited; chmod 000 sub; rm readable");
    let opened = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    opened.shows(&format!(
        "to restore what can be read now: jackin recovery restore {id}\n"
    ));
    // What the closing snapshot could not see may be the operator's.
    let kept = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    kept.shows("sub/edited: not in the closing snapshot; this may be a later edit");
    sandbox.restore(&id, &["--overwrite-later-edits"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn what_cannot_be_examined_is_named_whatever_else_is_excluded() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let id = sandbox.launch(&project, "rm readable; echo agent > sub/edited");
    Build::at(&project).mode("sub", 0o000);
    for more in [&[][..], &["--exclude", "other"], &["*b*"]] {
        let words = ["restore", id.as_str(), "--dry-run", "--json"];
        let words = words.iter().chain(more);
        let run = sandbox.jackin(words).code(6);
        assert!(run.text().contains("sub"), "{more:?}\n{run}");
    }
    let run = sandbox.jackin(["restore", &id, "--dry-run", "--exclude", "sub"]);
    run.ok();
}

#[test]
fn s35_require_complete_refuses_an_incomplete_snapshot() {
    let Some((sandbox, project)) = with_gaps() else {
        return;
    };
    let id = sandbox.launch(&project, "rm readable");
    let damaged = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes", "--require-complete"])
        .refused();
    assert_untouched(&damaged, &Tree::read(&project));
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]);
    let said = plan.said();
    assert!(
        said.contains(&*project.to_string_lossy()) && said.contains("`show`"),
        "{plan}"
    );
}

#[test]
fn s35_complete_snapshot_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("whole");
    crate::support::nasty::tree(&project);
    sandbox.launch(&project, "true");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    assert!(
        is_root() && all[0].snapshots.iter().all(|snapshot| snapshot.complete) || !is_root(),
        "{run}"
    );
    assert!(all[0].snapshot("baseline").entries > 80, "{run}");
}

#[test]
fn s35_directory_that_cannot_be_written_is_named_and_the_rest_is_restored() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "s35 read-only directory",
            "commands cannot run as another user here",
        );
        return;
    };
    let project = sandbox.project("read-only");
    Build::at(&project)
        .file("fixed/a", "before\n")
        .file("free", "before\n")
        .aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "rm fixed/a; echo agent > free");
    if !is_root() {
        return;
    }
    // Taken over by another user after the session.
    chown(project.join("fixed"), Some(0), Some(0)).unwrap();
    let run = sandbox.jackin(["restore", &id, "--yes", "--json"]);
    assert!(matches!(run.exit(), Some(1 | 6)), "{run}");
    assert!(run.text().contains("fixed"), "{run}");
    if run.exit() == Some(6) {
        assert_eq!(fs::read_to_string(project.join("free")).unwrap(), "before\n");
    }
}

#[test]
fn a_session_that_hides_files_did_not_change_nothing() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35", "commands cannot run as another user here");
        return;
    };
    let hidden = |script: &str| {
        let project = sandbox.project("hides");
        let _ = fs::remove_dir_all(&project);
        Build::at(&project)
            .file("kept", "k\n")
            .file("file", "before\n")
            .file("dir/inside", "i\n")
            .aged();
        sandbox.give(&project);
        let target = project.to_str().unwrap();
        let ended = sandbox
            .launching(target, &["sh", "-c", script])
            .inside(&project)
            .run()
            .ok();
        ended
            .hides("changed nothing")
            .shows("1 path that could not be captured");
        let id = sandbox.newest();
        sandbox.jackin(["list"]).ok().shows("?1");
        sandbox
            .jackin(["diff", &id, "--exit-code"])
            .code(1)
            .hides("no differences");
        sandbox.jackin(["restore", &id, "--yes"]).code(6);
        let document = sandbox
            .jackin(["restore", &id, "--dry-run", "--json"])
            .code(6)
            .json();
        assert_eq!(document["failed"].as_array().unwrap().len(), 1, "{document}");
    };
    hidden("echo ruined > file; chmod 000 file");
    hidden("echo new > new; chmod 000 new");
    // That it is there is known.
    let project = sandbox.project("closes");
    Build::at(&project).file("kept", "k\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "mkdir new; echo new > new/f; chmod 000 new");
    sandbox.jackin(["restore", &id, "--yes"]).code(6).shows("new");
}

#[test]
fn the_owner_of_a_closed_file_is_shown_chmod_and_not_sudo() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("s35", "commands cannot run as another user here");
    };
    let project = sandbox.project("shut");
    let build = Build::at(&project);
    build.file("file", "before\n").file("a b", "before\n").aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let script = "echo ruined > file; echo ruined > 'a b'; chmod 000 file 'a b'";
    let id = sandbox.launch(&project, script);
    let place = project.display();
    let paths = format!("'{place}/a b' {place}/file");
    let restore = format!("restore {id} --overwrite-later-edits {paths}");
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let run = run
        .shows(&format!("chmod u+r {paths}\n"))
        .shows(&format!("jackin recovery {restore}\n"));
    run.hides("as root").hides("sudo");
    // The commands that it shows.
    build.mode("file", 0o400).mode("a b", 0o400);
    let [file, spaced] = ["file", "a b"].map(|name| format!("{place}/{name}"));
    let words = ["restore", &id, "--overwrite-later-edits", &spaced, &file, "--yes"];
    sandbox.jackin(words).ok();
    assert_same_tree(&before, &Tree::read(&project));
    // What you closed after the session is listed before it is discarded.
    let id = sandbox.launch(&project, "echo ruined > file");
    build.mode("file", 0o000);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let run = run.shows(&format!("jackin recovery restore {id} {file}\n"));
    run.hides("--overwrite-later-edits").hides("sudo");
    if is_root() {
        // Only root can open what another user owns.
        chown(project.join("file"), Some(0), Some(0)).unwrap();
        let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
        run.shows("to change them as root").hides("chmod");
    }
}

#[test]
fn what_the_baseline_could_not_read_is_not_made_again_empty() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35", "commands cannot run as another user here");
        return;
    };
    let project = sandbox.project("closed");
    Build::at(&project)
        .file("kept", "k\n")
        .file("secret", "s\n")
        .file("closed/inside", "i\n")
        .aged();
    sandbox.give(&project);
    Build::at(&project).mode("secret", 0o000).mode("closed", 0o000);
    let script = "rm -f secret kept; chmod 755 closed; rm -r closed";
    let id = sandbox.launch(&project, script);
    let run = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
    let document = run.json();
    let failed = document["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 2, "{document}");
    for gap in failed {
        assert!(gap["reason"].as_str().unwrap().contains("missing"), "{document}");
    }
    assert!(project.join("kept").exists() && !project.join("closed").exists());
}

#[test]
fn a_file_in_the_place_of_a_directory_that_could_not_be_listed_stays() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip("s35", "commands cannot run as another user here");
        return;
    };
    let project = sandbox.project("closed");
    Build::at(&project)
        .file("kept", "k\n")
        .file("closed/inside", "i\n")
        .aged();
    sandbox.give(&project);
    Build::at(&project).mode("closed", 0o000);
    let id = sandbox.launch(
        &project,
        "rm kept; chmod 755 closed; rm -r closed; echo file > closed",
    );
    sandbox.jackin(["restore", &id, "--yes"]).code(6).shows("closed");
    assert_eq!(fs::read_to_string(project.join("closed")).unwrap(), "file\n");
    assert!(project.join("kept").exists());
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(!project.join("kept").exists());
}

/// A sandbox with an ordinary user's project that holds one file.
fn ordinary(name: &str) -> Option<(Sandbox, PathBuf)> {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(name, "commands cannot run as another user here");
        return None;
    };
    let project = sandbox.project(name);
    Build::at(&project).file("f", "before\n").aged();
    sandbox.give(&project);
    Some((sandbox, project))
}

#[test]
fn a_directory_that_gets_a_mode_that_shuts_its_owner_out_has_it_in_the_end() {
    for mode in ["600", "500", "400"] {
        let Some((sandbox, project)) = ordinary("shut again") else {
            return;
        };
        let directory = project.join("d");
        let mode_now = || fs::metadata(&directory).unwrap().permissions().mode() & 0o7777;
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("x"), "x\n").unwrap();
        sandbox.give(&project);
        let (before, was) = (Tree::read(&project), mode_now());
        sandbox.launch(&project, &format!("rm d/x; chmod {mode} d"));
        let after = mode_now();
        let run = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
        run(&["restore", "--yes"]);
        assert_same_tree(&before, &Tree::read(&project));
        for expected in [after, was, after] {
            run(&["undo", "--yes"]);
            assert_eq!(mode_now(), expected, "{mode}");
        }
    }
}

#[test]
fn a_rollback_ends_where_the_time_of_a_directory_cannot_be_set_by_its_name() {
    let Some((sandbox, project)) = ordinary("rolled back") else {
        return;
    };
    let of_another = project.join("of-another");
    for directory in [&of_another, &project.join("d")] {
        fs::create_dir(directory).unwrap();
        fs::write(directory.join("x"), "x\n").unwrap();
    }
    sandbox.give(&project);
    let is_foreign = is_root();
    if is_foreign {
        chown(&of_another, Some(0), Some(0)).unwrap();
        fs::set_permissions(&of_another, fs::Permissions::from_mode(0o777)).unwrap();
    }
    sandbox.launch(&project, "rm d/x of-another/x; chmod 400 d");
    let damaged = Tree::read(&project);
    let stopped = sandbox
        .command(["restore", "--yes"])
        .inside(&project)
        .with("JACKIN_RECOVERY_FAIL_AT", "moved")
        .run();
    assert_ne!(stopped.exit(), Some(0), "{stopped}");
    sandbox.command(["abort", "--yes"]).inside(&project).run().ok();
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.command(["restore", "--yes"]).inside(&project).run().ok();
    assert!(project.join("d/x").exists() && of_another.join("x").exists());
}

#[test]
fn what_could_not_get_its_owner_is_removed_by_an_undo_whichever_name_or_process_set_it() {
    if !is_root() {
        return skip(
            "an owner that cannot be set",
            "only root gives files to another user",
        );
    }
    for point in [None, Some("journaled"), Some("moved"), Some("decided")] {
        let Some((sandbox, project)) = ordinary("of root") else {
            return;
        };
        let one = project.join("one");
        fs::write(&one, "one\n").unwrap();
        fs::hard_link(&one, project.join("two")).unwrap();
        chown(&one, Some(0), Some(0)).unwrap();
        let id = sandbox.launch(&project, "rm one two");
        let run = |words: &[&str], point: Option<&str>| {
            let run = sandbox.command(words).inside(&project);
            match point {
                Some(point) => run.with("JACKIN_RECOVERY_FAIL_AT", point).run(),
                None => run.run(),
            }
        };
        let restored = run(&["restore", &id, "--yes"], point);
        let said = match point {
            None => restored,
            Some(_) => run(&["resume", "--yes"], None),
        };
        let said = said.code(6);
        said.has("one: owner 0:0 could not be set");
        said.has("two: owner 0:0 could not be set");
        said.has("sudo ");
        assert_eq!(fs::read_to_string(project.join("two")).unwrap(), "one\n");
        run(&["undo", "--yes"], None).ok();
        assert!(!one.exists() && !project.join("two").exists(), "{point:?}");
    }
}

#[test]
fn what_cannot_be_removed_yet_gives_no_restore_a_second_receipt() {
    if !is_root() {
        return skip(
            "a directory of root's",
            "only root gives a directory to another user",
        );
    }
    let Some((sandbox, project)) = ordinary("leftover") else {
        return;
    };
    fs::create_dir_all(project.join("B/d/x")).unwrap();
    fs::write(project.join("B/d/x/f"), "1\n").unwrap();
    sandbox.give(&project);
    chown(project.join("B/d"), Some(0), Some(0)).unwrap();
    let id = sandbox.launch(&project, "mv B B.s");
    let [old, new] = ["B", "B.s"].map(|name| project.join(name).join("d/x/f"));
    for (verb, there, gone) in [
        ("restore", &old, &new),
        ("undo", &new, &old),
        ("undo", &old, &new),
        ("undo", &new, &old),
    ] {
        sandbox.jackin([verb, &id, "--yes"]).code_in(&[0, 6]);
        assert!(there.exists() && !gone.exists(), "{verb}");
        sandbox.jackin(["log"]).ok().hides("is not recorded");
    }
    let document = sandbox.jackin(["log", &id, "--json"]).ok().json().to_string();
    assert_eq!(document.matches("\"act\":\"restore\"").count(), 4, "{document}");
}

#[test]
fn what_stays_of_an_interrupted_restore_is_counted_when_it_is_resumed() {
    let Some((sandbox, project)) = ordinary("resumed in part") else {
        return;
    };
    fs::create_dir_all(project.join("b/x")).unwrap();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "chmod 0005 b; echo agent > f");
    let stopped = sandbox
        .command(["restore", &id, "--yes"])
        .with("JACKIN_RECOVERY_FAIL_AT", "journaled")
        .run();
    assert_ne!(stopped.exit(), Some(0), "{stopped}");
    let run = sandbox.jackin(["resume", &id, "--yes"]).code(6);
    run.shows("as planned, something stayed")
        .shows("`jackin recovery restore`");
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "before\n");
}

#[test]
fn a_root_without_access_leads_to_the_mode_that_gives_it_and_to_its_own_mode() {
    for (mode, letters) in [("000", "rwx"), ("600", "x"), ("444", "wx")] {
        let Some((sandbox, project)) = ordinary("closed root") else {
            return;
        };
        let before = Tree::read(&project);
        let script = format!("rm f; cd ..; chmod {mode} 'closed root'");
        let id = sandbox.launch(&project, &script);
        let refused = sandbox.jackin(["restore", &id, "--yes"]).code(1);
        let command = format!("chmod u+{letters} '{}'", project.display());
        refused
            .shows(&command)
            .shows("`restore --overwrite-later-edits`")
            .hides("sudo");
        assert!(
            Command::new("sh")
                .args(["-c", &command])
                .status()
                .unwrap()
                .success()
        );
        sandbox.restore(&id, &["--overwrite-later-edits"]);
        assert_same_tree(&before, &Tree::read(&project));
    }
}

#[test]
fn a_directory_above_a_root_is_the_one_to_be_made_accessible() {
    let Some((sandbox, project)) = ordinary("below") else {
        return;
    };
    let id = sandbox.launch(&project, "echo agent > f");
    sandbox.give(&sandbox.sources());
    let build = Build::at(project.parent().unwrap());
    build.mode("", 0o600);
    let run = sandbox.jackin(["restore", &id, "--yes"]);
    build.mode("", 0o755);
    let command = format!("chmod u+x {}\n", sandbox.sources().display());
    run.code(1).shows(&command).hides("--overwrite-later-edits");
}

#[test]
fn a_root_that_its_owner_may_not_write_leads_to_the_mode_that_lets_him() {
    let Some((sandbox, project)) = ordinary("shut") else {
        return;
    };
    if !is_root() {
        return;
    }
    // Nothing can be staged beside the root.
    chown(sandbox.sources(), Some(0), Some(0)).unwrap();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > f; chmod -R a-w .");
    let refused = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    let command = format!("chmod u+w {}\n", project.display());
    refused.shows(&command).hides("sudo");
    assert!(
        Command::new("sh")
            .args(["-c", &command])
            .status()
            .unwrap()
            .success()
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

/// Returns the change of mode that an error proposes: the rights, and the path.
fn proposed_chmod(run: &Run) -> Option<(u32, PathBuf)> {
    let text = run.text();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("chmod u+"))?;
    let (letters, path) = line.split_once(' ')?;
    let bit = |letter| match letter {
        'r' => 0o400,
        'w' => 0o200,
        _ => 0o100,
    };
    Some((letters.chars().map(bit).sum(), path.into()))
}

#[test]
fn what_the_mode_of_an_own_file_of_the_store_denies_is_given_back_step_by_step() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("s35", "commands cannot run as another user here");
    };
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone", "gone\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    sandbox.launch(&project, "echo agent > a; rm gone");
    let closed = [
        "archives",
        "snapshots",
        "locks",
        "receipts.log",
        "catalog.sqlite3",
        ".",
    ];
    for name in closed {
        let path = sandbox.store().join(name);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        let restore = || sandbox.command(["restore", "--yes"]).inside(&project).run();
        let mut steps = 0;
        loop {
            let run = restore();
            if run.exit() == Some(0) {
                break;
            }
            // Nothing is damaged.
            assert_eq!(run.exit(), Some(1), "{name}: {run}");
            let (bits, path) = proposed_chmod(&run).unwrap_or_else(|| panic!("{name}: {run}"));
            let now = fs::metadata(&path).unwrap().permissions().mode();
            fs::set_permissions(&path, fs::Permissions::from_mode(now | bits)).unwrap();
            steps += 1;
            assert!(steps <= 2, "{name}: {run}");
        }
        assert!(steps > 0, "{name}");
        assert_same_tree(&before, &Tree::read(&project));
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        sandbox.command(["undo", "--yes"]).inside(&project).run().ok();
    }
}

#[test]
fn what_is_no_file_in_a_place_of_the_store_is_named_and_not_waited_for() {
    for name in ["catalog.sqlite3", "catalog.sqlite3-journal", "receipts.log"] {
        for is_pipe in [true, false] {
            let sandbox = Sandbox::new();
            let project = sandbox.project("shop");
            Build::at(&project).file("gone", "gone\n").aged();
            let before = Tree::read(&project);
            sandbox.launch(&project, "rm gone");
            let (place, aside) = (sandbox.store().join(name), sandbox.scratch("aside"));
            fs::rename(&place, &aside).unwrap();
            match is_pipe {
                true => drop(run_tool(Command::new("mkfifo").arg("-m600").arg(&place))),
                false => fs::create_dir(&place).unwrap(),
            }
            for words in [&["show"][..], &["diff"], &["restore", "--yes"]] {
                let run = sandbox.command(words).inside(&project).run();
                let run = run.shows("it is not a regular file; move it away");
                run.shows(name);
            }
            assert!(!project.join("gone").exists());
            fs::rename(&place, sandbox.scratch("moved")).unwrap();
            fs::rename(&aside, &place).unwrap();
            sandbox.command(["restore", "--yes"]).inside(&project).run().ok();
            assert_same_tree(&before, &Tree::read(&project));
        }
    }
}
