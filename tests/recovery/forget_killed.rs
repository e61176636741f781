//! A `forget` that is killed leaves the store as it was, or without what was to go; the next command finishes it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::forget::{Leak, found_in};
use crate::retention::is_whole;
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
