//! Prunes that are killed, and prunes beside captures and checks: nothing that is listed is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::retention::{Session, is_whole, rules};
use crate::support::machine::{has_points, run_tool, skip};
use crate::support::sandbox::Sandbox;

#[test]
fn killed_at_every_point_nothing_that_is_listed_is_lost() {
    if !has_points() {
        return skip("kills in a prune", "the program has no points");
    }
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 0");
    let mut session = Session::begin(&sandbox);
    for number in 0..45 {
        session.checkpoint(&sandbox, number).ok();
    }
    let store = sandbox.store();
    let saved = sandbox.scratch("saved");
    fs::create_dir_all(&saved).unwrap();
    copy(&store, &saved.join("store"));
    rules(&sandbox, "checkpoints = 7");
    let mut points = 0;
    for point in 1.. {
        fs::remove_dir_all(&store).unwrap();
        copy(&saved.join("store"), &store);
        let run = sandbox
            .command(["prune", "--yes"])
            .with("JACKIN_RECOVERY_FAIL_AT", format!("any:{point}"))
            .run();
        if run.exit() == Some(0) {
            break;
        }
        assert_eq!(run.exit(), None, "{run}");
        points += 1;
        let count = session.all_restore(&sandbox);
        assert!(count == 45 || count == 7, "{count} at {point}");
        is_whole(&sandbox);
        sandbox.jackin(["prune", "--yes"]).ok();
        assert_eq!(session.all_restore(&sandbox), 7, "at {point}");
        is_whole(&sandbox);
        sandbox.jackin(["doctor"]).ok();
        let names = fs::read_dir(store.join("tmp")).unwrap().count();
        assert_eq!(names, 0, "a draft stays at {point}");
    }
    assert!(points >= 5, "{points}");
    assert_eq!(session.all_restore(&sandbox), 7);
}

/// Small archives that are all needed: to pack them into one gives no byte back, and is done all the same.
#[test]
fn packing_small_archives_that_was_killed_is_done_by_the_next_prune() {
    if !has_points() {
        return skip("kills in a prune", "the program has no points");
    }
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 0");
    let mut session = Session::begin(&sandbox);
    for number in 0..50 {
        let run = session.checkpoint_dying(&sandbox, number, "repack-named");
        if run.exit() != Some(0) {
            break;
        }
    }
    let archives = sandbox.store().join("archives");
    let ending_in = |end: &str| {
        let entries = fs::read_dir(&archives).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter_map(|name| name.strip_suffix(end).map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let stand_in = |names: &[String]| {
        names
            .iter()
            .any(|name| archives.join(format!("{name}.tar.zst")).exists())
    };
    assert!(stand_in(&ending_in(".moved")), "nothing was killed");
    let count = session.all_restore(&sandbox);
    let plan = sandbox.jackin(["prune", "--dry-run"]).ok();
    plan.shows("a killed command was replacing")
        .shows("small ones to merge into one")
        .shows("No snapshot to delete");
    sandbox.jackin(["prune", "--yes"]).ok();
    assert!(!stand_in(&ending_in(".moved")));
    assert!(ending_in(".tar.zst").len() < 5, "{:?}", ending_in(".tar.zst"));
    sandbox
        .jackin(["prune", "--dry-run"])
        .ok()
        .shows("Nothing exceeds the retention policy");
    assert_eq!(session.all_restore(&sandbox), count);
    is_whole(&sandbox);
}

fn copy(from: &Path, to: &Path) {
    run_tool(Command::new("cp").arg("-a").arg(from).arg(to));
}

#[test]
fn captures_prunes_and_checks_at_the_same_time_do_not_disturb_each_other() {
    let sandbox = Sandbox::new();
    rules(&sandbox, "checkpoints = 4");
    let mut session = Session::begin(&sandbox);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            for _ in 0..12 {
                sandbox.jackin(["verify", "--read-data"]).ok().shows("all valid");
            }
        });
        let pruning = scope.spawn(|| {
            for _ in 0..12 {
                sandbox.jackin(["prune", "--yes"]).ok();
            }
        });
        for number in 0..40 {
            session.checkpoint(&sandbox, number).ok();
        }
        looking.join().unwrap();
        pruning.join().unwrap();
    });
    sandbox.jackin(["prune", "--yes"]).ok();
    assert_eq!(session.all_restore(&sandbox), 4);
    is_whole(&sandbox);
    let locks: Vec<_> = fs::read_dir(sandbox.store().join("locks"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        locks
            .iter()
            .all(|name| !name.to_string_lossy().starts_with("root-")),
        "{locks:?}"
    );
}
