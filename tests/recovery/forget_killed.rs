//! A `forget` that is killed leaves the store as it was, or without what was to go; the next command finishes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use crate::forget::{FIRST, Leak, found_in};
use crate::retention::is_whole;
use crate::support::background::Background;
use crate::support::machine::{has_points, run_tool, skip};
use crate::support::sandbox::Sandbox;

/// A part of the first secret.
const SECRET: &str = "the-first-secret-of-the-shop";

fn copy(from: &Path, to: &Path) {
    run_tool(Command::new("cp").arg("-a").arg(from).arg(to));
}

/// Kills `forget ARGS` at each of its points. `after` is run on what is left; `open` opens the store for writing.
fn killed_everywhere(args: &dyn Fn(&Leak) -> Vec<String>, check: &dyn Fn(&Sandbox, &Leak, bool)) {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let store = sandbox.store();
    let saved = sandbox.scratch("saved");
    fs::create_dir_all(&saved).unwrap();
    copy(&store, &saved.join("store"));
    let (mut old, mut new) = (0, 0);
    for point in 1.. {
        fs::remove_dir_all(&store).unwrap();
        copy(&saved.join("store"), &store);
        let run = sandbox
            .command(args(&leak))
            .inside(&leak.project)
            .with("JACKIN_RECOVERY_FAIL_AT", format!("any:{point}"))
            .run();
        if run.exit() == Some(0) {
            break;
        }
        assert_eq!(run.exit(), None, "{run}");
        // A reader sees the one or the other, complete, before anything is finished.
        is_whole(&sandbox);
        // Pinning opens the store for writing, and that finishes it.
        let gone = sandbox.jackin(["pin", &leak.second]).ok();
        drop(gone);
        sandbox.jackin(["unpin", &leak.second]).ok();
        let is_new = found_in(&sandbox, SECRET).is_empty();
        match is_new {
            true => new += 1,
            false => old += 1,
        }
        check(&sandbox, &leak, is_new);
        is_whole(&sandbox);
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(found_in(&sandbox, SECRET).is_empty(), is_new, "at {point}");
        check(&sandbox, &leak, is_new);
        // No contract is left of a session that is gone.
        let list = sandbox.jackin(["list"]).ok();
        for name in fs::read_dir(store.join("contracts")).unwrap() {
            let name = name.unwrap().file_name().into_string().unwrap();
            list.has(name.strip_suffix(".json").unwrap());
        }
        if !is_new {
            sandbox.command(args(&leak)).inside(&leak.project).run().ok();
            assert_eq!(found_in(&sandbox, SECRET), Vec::<PathBuf>::new(), "at {point}");
            check(&sandbox, &leak, true);
        }
        is_whole(&sandbox);
        sandbox.jackin(["doctor"]).ok();
        let drafts = fs::read_dir(store.join("tmp")).unwrap().count();
        assert_eq!(drafts, 0, "a draft stays at {point}");
    }
    assert!(old >= 2 && new >= 2, "{old} old, {new} new");
}

#[test]
fn killed_at_every_point_a_path_is_there_or_gone() {
    if !has_points() {
        return skip("kills in a forget", "the program has no points");
    }
    let words = ["forget", "--path", ".env", "--yes"];
    killed_everywhere(
        &|_| words.map(str::to_owned).to_vec(),
        &|sandbox, leak, is_gone| {
            if is_gone {
                leak.restores_without(sandbox, ".env");
            }
        },
    );
}

#[test]
fn killed_at_every_point_a_session_is_there_or_gone() {
    if !has_points() {
        return skip("kills in a forget", "the program has no points");
    }
    let words = |leak: &Leak| ["forget", &leak.first, "--yes"].map(str::to_owned).to_vec();
    killed_everywhere(&words, &|sandbox, leak, is_gone| {
        let list = sandbox.jackin(["list"]).ok();
        assert_eq!(list.text().contains(&leak.first), !is_gone, "{list}");
    });
}

/// Kills a `forget` right behind its receipt: the archives that it replaced are still there.
fn killed_behind_the_receipt(sandbox: &Sandbox, leak: &Leak, words: &[&str]) {
    let run = sandbox
        .command(words)
        .inside(&leak.project)
        .with("JACKIN_RECOVERY_FAIL_AT", "forget-receipt")
        .run();
    assert_eq!(run.exit(), None, "{run}");
}

/// The snapshot of a session is whole, and has this content of `.env`.
#[track_caller]
fn has_env(sandbox: &Sandbox, session: &str, snapshot: &str, content: &str) {
    let to = sandbox.scratch(&format!("env-{session}"));
    let place = to.to_str().unwrap();
    let words = ["restore", session, "--from", snapshot, "--yes", "--to", place];
    sandbox.jackin(words).ok();
    assert_eq!(fs::read_to_string(to.join(".env")).unwrap(), content);
    is_whole(sandbox);
}

#[test]
fn a_session_that_runs_relies_on_nothing_that_a_killed_forget_left() {
    if !has_points() {
        return skip("kills in a forget", "the program has no points");
    }
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let env = leak.project.join(".env");
    let first = format!("KEY={FIRST}\n");
    fs::remove_file(&env).unwrap();
    let running = Background::launch(&sandbox, &leak.project, "true");
    killed_behind_the_receipt(&sandbox, &leak, &["forget", &leak.first, "--yes"]);
    // Only what was forgotten had this.
    fs::write(&env, &first).unwrap();
    running.end().ok();
    let id = sandbox.newest();
    sandbox.jackin(["pin", &id]).ok();
    has_env(&sandbox, &id, "closing", &first);
}

#[test]
fn a_baseline_relies_on_nothing_that_a_killed_forget_left_while_others_read() {
    if !has_points() {
        return skip("kills in a forget", "the program has no points");
    }
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let env = fs::read_to_string(leak.project.join(".env")).unwrap();
    killed_behind_the_receipt(&sandbox, &leak, &["forget", "--path", ".env", "--yes"]);
    let reader = fs::File::open(sandbox.store().join("locks/store")).unwrap();
    flock(&reader, FlockOperation::LockShared).unwrap();
    let id = sandbox.launch(&leak.project, "true");
    drop(reader);
    sandbox.jackin(["pin", &id]).ok();
    has_env(&sandbox, &id, "baseline", &env);
}

#[test]
fn a_catalog_that_cannot_follow_stops_it_before_anything_is_removed() {
    let sandbox = Sandbox::new();
    let leak = Leak::new(&sandbox);
    let writer = rusqlite::Connection::open(sandbox.store().join("catalog.sqlite3")).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let words = ["forget", "--path", ".env", "--yes"];
    let run = sandbox.command(words).inside(&leak.project).run();
    assert_eq!(run.exit(), Some(1), "{run}");
    writer.execute_batch("ROLLBACK").unwrap();
    drop(writer);
    // The receipt is in the log: the next command finishes it.
    sandbox.jackin(["pin", &leak.second]).ok();
    is_whole(&sandbox);
    assert_eq!(found_in(&sandbox, SECRET), Vec::<PathBuf>::new());
    leak.restores_without(&sandbox, ".env");
}
