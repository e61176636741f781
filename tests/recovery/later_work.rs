//! Work that came after the session survives its restore (scenarios 23, 25); a damaged closing snapshot only vouches for nothing.

use std::fs;
use std::path::Path;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::{Restored, instances};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s23_later_files_and_edits_are_kept_and_listed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("later");
    Build::at(&project)
        .file("both", "before\n")
        .file("agent-only", "before\n")
        .file("operator-only", "before\n")
        .file("deleted-later", "before\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo agent > both; echo agent > agent-only; echo agent > new",
    );
    Build::at(&project)
        .file("notes.md", "written by the operator\n")
        .file("both", "operator\n")
        .file("operator-only", "operator\n")
        .file("later/deep/file", "operator\n");
    fs::remove_file(project.join("deleted-later")).unwrap();
    let edited = Tree::read(&project);

    let kept = [
        "both",
        "deleted-later",
        "later",
        "later/deep",
        "later/deep/file",
        "notes.md",
        "operator-only",
    ];
    let plan = sandbox.plan(&id, &[]);
    plan.conflicted(&kept);
    plan.touched(&["agent-only", "new"]);
    assert_untouched(&edited, &Tree::read(&project));
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .shows("notes.md")
        .shows("operator-only");

    let restored = sandbox.restore_in_part(&id, &[]);
    restored.conflicted(&kept);
    restored.touched(&["agent-only", "new"]);
    let after = Tree::read(&project);
    for path in ["both", "later", "notes.md", "operator-only"] {
        assert_untouched(&edited.only(path), &after.only(path));
    }
    assert_eq!(after.at("agent-only").kind, before.at("agent-only").kind);
    assert!(!after.has("new") && !after.has("deleted-later"));
}

#[test]
fn s23_each_flag_allows_one_kind_of_loss() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("flags");
    Build::at(&project)
        .file("edited", "before\n")
        .file("agent", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > agent");
    Build::at(&project)
        .file("notes.md", "later\n")
        .file("edited", "later\n");

    // The plan marks what is lost.
    let planned = sandbox.jackin(["restore", &id, "--overwrite-later-edits", "--dry-run"]);
    let planned = planned.text();
    let marked = planned
        .lines()
        .filter(|line| line.ends_with("  discards a later edit"));
    let marked: Vec<&str> = marked.collect();
    assert!(marked.len() == 1 && marked[0].contains(" edited"), "{planned}");

    let restored = sandbox.restore_in_part(&id, &["--overwrite-later-edits"]);
    restored.conflicted(&["notes.md"]);
    restored.touched(&["agent", "edited"]);
    let restored = sandbox.restore(&id, &["--delete-later-files"]);
    restored.touched(&["notes.md"]);
    assert_same_tree(&before, &Tree::read(&project));
    // Even what was given up by a flag is in the emergency snapshot.
    sandbox.undo(&id);
    assert!(project.join("notes.md").is_file());
}

#[test]
fn s23_file_that_only_its_times_changed_later_is_no_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("times");
    Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    Build::at(&project).aged();
    sandbox.restore(&id, &[]).touched(&["a"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s25_restoring_the_first_session_keeps_the_second_ones_work() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("two");
    Build::at(&project)
        .file("f", "before\n")
        .file("g", "before\n")
        .file("h", "before\n")
        .aged();

    let first = sandbox.launch(&project, "echo first > f; echo first > h; echo first > a.txt");
    let second = sandbox.launch(&project, "echo second > g; echo second > h; echo second > b.txt");
    let restored = sandbox.restore_in_part(&first, &[]);
    restored.touched(&["a.txt", "f"]);
    restored.conflicted(&["b.txt", "g", "h"]);
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_default();
    assert_eq!(
        ["f", "g", "h", "b.txt"].map(read),
        ["before\n", "second\n", "second\n", "second\n"]
    );
    assert!(!project.join("a.txt").exists());

    // The second one's own restore goes back to where it began.
    let restored = sandbox.restore(&second, &[]);
    assert!(
        ["b.txt", "g", "h"]
            .iter()
            .all(|path| restored.applied.contains(&path.as_bytes().to_vec()))
    );
    assert_eq!(["g", "h", "b.txt"].map(read), ["before\n", "first\n", ""]);
}

#[test]
fn s25_paths_changed_while_both_lived_are_shared() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("overlap");
    Build::at(&project)
        .file("f", "before\n")
        .file("g", "before\n")
        .aged();

    let first = Background::launch(&sandbox, &project, "echo first > f");
    let first_id = sandbox.newest();
    let second = sandbox
        .launching(&project, &["sh", "-c", "echo second > g"])
        .inside(&project)
        .run()
        .ok();
    // It goes ahead beside an active one and says so.
    let second = second.shows(&first_id);
    let second_id = sandbox.newest();
    assert_ne!(first_id, second_id, "{second}");
    // While the first lives, the second's paths are not free.
    sandbox.jackin(["restore", &second_id, "--yes"]).code(3);
    first.end().ok();

    let run = sandbox.jackin(["restore", &first_id, "--yes", "--json"]).code(6);
    let restored = Restored::of(&run);
    assert!(restored.conflicts.contains(&b"g".to_vec()), "{run}");
    assert!(
        restored.document["conflicts"].to_string().contains(&second_id),
        "it names both\n{run}"
    );
    assert_eq!(fs::read_to_string(project.join("g")).unwrap(), "second\n");
}

#[test]
fn changes_that_no_snapshot_of_another_session_shows_are_shared() {
    let cases: [(&str, &str, &[&str]); 4] = [
        // The baseline is larger than the limit.
        ("", "", &["--snapshot", "project", "--on-failure", "run"]),
        ("", "", &["--snapshot", "metadata"]),
        ("sub", "sub/", &["--snapshot", "metadata"]),
        // What is not tracked the agent may write all the same.
        ("", "", &["--snapshot", "project", "--path", "sub"]),
    ];
    for (at, (below, prefix, flags)) in cases.into_iter().enumerate() {
        let sandbox = Sandbox::new();
        let project = sandbox.project("beside");
        Build::at(&project)
            .file("f", "before\n")
            .file("gone", "before\n")
            .file("sub/f", "before\n")
            .file("sub/gone", "before\n")
            .aged();
        let sleeper = Background::launch(&sandbox, &project, "");
        let sleeper_id = sandbox.newest();
        if at == 0 {
            sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 1\n");
        }
        let place = project.join(below);
        let script = ["sh", "-c", "echo agent > f; rm gone; echo agent > new"];
        let words = [&["launch"][..], flags, &[place.to_str().unwrap(), "--"], &script].concat();
        let run = sandbox.command(words).inside(&place).run().ok();
        run.shows(&sleeper_id);
        sandbox.configure("config.toml", "");
        let worker_id = sandbox.newest();
        assert_ne!(sleeper_id, worker_id);
        sleeper.end().ok();
        let left = Tree::read(&project);

        let run = sandbox
            .jackin(["restore", &sleeper_id, "--yes", "--json"])
            .code(6);
        let restored = Restored::of(&run);
        let paths = ["f", "gone", "new"].map(|name| format!("{prefix}{name}"));
        restored.conflicted(&paths.each_ref().map(String::as_str));
        assert!(
            restored.document["conflicts"].to_string().contains(&worker_id),
            "it names both\n{run}"
        );
        assert_untouched(&left, &Tree::read(&project));
    }
}

/// A file that another session's restore removed is no change of this session. It comes back where the operator names it.
#[test]
fn what_another_sessions_restore_removed_comes_back_where_it_is_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("src/kept", "before\n").aged();
    let first = sandbox.launch(&project, "echo first > src/made");
    let second = sandbox.launch(&project, "echo second > src/kept");
    sandbox.restore_in_part(&first, &[]).conflicted(&["src/kept"]);
    assert!(!project.join("src/made").exists());
    sandbox.restore(&second, &[]).touched(&["src/kept"]);
    assert!(!project.join("src/made").exists());

    for named in ["src/made", "src"] {
        let path = project.join(named);
        let named = path.to_str().unwrap();
        sandbox
            .jackin(["restore", &second, named, "--yes"])
            .ok()
            .shows("src/made: restored by another session, not changed by this one");
        assert!(!project.join("src/made").exists());
        sandbox.restore(&second, &[named, "--overwrite-later-edits"]);
        assert_eq!(fs::read_to_string(project.join("src/made")).unwrap(), "first\n");
        sandbox.jackin(["undo", &second, "--yes"]).ok();
        assert!(!project.join("src/made").exists());
    }
}

/// The same where the other session had a directory above, or one below.
#[test]
fn what_a_restore_of_a_nested_root_left_is_nobodys_later_edit() {
    for (first, second) in [("shop/sub", "shop"), ("shop", "shop/sub")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        Build::at(&project)
            .file("sub/f", "before\n")
            .file("sub/gone", "gone\n")
            .aged();
        let at = |root: &str| sandbox.sources().join(root);
        let inside = |root: &str| if root == "shop" { "cd sub; " } else { "" };
        let work = "echo first > f; echo made > new; rm gone";
        let first_id = sandbox.launch(&at(first), &format!("{}{work}", inside(first)));
        let second_id = sandbox.launch(&at(second), "true");
        sandbox.jackin(["restore", &first_id, "--yes"]).ok();
        let before = Tree::read(&project);

        sandbox
            .jackin(["restore", &second_id, "--yes"])
            .ok()
            .hides("--overwrite-later-edits");
        assert_untouched(&before, &Tree::read(&project));
        // What the operator does after it is a later edit.
        fs::write(project.join("sub/f"), "mine\n").unwrap();
        let f = if second == "shop" { "sub/f" } else { "f" };
        sandbox.restore_in_part(&second_id, &[]).conflicted(&[f]);
        assert_eq!(fs::read_to_string(project.join("sub/f")).unwrap(), "mine\n");
    }
}

/// A snapshot of another session that cannot be read proves nothing, and keeps no other path from coming back.
#[test]
fn a_damaged_snapshot_of_a_nested_root_stops_no_restore() {
    for (first, second) in [("shop/sub", "shop"), ("shop", "shop/sub")] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        Build::at(&project)
            .file("sub/f", "before\n")
            .file("sub/g", "before\n")
            .aged();
        let at = |root: &str| sandbox.sources().join(root);
        let inside = |root: &str| if root == "shop" { "cd sub; " } else { "" };
        let first_id = sandbox.launch(&at(first), &format!("{}echo first > f", inside(first)));
        let second_id = sandbox.launch(&at(second), &format!("{}echo second > g", inside(second)));
        sandbox.jackin(["restore", &first_id, "--yes"]).code_in(&[0, 6]);
        let shown = sandbox.jackin(["show", &first_id, "--json"]).ok().json();
        let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
        let baseline = snapshots
            .iter()
            .find(|snapshot| snapshot["kind"] == "baseline")
            .unwrap();
        let record = format!("snapshots/{}.json", baseline["id"].as_str().unwrap());
        fs::write(sandbox.store().join(record), "{").unwrap();

        sandbox.jackin(["restore", &second_id, "--yes"]).code_in(&[0, 6]);
        assert_eq!(fs::read_to_string(project.join("sub/g")).unwrap(), "before\n");
        assert_eq!(fs::read_to_string(project.join("sub/f")).unwrap(), "before\n");
    }
}

#[test]
fn sessions_that_track_other_paths_of_a_directory_are_separate() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("both");
    Build::at(&project)
        .file("fe/f", "before\n")
        .file("be/f", "before\n")
        .aged();
    let good = Tree::read(&project);
    let on = |path: &str| {
        let script = format!("echo agent > {path}/f");
        let flags = ["--snapshot", "project", "--path", path];
        let session = Background::launch_with(&sandbox, &flags, &project, &script);
        (session, sandbox.newest())
    };
    let (first, first_id) = on("fe");
    let (second, second_id) = on("be");
    first.end().ok();
    // The other one is still active.
    sandbox.restore(&first_id, &[]).touched(&["fe/f"]);
    second.end().ok();
    sandbox.restore(&second_id, &[]).touched(&["be/f"]);
    assert_same_tree(&good, &Tree::read(&project));
}

#[test]
fn a_session_without_files_counts_where_it_works() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("live");
    Build::at(&project).file("f", "before\n").dir("sub").aged();
    let ended = sandbox.launch(&project, "echo ended > f");
    let below = Background::launch_in(&sandbox, "metadata", &project.join("sub"), "");
    let below_id = sandbox.newest();
    let run = sandbox.launching(&project, &["true"]).inside(&project).run().ok();
    run.shows(&below_id).shows("also active here");
    let beside = sandbox.newest();
    for id in [&ended, &beside] {
        let run = sandbox.jackin(["restore", id, "--yes"]).code(3);
        run.shows(&format!("{below_id} is active on the same paths"));
    }
    below.end().ok();
    sandbox.jackin(["restore", &ended, "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "before\n");

    // What began after its end has nothing to do with it, also if nothing recorded that end.
    Background::launch_in(&sandbox, "metadata", &project, "").kill();
    let id = sandbox.launch(&project, "echo later > f");
    sandbox.restore(&id, &[]).touched(&["f"]);
}

#[test]
fn a_session_in_a_directory_below_has_no_part_in_what_it_does_not_cover() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("outer");
    Build::at(&project)
        .file("f", "before\n")
        .file("sub/g", "before\n")
        .aged();
    let inner = project.join("sub");
    let outer = Background::launch(&sandbox, &project, "echo outer > f");
    let outer_id = sandbox.newest();
    let run = sandbox.launching(&inner, &["sh", "-c", "echo inner > g"]);
    run.inside(&inner).run().ok();
    let inner_id = sandbox.newest();
    outer.end().ok();

    let run = sandbox.jackin(["restore", &outer_id, "--yes", "--json"]).code(6);
    let restored = Restored::of(&run);
    restored.touched(&["f"]);
    restored.conflicted(&["sub/g"]);
    assert!(
        restored.document["conflicts"].to_string().contains(&inner_id),
        "it names both\n{run}"
    );
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "before\n");
}

#[test]
fn s41_damaged_closing_snapshot_leaves_the_baseline_usable() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hurt");
    Build::at(&project)
        .file("edited", "before\n")
        .file("gone", "gone\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > edited; rm gone");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let closing = instances(&run)[0].snapshot("closing").id.replace("sn-", "ar-");
    let archive = sandbox.store().join(format!("archives/{closing}.tar.zst"));
    let mut bytes = fs::read(&archive).unwrap();
    let middle = bytes.len() / 2;
    bytes.truncate(middle);
    fs::write(&archive, bytes).unwrap();

    // What is missing comes back; what only the damaged snapshot could tell from later work is kept and named.
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let cleaned = run.said();
    assert!(
        cleaned.contains("cannot be read; changes that only it shows are conflicts"),
        "{run}"
    );
    let after = Tree::read(&project);
    assert_same_tree(&before.only("gone"), &after.only("gone"));
    assert_eq!(fs::read_to_string(project.join("edited")).unwrap(), "agent\n");

    sandbox
        .restore(&id, &["--overwrite-later-edits"])
        .touched(&["edited"]);
    assert_same_tree(&before, &Tree::read(&project));
}

/// SQLite applies a `-wal` or `-journal` to whatever database lies beside it.
#[test]
fn the_files_of_a_database_stay_or_come_back_together() {
    let before = |project: &Path| {
        fs::write(project.join("db"), "old\n").unwrap();
        fs::write(project.join("db-wal"), "old log\n").unwrap();
        fs::write(project.join("db-shm"), "old index\n").unwrap();
    };
    let agent = |project: &Path| {
        fs::write(project.join("db"), "of the agent\n").unwrap();
        fs::remove_file(project.join("db-wal")).unwrap();
        fs::remove_file(project.join("db-shm")).unwrap();
    };
    for path in ["db", "db-journal", "db-wal"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        before(&project);
        let id = sandbox.session(&project, agent);
        fs::write(project.join(path), "later\n").unwrap();
        let later = Tree::read(&project);
        sandbox
            .jackin(["restore", &id, "--yes"])
            .code(6)
            .shows(&format!("belongs to the same database as {path}"));
        assert_same_tree(&later, &Tree::read(&project));
        sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
        assert_eq!(fs::read_to_string(project.join("db")).unwrap(), "old\n");
        assert_eq!(fs::read_to_string(project.join("db-wal")).unwrap(), "old log\n");
    }
    // One that is asked for by its name brings the others.
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    before(&project);
    let good = Tree::read(&project);
    sandbox.session(&project, agent);
    let asked = sandbox.command(["restore", "db", "--yes"]);
    asked.inside(&project).run().ok().shows("db-wal");
    assert_same_tree(&good, &Tree::read(&project));
    // What was only left open is made again by SQLite, and keeps nothing from coming back.
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("db"), "of the agent\n").unwrap()
    });
    fs::write(project.join("db-shm"), "another index\n").unwrap();
    sandbox.restore_in_part(&id, &[]);
    assert_eq!(fs::read_to_string(project.join("db")).unwrap(), "old\n");
}

#[test]
fn of_a_database_that_is_a_directory_all_stays_where_something_is_later() {
    for marks in [
        &["PG_VERSION"][..],
        &["WiredTiger"],
        &["ibdata1"],
        &["CURRENT", "MANIFEST-000004"],
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        fs::create_dir_all(project.join("data/base")).unwrap();
        for name in marks.iter().chain(&["base/1", "base/2", "base/3"]) {
            fs::write(project.join("data").join(name), "old\n").unwrap();
        }
        let good = Tree::read(&project);
        let id = sandbox.session(&project, |project| {
            for name in ["base/1", "base/2", "base/new"] {
                fs::write(project.join("data").join(name), "of the agent\n").unwrap();
            }
            fs::remove_file(project.join("data/base/3")).unwrap();
            fs::write(project.join("code"), "of the agent\n").unwrap();
        });
        fs::write(project.join("data/base/2"), "later\n").unwrap();
        let later = Tree::read(&project.join("data"));
        sandbox
            .jackin(["restore", &id, "--yes"])
            .code(6)
            .shows("same database as data/base/2");
        assert_same_tree(&later, &Tree::read(&project.join("data")));
        assert!(!project.join("code").exists());
        sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
        assert_same_tree(&good, &Tree::read(&project));
    }
}

/// A log that a restore put beside a database may be in the database by now: `undo` says that it stays.
#[test]
fn an_undo_names_the_database_that_has_taken_in_what_it_would_remove() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let pages = |letter: &str| letter.repeat(4096);
    Build::at(&project)
        .file("x.db", pages("a"))
        .file("x.db-wal", "log\n")
        .file("notes", "before\n")
        .aged();
    let at = |project: &Path, words: &[&str]| sandbox.command(words).inside(project).by_the_operator().run();
    let run = |words: &[&str]| at(&project, words);
    run(&[
        "launch",
        "-q",
        "--snapshot",
        "project",
        ".",
        "--",
        "sh",
        "-c",
        "rm x.db-wal; echo agent > notes",
    ])
    .ok();
    run(&["restore", "--yes"]).ok();
    // The program opens it: what the log has is in the database, and the log is gone.
    fs::write(project.join("x.db"), pages("b")).unwrap();
    fs::remove_file(project.join("x.db-wal")).unwrap();
    let undone = run(&["undo", "--yes", "--json"]).code(6);
    Restored::of(&undone).conflicted(&["x.db"]);
    assert_eq!(fs::read_to_string(project.join("notes")).unwrap(), "agent\n");
    assert_eq!(fs::read_to_string(project.join("x.db")).unwrap(), pages("b"));
    // A later log does not come to lie beside an older database.
    let other = sandbox.project("other");
    Build::at(&other).file("x.db", pages("a")).aged();
    let run = |words: &[&str]| at(&other, words);
    let script = format!("printf %s {} > x.db", "z".repeat(4096));
    run(&[
        "launch",
        "-q",
        "--snapshot",
        "project",
        ".",
        "--",
        "sh",
        "-c",
        &script,
    ])
    .ok();
    run(&["restore", "--yes"]).ok();
    fs::write(other.join("x.db-wal"), "later\n").unwrap();
    let undone = run(&["undo", "--yes"]).code(6);
    assert_eq!(
        fs::read_to_string(other.join("x.db")).unwrap(),
        pages("a"),
        "{undone}"
    );
}
