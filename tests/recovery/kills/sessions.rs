//! Sessions that are killed: `launch` with its command, and `end`. What was lost is shown as lost, and its baseline brings the tree
//! back.

use super::{ROUNDS_A_STORE, Scene, rounds};
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::kill::{Dice, Tally, measured, strike};
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
fn brought_back(scene: &Scene, id: &str, dice: &mut Dice, takes: std::time::Duration) {
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

#[test]
fn launches() {
    let (mut dice, mut tally) = (Dice::new(34), Tally::of("launch"));
    let mut scene = Scene::new();
    let mut takes = None;
    for round in 1..=rounds() {
        if round % ROUNDS_A_STORE == 0 {
            (scene, takes) = (Scene::new(), None);
        }
        let takes = *takes.get_or_insert_with(|| {
            measured(|| {
                let run = scene
                    .sandbox
                    .command(launch(&scene))
                    .inside(&scene.project)
                    .run()
                    .ok();
                scene.sandbox.jackin(["restore", "@latest", "--yes"]).ok();
                run
            })
        });
        scene.scribble(&mut dice);
        let (before, listed) = (scene.tree(), scene.listed());
        let after = dice.moment(takes);
        let struck = strike(
            scene.sandbox.command(launch(&scene)).inside(&scene.project),
            after,
        );
        let about = format!("launch {} killed after {after:?}", tally.kill(struck.landed));
        let found = scene.nothing_lost(&listed, &mut tally, &about);
        scene.store_is_sound();
        let has_baseline = found.as_ref().is_some_and(|found| !found.snapshots.is_empty());
        tally.ended(has_baseline);
        let Some(found) = found.filter(|_| has_baseline) else {
            // Without a baseline no command ran.
            scene.untouched(&before, &mut tally, &about);
            scene.begin_and_end(&about);
            continue;
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
        brought_back(&scene, &found.id, &mut dice, takes / 2);
        let lines = differences(&before, &scene.tree(), Exactness::Content);
        if !lines.is_empty() {
            tally.lost(format!("{about}: {lines:?}"));
        }
        scene.no_litter(&about);
        scene.store_is_sound();
    }
    tally.done();
}

#[test]
fn ends() {
    let (mut dice, mut tally) = (Dice::new(35), Tally::of("end"));
    let mut scene = Scene::new();
    let mut takes = None;
    for round in 1..=rounds() {
        if round % ROUNDS_A_STORE == 0 {
            (scene, takes) = (Scene::new(), None);
        }
        let takes = *takes.get_or_insert_with(|| {
            let mut waiting: Vec<String> = (0..2).map(|_| scene.begin()).collect();
            measured(|| {
                scene.scribble(&mut dice);
                scene.sandbox.jackin(["end", &waiting.pop().unwrap()]).ok()
            })
        });
        let baseline = scene.tree();
        let id = scene.begin();
        scene.scribble(&mut dice);
        std::fs::remove_dir_all(scene.project.join("many/3")).unwrap();
        let (before, listed) = (scene.tree(), scene.listed());
        let after = dice.moment(takes);
        let struck = strike(scene.sandbox.command(["end", &id]), after);
        let about = format!("end {} killed after {after:?}", tally.kill(struck.landed));
        scene.untouched(&before, &mut tally, &about);
        assert!(
            scene.nothing_lost(&listed, &mut tally, &about).is_none(),
            "{about}"
        );
        scene.store_is_sound();
        let status = scene.listed()[&id].status.clone();
        tally.ended(status == "ended");
        match status.as_str() {
            "active" => drop(scene.sandbox.jackin(["end", &id]).ok()),
            "ended" => {}
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
    }
    tally.done();
}
