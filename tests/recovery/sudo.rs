//! The operator's own session, put back by root: what only root may change comes back, and the store stays the operator's.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::Restored;
use crate::support::machine::{NOBODY, is_root, skip};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Some other user, whose files lie in the operator's project.
const STRANGER: u32 = 4_000_123;

/// A sandbox whose operator is not root while the tests are.
fn operators(what: &str) -> Option<Sandbox> {
    let sandbox = if is_root() { Sandbox::unprivileged() } else { None };
    if sandbox.is_none() {
        skip(what, "only root can play both the operator and root");
    }
    sandbox
}

/// A session of the operator in which files of another user are lost and come: he may not put them back as they were.
fn with_foreign_files(sandbox: &Sandbox) -> (PathBuf, String, Tree) {
    let project = sandbox.project("shared");
    Build::at(&project)
        .file("own", "before\n")
        .file("theirs", "a stranger's\n")
        .file("closed/inside", "before\n")
        .aged();
    sandbox.give(&project);
    give(&project.join("theirs"), STRANGER);
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        fs::remove_file(project.join("theirs")).unwrap();
        fs::write(project.join("own"), "agent\n").unwrap();
        // A container whose root is the host's leaves such.
        fs::write(project.join("closed/inside"), "agent\n").unwrap();
        give(&project.join("closed"), 0);
        give(&project.join("closed/inside"), 0);
        Build::at(project).file("planted/by-root", "agent\n");
        chown(project.join("planted"), Some(0), Some(0)).unwrap();
    });
    (project, id, before)
}

fn give(path: &Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
}

fn sudo<const N: usize>(sandbox: &Sandbox, words: [&str; N]) -> Run {
    sandbox.command(words).by_sudo().run()
}

/// Everything in the store, and what leads to it, is the operator's alone.
#[track_caller]
fn assert_operators(sandbox: &Sandbox) {
    for entry in walkdir::WalkDir::new(sandbox.home().join(".jackin")) {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        let path = entry.path().display();
        assert_eq!((meta.uid(), meta.gid()), (NOBODY, NOBODY), "{path}");
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.mode() & 0o7777, wanted, "{path}");
    }
}

#[test]
fn what_the_operator_may_not_put_back_is_named_and_sudo_puts_it_back() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let (project, id, before) = with_foreign_files(&sandbox);
    let damaged = Tree::read(&project);

    let run = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
    let document = run.json();
    for path in ["theirs", "closed", "closed/inside", "planted"] {
        let failed = document["failed"].as_array().unwrap();
        let reason = failed.iter().find(|failed| failed["path"] == path);
        let reason = reason.unwrap_or_else(|| panic!("{path} is not named\n{run}"));
        assert!(!reason["reason"].as_str().unwrap().is_empty(), "{run}");
    }
    assert_eq!(fs::read_to_string(project.join("own")).unwrap(), "before\n");
    sandbox.no_litter();
    let again = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    again.shows(&format!("sudo jackin recovery restore {id}"));

    let run = sudo(&sandbox, ["restore", &id, "--yes", "--json"]).code(0);
    assert!(Restored::of(&run).failed.is_empty(), "{run}");
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.no_litter();
    assert_operators(&sandbox);
    assert_ne!(damaged, before);
}

#[test]
fn the_operator_goes_on_with_a_store_that_root_worked_in() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("own");
    Build::at(&project)
        .file("a", "before\n")
        .file("gone", "x\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; rm gone; echo new > new");
    let damaged = Tree::read(&project);

    sudo(&sandbox, ["restore", &id, "--yes"])
        .ok()
        .hides("sudo jackin");
    assert_same_tree(&before, &Tree::read(&project));
    assert_operators(&sandbox);
    // Who acted stays recorded.
    let log = fs::read_to_string(sandbox.store().join("receipts.log")).unwrap();
    let users: Vec<&str> = log
        .lines()
        .map(|line| {
            if line.contains("\"uid\":0,") {
                "root"
            } else {
                "operator"
            }
        })
        .collect();
    assert_eq!(users.first(), Some(&"operator"), "{log}");
    assert_eq!(users.last(), Some(&"root"), "{log}");

    sandbox.jackin(["list"]).ok().shows(&id);
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["doctor"]).ok();
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    sudo(&sandbox, ["undo", &id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.launch(&project, "echo again > a");
    assert_operators(&sandbox);
}

#[test]
fn a_project_that_was_taken_from_the_operator_leads_to_sudo() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("taken");
    Build::at(&project)
        .file("seen", "before\n")
        .file("unseen", "before\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > seen; echo agent > unseen");
    let hint = "sudo jackin recovery restore";
    // What cannot be looked at is named, and not touched.
    give(&project.join("unseen"), 0);
    Build::at(&project).mode("unseen", 0o600);
    let run = sandbox.jackin(["restore", &id, "--yes"]);
    run.shows("unseen: cannot be read: permission denied").shows(hint);
    assert_eq!(fs::read_to_string(project.join("seen")).unwrap(), "before\n");
    sandbox.undo(&id);

    // Nothing can be staged beside the root, nor in it.
    give(&project, 0);
    give(&sandbox.sources(), 0);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    run.shows("repeat the command with `sudo`");
    let all = ["restore", &id, "--yes", "--overwrite-later-edits"];
    sudo(&sandbox, all).ok();
    assert_same_tree(&before, &Tree::read(&project));
    assert_operators(&sandbox);
}

/// What the session changed, and the operator cannot even read any more, is not put back: that is no complete success.
#[test]
fn what_the_operator_cannot_look_at_any_more_is_not_success() {
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("hidden");
    Build::at(&project).file("hidden", "before\n").aged();
    sandbox.give(&project);
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("hidden"), "agent\n").unwrap();
        give(&project.join("hidden"), 0);
        Build::at(project).mode("hidden", 0o600);
    });
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.shows("hidden: cannot be read: permission denied");
}

#[test]
fn every_verb_of_root_leaves_the_store_to_the_operator() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("verbs");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.give(&project);
    let target = project.to_str().unwrap();
    // The first verb of all: there is no store yet.
    sudo(
        &sandbox,
        ["launch", "--snapshot", "project", target, "--", "true"],
    )
    .ok()
    .hides("will not be able to use it");
    assert_operators(&sandbox);
    let run = sudo(&sandbox, ["doctor"]).ok();
    run.hides("belongs to user").shows("no links in it");
    sudo(&sandbox, ["begin", "--snapshot", "project", target]).ok();
    let id = sandbox.newest();
    sudo(&sandbox, ["checkpoint", &id]).ok();
    sudo(&sandbox, ["end", &id]).ok();
    // No database any more: it is laid aside, and made anew.
    fs::write(
        sandbox.store().join("catalog.sqlite3"),
        "no database, but long enough for one",
    )
    .unwrap();
    sudo(&sandbox, ["list"]).ok();
    sudo(
        &sandbox,
        ["launch", "--snapshot", "project", target, "--", "true"],
    )
    .ok();
    sudo(&sandbox, ["rebuild", "--yes"]).code_in(&[0, 2]);
    sudo(&sandbox, ["verify", "--read-data"]).ok();
    assert_operators(&sandbox);
    sandbox.jackin(["show", &id]).ok();
}

#[test]
fn links_in_the_store_lead_root_nowhere() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("hostile");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let damaged = Tree::read(&project);
    let store = sandbox.store();

    // What is root's alone, of every kind that the store could be led to.
    let roots = sandbox.scratch("roots");
    Build::at(&roots)
        .file("file", "root's\n")
        .mode("file", 0o600)
        .dir("directory")
        .mode("directory", 0o755)
        .file("open", "root's, for all to read\n");
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(store.join("catalog.sqlite3"), roots.join("catalog")).unwrap();
    let untouched = Tree::read(&roots);

    let places = [
        ("receipts.log", "file"),
        ("receipts.log", "open"),
        ("receipts.log", "missing"),
        ("catalog.sqlite3", "catalog"),
        ("catalog.sqlite3", "missing"),
        ("locks", "directory"),
        ("locks/receipts", "file"),
        ("locks/drafts", "missing"),
        ("locks/store", "open"),
        ("tmp", "directory"),
        ("archives", "directory"),
        ("snapshots", "directory"),
        ("", "directory"),
    ];
    for (place, target) in places {
        let place: PathBuf = store.join(place).components().collect();
        let aside = sandbox.home().join("aside");
        fs::rename(&place, &aside).unwrap_or_else(|_| fs::write(&aside, "").unwrap());
        symlink(roots.join(target), &place).unwrap();
        let run = sudo(&sandbox, ["restore", &id, "--yes"]).refused();
        assert_untouched(&untouched, &Tree::read(&roots));
        assert_untouched(&damaged, &Tree::read(&project));
        run.harmless();
        fs::remove_file(&place).unwrap();
        fs::rename(&aside, &place).unwrap();
    }
    // A directory above the store may be a link, and root goes where it leads only with the operator's rights.
    let data = sandbox.home().join(".jackin/data");
    fs::rename(&data, sandbox.home().join("aside")).unwrap();
    symlink(roots.join("directory"), &data).unwrap();
    let target = project.to_str().unwrap();
    sudo(
        &sandbox,
        ["launch", "--snapshot", "project", target, "--", "true"],
    )
    .refused();
    assert_untouched(&untouched, &Tree::read(&roots));
    fs::remove_file(&data).unwrap();
    fs::rename(sandbox.home().join("aside"), &data).unwrap();

    sudo(&sandbox, ["restore", &id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
}

#[test]
fn a_journal_that_is_a_link_is_not_played_back_by_root() {
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("journal");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let roots = sandbox.scratch("roots");
    Build::at(&roots)
        .file("journal", "root's\n")
        .mode("journal", 0o600);
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o755)).unwrap();
    let untouched = Tree::read(&roots);
    let journal = sandbox.store().join("catalog.sqlite3-journal");
    let _ = fs::remove_file(&journal);
    symlink(roots.join("journal"), &journal).unwrap();
    let run = sudo(&sandbox, ["restore", &id, "--yes"]);
    assert!(run.exit().is_some_and(|code| code != 101), "{run}");
    assert_untouched(&untouched, &Tree::read(&roots));
}

#[test]
fn without_its_caller_root_is_refused_the_store_of_another_user() {
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("plain");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let store = Tree::read(&sandbox.store());
    let number = NOBODY.to_string();
    let stranger = STRANGER.to_string();
    let callers: [&[(&str, &str)]; 5] = [
        &[],
        &[("SUDO_UID", "0"), ("SUDO_GID", "0")],
        &[("SUDO_UID", &number)],
        &[("SUDO_UID", "nobody"), ("SUDO_GID", "nogroup")],
        &[("SUDO_UID", &stranger), ("SUDO_GID", &stranger)],
    ];
    for caller in callers {
        let command = sandbox.command(["restore", &id, "--yes"]).by_root();
        let command = caller
            .iter()
            .fold(command, |command, (name, value)| command.with(name, value));
        let run = command.run().refused();
        let run = run.shows(&format!("belongs to user {NOBODY}"));
        if caller.first().is_some_and(|(_, value)| *value == stranger) {
            run.shows(&format!(
                "the home of user {STRANGER}, who called sudo, is unknown"
            ));
        }
        assert_untouched(&store, &Tree::read(&sandbox.store()));
    }
    // SUDO_UID in the environment of somebody who is not root means nothing.
    let run = sandbox
        .command(["list"])
        .with("SUDO_UID", "1")
        .with("SUDO_GID", "1");
    run.run().ok().shows(&id);
}

#[test]
fn root_names_a_home_of_its_own() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let project = sandbox.project("own-home");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.give(&project);
    let home = sandbox.scratch("roots");
    fs::create_dir(&home).unwrap();
    let launch = [
        "launch",
        "--snapshot",
        "project",
        project.to_str().unwrap(),
        "--",
        "true",
    ];
    let run = sandbox
        .command(launch)
        .by_sudo()
        .with("JACKIN_HOME_DIR", home.join("jackin"));
    run.run().ok();
    assert!(!sandbox.home().join(".jackin").exists());
    assert_eq!(fs::metadata(home.join("jackin/data/recovery")).unwrap().uid(), 0);

    // And one of the operator's, which stays the operator's.
    let named = sandbox.home().join("elsewhere");
    let run = sandbox.command(launch).by_sudo().with("HOME", &home);
    run.with("JACKIN_HOME_DIR", &named).run().ok();
    for entry in walkdir::WalkDir::new(&named) {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().uid(),
            NOBODY,
            "{}",
            entry.path().display()
        );
    }
}

/// A session of the operator, whose restore by `sudo` or by himself died at this point. Returns the project, and the trees before and
/// after the session.
fn with_dead_restore(sandbox: &Sandbox, point: &str, by_sudo: bool) -> (PathBuf, String, [Tree; 2]) {
    let project = sandbox.project("dead");
    Build::at(&project)
        .file("f1", "before\n")
        .file("f2", "before\n")
        .file("moved", "before\n")
        .file("deep/inside", "before\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo agent > f1; echo agent > f2; mv moved away; rm -r deep; echo new > new",
    );
    let wrecked = Tree::read(&project);
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let restore = match by_sudo {
        true => restore.by_sudo(),
        false => restore,
    };
    restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
    (project, id, [before, wrecked])
}

/// The staging directory of root exists: the operator's `abort` does not take it for a missing one.
#[test]
fn a_restore_that_root_began_waits_for_root() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    for (point, verb) in [
        ("move:3", "abort"),
        ("moved", "resume"),
        ("moved", "abort"),
        ("compared", "abort"),
    ] {
        let Some(sandbox) = operators("sudo") else { return };
        let (project, id, [before, wrecked]) = with_dead_restore(&sandbox, point, true);
        let now = Tree::read(&project);
        for own in ["resume", "abort"] {
            let run = sandbox.jackin([own, &id, "--yes"]).code(8);
            run.shows("belongs to user 0")
                .shows("sudo jackin recovery resume")
                .shows("sudo jackin recovery abort");
            assert_untouched(&now, &Tree::read(&project));
        }
        sudo(&sandbox, [verb, &id, "--yes"]).ok();
        let wanted = if verb == "abort" { &wrecked } else { &before };
        assert_same_tree(wanted, &Tree::read(&project));
        sandbox.no_litter();
        assert_operators(&sandbox);
    }
}

/// As soon as it is decided, only root can clear up.
#[test]
fn what_root_decided_is_cleared_up_by_root() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let (project, id, [before, _]) = with_dead_restore(&sandbox, "decided", true);
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(8)
        .shows("sudo jackin recovery resume");
    sudo(&sandbox, ["resume", &id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.no_litter();
    sandbox.undo(&id);
}

/// Before the first move nothing waits, but the directory that was made is not forgotten.
#[test]
fn a_restore_that_root_staged_is_named_until_root_clears_it_up() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    let Some(sandbox) = operators("sudo") else { return };
    let (project, id, [before, _]) = with_dead_restore(&sandbox, "staged", true);
    let run = sandbox.jackin(["restore", &id, "--yes"]);
    run.code_in(&[0, 6]).shows("belongs to user 0");
    assert_same_tree(&before, &Tree::read(&project));
    sudo(&sandbox, ["launch", "--", "true"]);
    sudo(&sandbox, ["restore", &id, "--yes"]);
    sandbox.no_litter();
}

/// And the other way round: root takes up the restore of the operator.
#[test]
fn root_takes_up_a_restore_of_the_operator() {
    if crate::support::machine::is_portable("threads have no user of their own") {
        return;
    }
    for (point, verb) in [
        ("move:3", "abort"),
        ("moved", "abort"),
        ("moved", "resume"),
        ("staged", "abort"),
    ] {
        let Some(sandbox) = operators("sudo") else { return };
        let (project, id, [before, wrecked]) = with_dead_restore(&sandbox, point, false);
        sudo(&sandbox, [verb, &id, "--yes"]).ok();
        let wanted = if verb == "abort" { &wrecked } else { &before };
        assert_same_tree(wanted, &Tree::read(&project));
        sandbox.no_litter();
        assert_operators(&sandbox);
    }
}

/// A file that comes back with a note was made now, and so was its entry in the directory.
#[test]
fn a_directory_in_which_something_comes_back_inexactly_is_changed_now() {
    let Some(sandbox) = operators("capabilities") else {
        return;
    };
    let project = sandbox.project("capable");
    Build::at(&project).file("d/cap", "before\n").aged();
    sandbox.give(&project);
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    Build::at(&project).attribute("d/cap", "security.capability", capability);
    if Tree::read(&project).at("d/cap").attributes.is_empty() {
        return;
    }
    let id = sandbox.launch(&project, "rm d/cap; touch -d 2030-01-01 d");
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    run.shows("security.capability could not be set");
    let changed = fs::metadata(project.join("d")).unwrap().modified().unwrap();
    let ahead = changed.duration_since(std::time::SystemTime::now());
    assert!(ahead.is_err(), "{ahead:?}");
}

/// The operator's next command copies what root stored.
#[test]
fn root_names_no_copy_that_it_does_not_make() {
    let Some(sandbox) = operators("the copy of the store") else {
        return;
    };
    let key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    sandbox.configure(
        "config.toml",
        &format!(
            "[recovery]\nsnapshot = \"project\"\nstate.recipients = [\"{key}\"]\nstore.replicate = \"s3://bucket/prefix\"\n"
        ),
    );
    let project = sandbox.project("copied");
    Build::at(&project).file("a", "before\n");
    sandbox.give(&project);
    let words = ["explain", project.to_str().unwrap()];
    sandbox.jackin(words).ok().shows("Copied to");
    sudo(&sandbox, words).ok().hides("Copied to");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn root_copies_nothing_to_an_object_store_of_the_operator() {
    let Some(sandbox) = operators("sudo") else { return };
    let recipient = crate::replicas::RECIPIENT;
    let place = crate::replicas::PLACE;
    sandbox.configure(
        "config.toml",
        &format!(
            "[recovery.state]\nrecipients = [\"{recipient}\"]\n[recovery.store]\nreplicate = \"{place}\"\n"
        ),
    );
    let project = sandbox.project("own");
    sandbox.give(&project);
    sandbox.session(&project, |_| {});
    for run in [
        sudo(&sandbox, ["replicate"]),
        sudo(&sandbox, ["forget", "--replica", "--yes"]),
    ] {
        run.code(2).shows(&format!("run it as user {NOBODY}"));
    }
}
