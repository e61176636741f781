//! Captures that are killed: `begin` and `checkpoint`. No half snapshot is listed, the mount is untouched, the next one works.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Scene, play, rounds};
use crate::support::documents::Instance;
use crate::support::kill::{Dice, Tally, measured};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// What a killed `begin` may have left, and the way back from each.
fn look_after(scene: &Scene, found: &Instance, before: &Tree, about: &str) {
    let entries = u64::try_from(before.paths().count()).unwrap();
    match found.snapshots.as_slice() {
        [] => {
            assert!(
                ["lost", "failed"].contains(&found.status.as_str()),
                "{about}: {found:?}"
            );
            scene.sandbox.jackin(["restore", &found.id, "--yes"]).code(5);
        }
        [baseline] => {
            assert_eq!(
                (baseline.kind.as_str(), baseline.complete),
                ("baseline", true),
                "{about}"
            );
            assert_eq!(baseline.entries, entries, "{about}");
            // It may have told its id: then it lives until `end`.
            if found.status == "active" {
                scene.sandbox.jackin(["end", &found.id]).ok();
            }
            scene.written_out(&[&found.id], before);
        }
        more => panic!("{about}: {more:?}"),
    }
}

/// How long a `begin` takes that has something to store, and what ends what it began.
fn timed(scene: &Scene, dice: &mut Dice) -> Duration {
    let mut begun = Vec::new();
    let takes = measured(|| {
        scene.scribble(dice);
        let run = scene
            .sandbox
            .jackin(["begin", "--snapshot", "project", scene.target()]);
        begun.push(String::from_utf8_lossy(&run.stdout).trim().to_owned());
        run.ok()
    });
    for id in &begun {
        scene.sandbox.jackin(["end", id]).ok();
    }
    takes
}

/// A scene, and how long a `begin` takes in it.
fn fresh(dice: &mut Dice) -> (Scene, Duration) {
    let scene = Scene::new();
    let takes = timed(&scene, dice);
    (scene, takes)
}

#[test]
fn begins() {
    play("begin", 31, fresh, |(scene, takes), dice, tally| {
        scene.scribble(dice);
        let (before, listed) = (scene.tree(), scene.listed());
        let words = ["begin", "--snapshot", "project", scene.target()];
        let (_, about) = tally.strike(scene.sandbox.command(words), dice, *takes);
        scene.untouched(&before, tally, &about);
        let found = scene.nothing_lost(&listed, tally, &about);
        scene.store_is_sound();
        tally.ended(found.as_ref().is_some_and(|found| !found.snapshots.is_empty()));
        // The next one begins without anybody's help, and its snapshot is good.
        let next = scene.begin();
        scene.no_litter(&about);
        assert!(scene.listed()[&next].snapshot("baseline").complete, "{about}");
        scene.sandbox.jackin(["end", &next]).ok();
        if let Some(found) = &found {
            // The next `begin` on the same paths closed it when it was lost.
            let found = &scene.listed()[&found.id];
            let mut alone = found.clone();
            alone.snapshots.retain(|snapshot| snapshot.kind == "baseline");
            look_after(scene, &alone, &before, &about);
        }
        scene.untouched(&before, tally, &about);
        scene.store_is_sound();
    });
}

/// The very first command in a home: it also makes the store.
#[test]
fn first_begins() {
    let (mut dice, mut tally) = (Dice::new(32), Tally::of("begin (first)"));
    let takes = {
        let scene = Scene::new();
        let begun = std::time::Instant::now();
        scene.begin();
        begun.elapsed()
    };
    for _ in 0..rounds() {
        let scene = Scene::new();
        let before = scene.tree();
        let words = ["begin", "--snapshot", "project", scene.target()];
        let (_, about) = tally.strike(scene.sandbox.command(words), &mut dice, takes);
        let found = scene.nothing_lost(&BTreeMap::new(), &mut tally, &about);
        if scene.sandbox.store().exists() {
            scene.store_is_sound();
        }
        tally.ended(found.as_ref().is_some_and(|found| !found.snapshots.is_empty()));
        if let Some(found) = &found {
            look_after(&scene, found, &before, &about);
        }
        let next = scene.begin();
        scene.no_litter(&about);
        scene.sandbox.jackin(["end", &next]).ok();
        scene.untouched(&before, &mut tally, &about);
        scene.store_is_sound();
    }
    tally.done();
}

/// A session under way, and how long a checkpoint of it takes.
fn running(dice: &mut Dice) -> (Scene, String, Duration) {
    let scene = Scene::new();
    let id = scene.begin();
    let takes = measured(|| {
        scene.scribble(dice);
        scene.sandbox.jackin(["checkpoint", &id]).ok()
    });
    (scene, id, takes)
}

#[test]
fn checkpoints() {
    let mut number = 0;
    play("checkpoint", 33, running, |(scene, id, takes), dice, tally| {
        number += 1;
        let sandbox: &Sandbox = &scene.sandbox;
        scene.scribble(dice);
        let (before, listed) = (scene.tree(), scene.listed());
        let name = format!("step-{number}");
        let words = ["checkpoint", id.as_str(), "--name", &name];
        let (_, about) = tally.strike(sandbox.command(words), dice, *takes);
        scene.untouched(&before, tally, &about);
        assert!(scene.nothing_lost(&listed, tally, &about).is_none(), "{about}");
        scene.store_is_sound();
        let now = &scene.listed()[id.as_str()];
        assert_eq!(now.status, "active", "{about}");
        let is_there = now.snapshots.len() > listed[id.as_str()].snapshots.len();
        tally.ended(is_there);
        if !is_there {
            // Its name is free.
            sandbox.jackin(words).ok();
            scene.no_litter(&about);
        }
        scene.written_out(&[id.as_str(), "--from", &name], &before);
        // A session that ends finds nothing of it either.
        if number % 4 == 0 || number == rounds() {
            scene.sandbox.jackin(["end", id]).ok();
            scene.no_litter(&about);
            *id = scene.begin();
        }
    });
}
