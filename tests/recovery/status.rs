//! `status`: one line about the directory in which a prompt is drawn, and silence where nothing is known.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::machine::{binary, has_points};
use crate::support::sandbox::Sandbox;

fn line(sandbox: &Sandbox, directory: &Path) -> String {
    let run = sandbox
        .command(["status"])
        .inside(directory)
        .run()
        .ok()
        .harmless();
    assert!(run.stderr.is_empty(), "{run}");
    String::from_utf8(run.stdout).unwrap()
}

fn document(sandbox: &Sandbox, directory: &Path) -> Value {
    let run = sandbox.command(["status", "--json"]).inside(directory).run();
    run.ok().json()
}

#[track_caller]
fn silent(sandbox: &Sandbox, directory: &Path) {
    let run = sandbox.command(["status"]).inside(directory).run().code(1);
    assert!(run.stdout.is_empty() && run.stderr.is_empty(), "{run}");
    let run = sandbox.command(["status", "--json"]).inside(directory).run();
    assert_eq!(run.code(1).json()["state"], "none");
}

#[test]
fn a_session_is_followed_from_its_start_to_its_undo() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").file("b/c", "c\n").aged();
    let elsewhere = sandbox.project("elsewhere");
    silent(&sandbox, &project);
    let session = Background::launch(&sandbox, &project, "echo b > a; echo d > d");
    assert!(line(&sandbox, &project).starts_with("recording "));
    silent(&sandbox, &elsewhere);
    silent(&sandbox, &sandbox.sources());
    session.end().ok();
    assert!(line(&sandbox, &project).starts_with("undo: 2 changed "));
    let below = document(&sandbox, &project.join("b"));
    assert_eq!((&below["state"], &below["changed"]), (&"ended".into(), &2.into()));
    assert_eq!(below["changed_is_exact"], true);
    sandbox.jackin(["restore", "@latest", "--yes"]).ok();
    assert!(line(&sandbox, &project).starts_with("restored "));
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert!(line(&sandbox, &project).starts_with("undo: 2 changed "));
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_eq!(document(&sandbox, &project)["state"], "restored");
    // The latest session counts, and one elsewhere does not.
    sandbox.launch(&project, "true");
    sandbox.launch(&elsewhere, "echo x > x");
    assert!(line(&sandbox, &project).starts_with("no changes "));
    assert!(line(&sandbox, &elsewhere).starts_with("undo: 1 changed "));
}

#[test]
fn a_restore_by_the_agent_is_a_part_of_its_session() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "1\n").file("b", "1\n").aged();
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project\"\n[recovery.agent]\nrestore = \"checkpoints\"\n",
    );
    let script = format!(
        "j='{} recovery'; $j checkpoint --name s1 && echo 2 >> a && $j restore --from s1 --yes && echo WRECK > a && rm b",
        binary().display()
    );
    sandbox.launch(&project, &script);
    let told = document(&sandbox, &project);
    assert_eq!(
        (&told["state"], &told["changed"]),
        (&"ended".into(), &2.into()),
        "{told}"
    );
    assert!(line(&sandbox, &project).starts_with("undo: "));
    sandbox.jackin(["restore", "@latest", "--yes"]).ok();
    assert_eq!(document(&sandbox, &project)["state"], "restored");
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_eq!(document(&sandbox, &project)["state"], "ended");
}

#[test]
fn counts_of_several_checkpoints_are_a_limit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.begin(&project);
    for round in ["one", "two"] {
        fs::write(project.join("a"), round).unwrap();
        sandbox.jackin(["checkpoint", &id, "--name", round]).ok();
    }
    assert!(line(&sandbox, &project).contains(" · up to 2 changed"));
    // In the session's own environment its directory does not count.
    let run = sandbox.command(["status"]).with("JACKIN_RECOVERY_INSTANCE", &id);
    run.inside(sandbox.world()).run().ok().shows("recording");
    sandbox.jackin(["end", &id]).ok();
    assert!(line(&sandbox, &project).starts_with("undo: up to 2 changed "));
}

#[test]
fn a_killed_launcher_and_a_killed_restore_are_told() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").file("b", "b\n").aged();
    let session = Background::launch(&sandbox, &project, "echo x > a");
    session.kill();
    assert_eq!(document(&sandbox, &project)["state"], "lost");
    assert!(line(&sandbox, &project).contains("end unknown"));
    if !has_points() {
        return;
    }
    let id = sandbox.launch(&project, "rm b");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    assert_eq!(killed.exit(), None, "{killed}");
    assert_eq!(line(&sandbox, &project), "restore interrupted: resume or abort\n");
    sandbox.jackin(["abort", &id, "--yes"]).ok();
    assert_eq!(document(&sandbox, &project)["state"], "ended");
}

#[test]
fn a_store_that_cannot_be_read_is_silence() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.launch(&project, "rm a");
    let catalog = sandbox.store().join("catalog.sqlite3");
    let whole = fs::read(&catalog).unwrap();
    fs::write(
        &catalog,
        "no database at all, but longer than a header is\n".repeat(100),
    )
    .unwrap();
    silent(&sandbox, &project);
    fs::write(&catalog, &whole).unwrap();
    assert!(line(&sandbox, &project).starts_with("undo: "));
    // A writer is not waited for.
    let writer = rusqlite::Connection::open(&catalog).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    let run = sandbox.command(["status"]).inside(&project).run();
    assert!(run.exit() == Some(0) || run.exit() == Some(1), "{run}");
    assert!(run.stderr.is_empty(), "{run}");
    // Other commands wait for ten.
    assert!(began.elapsed().as_secs() < 8, "{:?}", began.elapsed());
    drop(writer);
    fs::remove_dir_all(sandbox.store()).unwrap();
    silent(&sandbox, &project);
    fs::write(sandbox.store(), "a file").unwrap();
    silent(&sandbox, &project);
    let run = sandbox
        .command(["status"])
        .with("HOME", "")
        .inside(&project)
        .run();
    assert!(run.stdout.is_empty(), "{run}");
}
