//! Restores and undos that are killed, and their taking up too, up to three times in a row: the tree is the old one or the new one.

use std::time::Duration;

use super::{ROUNDS_A_STORE, Scene, rounds};
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::kill::{Dice, Tally, Verdict, appears, strike, strike_when, timed};
use crate::support::machine::has_points;
use crate::support::tree::Tree;

/// Replaces, removes, adds, moves and changes in place.
const DAMAGE: &str = "
    for f in many/[0-5]/*; do echo agent > $f; done; rm -r many/6; mkdir -p new/in; for n in 1 2 3 4 5 6 7 8; do echo $n > new/in/$n; done
    echo short > big; chmod 600 mode; rm hard link; ln -s elsewhere link; mv many/7 moved; rmdir empty; echo file > empty";

/// A project with a session behind it, and its two trees.
struct Wreck {
    scene: Scene,
    id: String,
    good: Tree,
    bad: Tree,
    /// Whether the bad tree is there now.
    is_bad: bool,
    takes: Duration,
    /// How long it takes from the journal to the decision: between the two the tree is mixed.
    moves: Duration,
}

impl Wreck {
    fn new() -> Self {
        let scene = Scene::new();
        let good = scene.tree();
        let id = scene.sandbox.launch(&scene.project, DAMAGE);
        let mut wreck = Self {
            bad: scene.tree(),
            scene,
            id,
            good,
            is_bad: true,
            takes: Duration::ZERO,
            moves: Duration::ZERO,
        };
        for verb in ["restore", "undo", "restore"] {
            let restore = wreck.scene.sandbox.command([verb, &wreck.id, "--yes"]);
            (wreck.takes, wreck.moves) = timed(restore, &wreck.scene.sandbox.store());
        }
        wreck.is_bad = false;
        wreck
    }

    fn run(&self, verb: &str) -> crate::support::run::Run {
        self.scene.sandbox.jackin([verb, &self.id, "--yes"])
    }

    fn waits(&self) -> bool {
        let plan = self
            .scene
            .sandbox
            .jackin(["restore", &self.id, "--dry-run"])
            .code_in(&[0, 8]);
        plan.exit() == Some(8)
    }
}

/// Tallies for each verb that is killed here.
struct Tallies {
    first: [Tally; 2],
    up: [Tally; 2],
}

/// One chain of kills. Gives whether the tree is bad afterwards.
fn chain(wreck: &mut Wreck, dice: &mut Dice, tallies: &mut Tallies) {
    let scene = &wreck.scene;
    let (verb, tally) = if wreck.is_bad {
        ("restore", &mut tallies.first[0])
    } else {
        ("undo", &mut tallies.first[1])
    };
    let old = scene.tree();
    let new = if wreck.is_bad { &wreck.good } else { &wreck.bad };
    let after = tally.moment(dice, wreck.takes);
    let command = scene.sandbox.command([verb, &wreck.id, "--yes"]);
    // Every other one at any moment, the others where it hurts most: while paths are moved.
    let struck = if dice.below(2) == 0 {
        strike(command, after)
    } else {
        let within = tally.moment(dice, wreck.moves);
        strike_when(command, || {
            appears(&scene.sandbox.store(), "journal");
            std::thread::sleep(within);
        })
    };
    let mut about = format!("{verb} {} killed after {after:?}", tally.kill(struck.landed));
    if let Some(run) = struck.run {
        run.ok();
    }
    // Up to three more, as long as there is something to take up.
    let (mut depth, mut turned) = (0, None);
    while depth < 3 && wreck.waits() {
        if depth == 0 {
            let tally = if verb == "restore" {
                &mut tallies.first[0]
            } else {
                &mut tallies.first[1]
            };
            tally.midway();
        }
        let turn = usize::try_from(dice.below(2)).unwrap();
        let how = ["resume", "abort"][turn];
        let after = tallies.up[turn].moment(dice, wreck.takes);
        let struck = strike(scene.sandbox.command([how, &wreck.id, "--yes"]), after);
        tallies.up[turn].kill(struck.landed);
        about = format!("{about}, {how} after {after:?}");
        if let Some(run) = struck.run {
            run.ok();
        }
        if wreck.waits() {
            tallies.up[turn].midway();
        }
        turned = Some(turn);
        depth += 1;
    }
    // And now to the end. Who is asked while it waits has its tree; what was decided before that stays decided.
    let waits = wreck.waits();
    let how = ["resume", "abort"][usize::try_from(dice.below(2)).unwrap()];
    let run = wreck.run(how).code_in(&[0, 5]);
    assert!(!waits || run.exit() == Some(0), "{about}\n{run}");
    let now = scene.tree();
    let verdict = Verdict::of(&old, new, &now);
    let is_new = verdict.new > 0;
    if waits {
        assert_eq!(is_new, how == "resume", "{about}: {how} had the last word");
    } else if let Some(turn) = turned {
        assert_eq!(is_new, turn == 0, "{about}: it was decided by the last of them");
    }
    match turned {
        Some(turn) => tallies.up[turn].judge(&verdict, &about),
        None => tallies.first[usize::from(verb == "undo")].judge(&verdict, &about),
    }
    if let (Some(_), first) = (turned, &mut tallies.first[usize::from(verb == "undo")]) {
        first.ended(is_new);
    }
    if is_new {
        wreck.is_bad = !wreck.is_bad;
        let lines = differences(new, &now, Exactness::Content);
        assert!(lines.is_empty(), "{about}: {lines:?}");
    } else {
        // Nothing was touched: the same objects with the same times.
        let lines = differences(&old, &now, Exactness::Identity);
        assert!(lines.is_empty(), "{about}: {lines:?}");
    }
    scene.sandbox.no_litter();
    scene.store_is_sound();
}

#[test]
fn restores_undos_and_what_takes_them_up() {
    let mut dice = Dice::new(29);
    let mut tallies = Tallies {
        first: ["restore", "undo"].map(Tally::of),
        up: ["resume", "abort"].map(Tally::of),
    };
    let mut wreck = Wreck::new();
    // What takes up is killed only where something waits, so it may take some more until one of each was.
    let late = |tallies: &Tallies| tallies.first.iter().chain(&tallies.up).any(Tally::is_late);
    let mut round = 0;
    while round < rounds() * 2 || (late(&tallies) && round < rounds() * 2 + 200) {
        round += 1;
        if round % ROUNDS_A_STORE == 0 {
            wreck = Wreck::new();
        }
        chain(&mut wreck, &mut dice, &mut tallies);
    }
    // What the last one left blocks nothing. A restore that was decided before its kill needs no `resume`: the next
    // command on the same files clears up behind it, also one that finds nothing else to do.
    wreck.run("restore").ok();
    assert_same_tree(&wreck.good, &wreck.scene.tree());
    wreck.scene.no_litter("at last");
    let Tallies { first, up } = tallies;
    for tally in first.into_iter().chain(up) {
        tally.done();
    }
}

/// At the program's own points, one after the other, three deep: the undo, then what takes it up, then that again.
#[test]
fn undos_killed_at_points_and_taken_up_by_what_is_killed_at_points() {
    if !has_points() {
        return crate::support::machine::skip("kills at points", "a released program has none");
    }
    let mut wreck = Wreck::new();
    let mut dice = Dice::new(30);
    let step = usize::try_from(120 / rounds().max(8)).unwrap().max(1);
    let mut seen = [0_u32; 2];
    for (count, point) in (1_u64..).step_by(step).enumerate() {
        if wreck.is_bad {
            wreck.run("restore").ok();
            wreck.is_bad = false;
        }
        let old = wreck.scene.tree();
        let dies = |verb: &str, point: u64| {
            let command = wreck.scene.sandbox.command([verb, &wreck.id, "--yes"]);
            let run = command
                .with("JACKIN_RECOVERY_FAIL_AT", format!("any:{point}"))
                .run();
            assert!(
                run.exit().is_none_or(|code| code == 0),
                "{verb} at {point}\n{run}"
            );
            run.exit().is_none()
        };
        if !dies("undo", point) {
            break;
        }
        let mut last = None;
        for _ in 0..2 {
            if wreck.waits() {
                let how = ["resume", "abort"][usize::try_from(dice.below(2)).unwrap()];
                dies(how, 1 + dice.below(point + 12));
                last = Some(how);
            }
        }
        let waits = wreck.waits();
        let how = if waits {
            ["resume", "abort"][count % 2]
        } else {
            "abort"
        };
        wreck.run(how).code_in(&[0, 5]);
        let verdict = Verdict::of(&old, &wreck.bad, &wreck.scene.tree());
        let about = format!("undo killed at {point}, {last:?}, {waits}, {how}: {verdict:?}");
        assert!(
            verdict.torn.is_empty() && verdict.lost.is_empty() && !verdict.is_mixed(),
            "{about}"
        );
        match (waits, last) {
            (true, _) => assert_eq!(verdict.new > 0, how == "resume", "{about}"),
            (false, Some(last)) => assert_eq!(verdict.new > 0, last == "resume", "{about}"),
            (false, None) => {}
        }
        wreck.is_bad = verdict.new > 0;
        seen[usize::from(wreck.is_bad)] += 1;
        wreck.scene.sandbox.no_litter();
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    wreck.scene.store_is_sound();
}
