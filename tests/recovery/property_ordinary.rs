//! Restores by an ordinary user, in trees with objects of root and directories that shut the user out: exact where they say so.

use std::cell::Cell;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::select;

use super::property::runner;
use super::property_model::{Step, apply, building, damage, giving, shutting};
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, changed_paths};
use crate::support::machine::{NOBODY, has_points, is_root, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A session of a user, who owns the tree but for what was given to root.
struct Drawn {
    sandbox: Sandbox,
    project: PathBuf,
    id: String,
    before: Tree,
    now: Tree,
}

/// The steps that build the tree, that give parts of it to root, and of the session.
fn steps() -> impl Strategy<Value = (Vec<Step>, Vec<Step>, Vec<Step>)> {
    (building(), giving(), prop_oneof![damage(), shutting()])
}

impl Drawn {
    fn of((building, giving, damage): &(Vec<Step>, Vec<Step>, Vec<Step>)) -> Self {
        let sandbox = Sandbox::unprivileged().unwrap();
        let project = sandbox.project("drawn");
        apply(&project, building);
        Build::at(&project).aged();
        sandbox.give(&project);
        apply(&project, giving);
        let before = Tree::read(&project);
        let id = sandbox.begin(sandbox.target(&project));
        {
            let _user = handle_fs::act_as(NOBODY, NOBODY).unwrap();
            apply(&project, damage);
        }
        sandbox.jackin(["end", &id]).ok();
        let now = Tree::read(&project);
        Self {
            sandbox,
            project,
            id,
            before,
            now,
        }
    }
}

/// Returns true if the tests can draw for another user.
fn is_possible(what: &str) -> bool {
    let is_possible = is_root() && Sandbox::unprivileged().is_some();
    if !is_possible {
        skip(what, "commands cannot run as another user here");
    }
    is_possible
}

#[test]
fn back_and_forth_is_exact() {
    if !is_possible("back and forth of an ordinary user") {
        return;
    }
    let [all, whole] = [Cell::new(0), Cell::new(0)];
    let case = |steps| {
        let mut drawn = Drawn::of(&steps);
        for verb in ["restore", "undo", "undo", "undo"] {
            all.set(all.get() + 1);
            let run = drawn.sandbox.jackin([verb, &drawn.id, "--yes"]).code_in(&[0, 6]);
            let after = Tree::read(&drawn.project);
            // Where a part is out of reach, no state is exact any more.
            if run.exit() == Some(6) {
                break;
            }
            whole.set(whole.get() + 1);
            assert_same_tree(&drawn.before, &after);
            if changed_paths(&drawn.now, &after).is_empty() {
                break;
            }
            drawn.before = std::mem::replace(&mut drawn.now, after);
        }
        Ok(())
    };
    runner(10).run(&steps(), case).unwrap();
    assert!(whole.get() * 2 > all.get(), "{} of {}", whole.get(), all.get());
}

#[test]
fn killed_anywhere_it_is_the_new_tree_or_the_old_one() {
    if !is_possible("kills of an ordinary user's restore") {
        return;
    }
    if !has_points() {
        return skip(
            "kills of an ordinary user's restore",
            "this program does not die at points",
        );
    }
    let points = [
        "intent",
        "emergency",
        "staged",
        "journaled",
        "move:0",
        "move:1",
        "move:3",
        "moved",
        "synced",
        "compared",
        "decided",
    ];
    let [all, whole] = [Cell::new(0), Cell::new(0)];
    let case = |(steps, point, verb): (_, &str, &str)| {
        let drawn = Drawn::of(&steps);
        let killed = drawn
            .sandbox
            .command(["restore", &drawn.id, "--yes"])
            .with("JACKIN_RECOVERY_FAIL_AT", point)
            .run();
        // A plan with nothing to do, or that has fewer moves, reaches no point.
        if killed.exit().is_some_and(|code| [0, 6].contains(&code)) {
            return Ok(());
        }
        all.set(all.get() + 1);
        let ended = drawn
            .sandbox
            .jackin([verb, &drawn.id, "--yes"])
            .code_in(&[0, 5, 6]);
        let after = Tree::read(&drawn.project);
        match (ended.exit(), verb) {
            // Nothing is pending: it had not begun. From this point on it is over, and may be in part.
            (Some(5), _) if point != "decided" => prop_assert!(
                changed_paths(&drawn.now, &after).is_empty()
                    || changed_paths(&drawn.before, &after).is_empty(),
                "{point} {verb}: {ended}"
            ),
            (Some(0), "resume") => assert_same_tree(&drawn.before, &after),
            (Some(0), _) => assert_same_tree(&drawn.now, &after),
            _ => return Ok(()),
        }
        whole.set(whole.get() + 1);
        Ok(())
    };
    let drawn = (steps(), select(points.to_vec()), select(vec!["resume", "abort"]));
    runner(10).run(&drawn, case).unwrap();
    assert!(whole.get() * 2 > all.get(), "{} of {}", whole.get(), all.get());
}
