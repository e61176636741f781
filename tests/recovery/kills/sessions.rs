//! Sessions that are killed: `launch` with its command, and `end`. What was lost is shown as lost, and its baseline brings the tree
//! back.

use std::time::Duration;

use super::{Scene, play};
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::kill::{Dice, measured, strike};
use crate::support::tree::Tree;

/// Damage that takes a while, so that a kill lands within it too.
const SLOWLY: &str = "
    for n in 0 1 2 3 4 5 6 7; do for f in many/$n/*; do echo agent > $f; done; mkdir -p new; echo $n > new/$n; sleep 0.01; done
    rm -r many/3; mv big large; chmod 600 mode; rm hard";

const REGARDLESS: [&str; 2] = ["--overwrite-later-edits", "--delete-later-files"];

fn launch(scene: &Scene) -> [&str; 8] {
    [
        "launch",
        "--snapshot",
        "project",
        scene.target(),
        "--",
        "sh",
        "-c",
        SLOWLY,
    ]
}

/// Brings a session's baseline back, whatever is killed on the way and however often that was.
fn brought_back(scene: &Scene, id: &str, dice: &mut Dice, takes: Duration) {
    let words: Vec<&str> = ["restore", id, "--yes"].into_iter().chain(REGARDLESS).collect();
    for _ in 0..dice.below(3) {
        let killed = strike(scene.sandbox.command(&words), dice.moment(takes));
        if killed.landed && scene.sandbox.jackin(["restore", id, "--dry-run"]).exit() == Some(8) {
            let how = ["resume", "abort"][usize::try_from(dice.below(2)).unwrap()];
            scene.sandbox.jackin([how, id, "--yes"]).ok();
        }
    }
    scene.sandbox.jackin(&words).ok();
}

/// A scene, and how long a `launch` takes in it.
fn launched(_: &mut Dice) -> (Scene, Duration) {
    let scene = Scene::new();
    let takes = measured(|| {
        let command = scene.sandbox.command(launch(&scene)).inside(&scene.project);
        let run = command.run().ok();
        scene.sandbox.jackin(["restore", "@latest", "--yes"]).ok();
        run
    });
    (scene, takes)
}

#[test]
fn launches() {
    play("launch", 34, launched, |(scene, takes), dice, tally| {
        scene.scribble(dice);
        let (before, listed) = (scene.tree(), scene.listed());
        let command = scene.sandbox.command(launch(scene)).inside(&scene.project);
        let (struck, about) = tally.strike(command, dice, *takes);
        let found = scene.nothing_lost(&listed, tally, &about);
        scene.store_is_sound();
        let has_baseline = found.as_ref().is_some_and(|found| !found.snapshots.is_empty());
        tally.ended(has_baseline);
        let Some(found) = found.filter(|_| has_baseline) else {
            // Without a baseline no command ran.
            scene.untouched(&before, tally, &about);
            scene.begin_and_end(&about);
            return;
        };
        assert!(found.snapshot("baseline").complete, "{about}");
        if struck.landed && found.snapshots.len() == 1 {
            assert_eq!(found.status, "lost", "{about}");
        }
        assert!(
            ["lost", "ended"].contains(&found.status.as_str()),
            "{about}: {found:?}"
        );
        // First without force: what no snapshot vouches for is a conflict then, and nothing else.
        let run = scene.sandbox.jackin(["restore", &found.id, "--yes"]);
        let run = run.code_in(&[0, 6]);
        assert!(found.status == "lost" || run.exit() == Some(0), "{about}\n{run}");
        brought_back(scene, &found.id, dice, *takes / 2);
        let lines = differences(&before, &scene.tree(), Exactness::Content);
        if !lines.is_empty() {
            tally.lost(format!("{about}: {lines:?}"));
        }
        scene.no_litter(&about);
        scene.store_is_sound();
    });
}

/// A scene, and how long an `end` takes in it.
fn begun(dice: &mut Dice) -> (Scene, Duration) {
    let scene = Scene::new();
    let mut waiting: Vec<String> = (0..2).map(|_| scene.begin()).collect();
    let takes = measured(|| {
        scene.scribble(dice);
        scene.sandbox.jackin(["end", &waiting.pop().unwrap()]).ok()
    });
    (scene, takes)
}

#[test]
fn ends() {
    play("end", 35, begun, |(scene, takes), dice, tally| {
        let baseline = scene.tree();
        let id = scene.begin();
        scene.scribble(dice);
        std::fs::remove_dir_all(scene.project.join("many/3")).unwrap();
        let (before, listed) = (scene.tree(), scene.listed());
        let (_, about) = tally.strike(scene.sandbox.command(["end", &id]), dice, *takes);
        scene.untouched(&before, tally, &about);
        assert!(scene.nothing_lost(&listed, tally, &about).is_none(), "{about}");
        scene.store_is_sound();
        let status = scene.listed()[&id].status.clone();
        tally.ended(status == "ended");
        match status.as_str() {
            "active" => drop(scene.sandbox.jackin(["end", &id]).ok()),
            // It was killed behind its end, perhaps while it packed archives anew: the next command that writes sweeps that.
            "ended" => drop(scene.sandbox.jackin(["unpin", &id]).ok()),
            other => panic!("{about}: {other}"),
        }
        scene.no_litter(&about);
        let ended = &scene.listed()[&id];
        assert_eq!(ended.status, "ended", "{about}");
        assert!(ended.snapshot("closing").complete, "{about}");
        // Everything is the session's, so nothing is a conflict.
        scene.sandbox.jackin(["restore", &id, "--yes"]).ok();
        assert_same_tree(&baseline, &scene.tree());
        scene.sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&before, &Tree::read(&scene.project));
        let back = ["restore", &id, "--yes"];
        scene.sandbox.jackin(back).ok();
        scene.store_is_sound();
    });
}
