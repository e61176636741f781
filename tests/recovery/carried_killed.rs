//! Commands on claims that are killed at random moments: nothing that they made stays in the cluster.

use std::fs;
use std::time::Instant;

use crate::carried_cluster::Claimed;
use crate::carried_frozen::{CLAIM, frozen};
use crate::support::compare::assert_same_tree;
use crate::support::kill::{Dice, Tally, fill, measured, wanted};
use crate::support::machine::is_nightly;
use crate::support::patience::await_that;
use crate::support::tree::Tree;

/// Number of kills of each command.
fn rounds() -> u32 {
    if is_nightly() { wanted() } else { 2 }
}

/// Kills a command as often as wanted, and more often, sooner each time, until one was killed while it ran: what was measured may have taken
/// longer than what is killed.
fn killed(verb: &'static str, seed: u64, mut kill: impl FnMut(&mut Tally, &mut Dice)) {
    let (mut tally, mut dice) = (Tally::of(verb), Dice::new(seed));
    for number in 0..5 * rounds() {
        if number < rounds() || tally.is_late() {
            kill(&mut tally, &mut dice);
        }
    }
    assert!(!tally.is_late(), "no {verb} was killed while it ran");
}

/// Waits until the cluster has no pod and no claim that jackin made.
#[track_caller]
fn is_clean(claimed: &Claimed) {
    await_that("the end of all helper pods and their claims", || {
        let state = claimed.cluster().state();
        let claims = state["claims"].as_object().unwrap();
        claimed.helpers().is_empty() && claims.keys().eq(["data"])
    });
}

#[test]
fn nothing_of_a_killed_launch_stays_in_a_cluster() {
    let Some(claimed) = frozen("killed-launch") else {
        return;
    };
    fill(&claimed.project, 40);
    let launch = || claimed.sandbox.launching(CLAIM, &["true"]);
    let takes = measured(|| launch().run().ok());
    killed("launch", 40, |tally, dice| {
        tally.strike(launch(), dice, takes);
        is_clean(&claimed);
    });
    // The next ones store or delete what a killed one had frozen, once the cluster has made it.
    await_that("the end of all snapshots", || {
        launch().run().ok();
        claimed.snapshots() == 0
    });
    claimed.left(0);
}

#[test]
fn nothing_of_a_killed_restore_stays_in_a_cluster() {
    let Some(claimed) = Claimed::new("killed-restore") else {
        return;
    };
    fill(&claimed.project, 40);
    let sandbox = &claimed.sandbox;
    let before = Tree::read(&claimed.project);
    let damaged = || {
        let id = sandbox.begin(CLAIM);
        fs::remove_dir_all(claimed.project.join("many")).unwrap();
        fs::write(claimed.project.join("mode"), "by the agent\n").unwrap();
        sandbox.jackin(["end", &id]).ok();
        id
    };
    let id = damaged();
    let begun = Instant::now();
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    let takes = begun.elapsed();
    killed("restore", 41, |tally, dice| {
        let id = damaged();
        tally.strike(sandbox.command(["restore", &id, "--yes"]), dice, takes);
        is_clean(&claimed);
        if sandbox.jackin(["list"]).ok().text().contains("interrupted") {
            sandbox.jackin(["resume", &id, "--yes"]).ok();
        }
        sandbox.jackin(["restore", &id, "--yes"]).ok();
        assert_same_tree(&before, &Tree::read(&claimed.project));
        is_clean(&claimed);
    });
}
