//! Restores, and what takes them back or up, on full disks.

use super::{Cramped, everywhere, is_thorough};
use crate::support::ballast::Short;
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::machine::has_points;
use crate::support::run::Run;
use crate::support::tree::Tree;

const DAMAGE: &str = "for f in dir/[0-2]*; do echo agent > $f; done; rm dir/3*; : > big; echo agent > edited; mkdir new; echo n > new/n";

/// A session and the trees before and after it.
struct Wreck {
    id: String,
    good: Tree,
    bad: Tree,
}

fn wreck(cramped: &Cramped) -> Wreck {
    let good = cramped.tree();
    let words = ["launch", "--snapshot", "project", ".", "--", "sh", "-c", DAMAGE];
    cramped.run(&words).ok();
    let list = cramped.run(&["list", "--json"]).ok().json();
    let id = list["instances"][0]["id"].as_str().unwrap().to_owned();
    let bad = cramped.tree();
    Wreck { id, good, bad }
}

/// Returns true if a restore waits.
fn waits(cramped: &Cramped, id: &str) -> bool {
    cramped.run(&["restore", id, "--dry-run"]).code_in(&[0, 8]).exit() == Some(8)
}

/// Runs `verb` while the disk is full, and again when there is room.
fn on_a_full_disk(cramped: &Cramped, short: Short, about: &str, verb: &str, id: &str, wanted: &Tree) {
    let (before, receipts) = (cramped.tree(), receipts(cramped, id));
    let ballast = cramped.fill(short);
    let run = cramped.run(&[verb, id, "--yes"]);
    let about = format!("{verb}, {about}");
    if run.exit() == Some(0) {
        drop(ballast);
        assert_same_tree(wanted, &cramped.tree());
        return;
    }
    cramped.says_what_is_full(&run, &about);
    let waiting = waits(cramped, id);
    if run.said().contains("no receipt could be written") {
        drop(ballast);
        return is_done_without_receipt(cramped, &run, &about, id, wanted, &receipts);
    }
    if !waiting {
        // Nothing has begun, or all was taken back.
        let lines = differences(&before, &cramped.tree(), Exactness::Identity);
        assert!(lines.is_empty(), "{about}: {lines:?}\n{run}");
        cramped.no_litter(&about);
    }
    cramped.sound();
    drop(ballast);
    let verb = if waiting && verb != "abort" {
        "resume"
    } else {
        verb
    };
    cramped.run(&[verb, id, "--yes"]).ok();
    assert_same_tree(wanted, &cramped.tree());
}

/// The numbers of the receipts of a session's restores and undos.
fn receipts(cramped: &Cramped, id: &str) -> Vec<u64> {
    let shown = cramped.run(&["show", id, "--json"]).ok().json();
    let restores = shown["restores"].as_array().unwrap().iter();
    restores.map(|one| one["receipt"].as_u64().unwrap()).collect()
}

/// All is done but for the receipt, and the next command that writes here writes that, once.
#[track_caller]
fn is_done_without_receipt(
    cramped: &Cramped,
    run: &Run,
    about: &str,
    id: &str,
    wanted: &Tree,
    before: &[u64],
) {
    assert_eq!(run.exit(), Some(1), "{about}: {run}");
    assert!(run.said().contains("the files were restored"), "{about}: {run}");
    assert_same_tree(wanted, &cramped.tree());
    assert_eq!(receipts(cramped, id), before, "{about}: {run}");
    cramped.sound();
    cramped
        .run(&["launch", "--snapshot", "project", ".", "--", "true"])
        .ok();
    let now = receipts(cramped, id);
    assert_eq!(now.len(), before.len() + 1, "{about}: {run}");
    assert!(now.ends_with(before), "{about}: {now:?} {before:?}");
    assert_same_tree(wanted, &cramped.tree());
    cramped.no_litter(about);
    cramped.sound();
}

#[test]
fn restores_and_undos() {
    everywhere(|cramped, short, about| {
        let wreck = wreck(cramped);
        on_a_full_disk(cramped, short, about, "restore", &wreck.id, &wreck.good);
        cramped.no_litter(about);
        on_a_full_disk(cramped, short, about, "undo", &wreck.id, &wreck.bad);
        cramped.no_litter(about);
        cramped.run(&["restore", &wreck.id, "--yes"]).ok();
        assert_same_tree(&wreck.good, &cramped.tree());
        cramped.sound();
    });
}

#[test]
fn what_takes_killed_restores_up() {
    if !has_points() {
        return crate::support::machine::skip("kills at points", "a released program has none");
    }
    let turn = std::cell::Cell::new(0);
    everywhere(|cramped, short, about| {
        let wreck = wreck(cramped);
        turn.set(turn.get() + 1);
        let ways = [
            ("resume", "journaled"),
            ("resume", "moved"),
            ("abort", "move:9"),
            ("abort", "moved"),
        ];
        // Each way in turn, or all of them.
        let (first, many) = if is_thorough() {
            (0, 4)
        } else {
            (turn.get() % 4, 1)
        };
        for (verb, point) in ways.into_iter().skip(first).take(many) {
            let run = cramped.run_at(&["restore", &wreck.id, "--yes"], point);
            assert_eq!(run.exit(), None, "{about}: {point}\n{run}");
            let wanted = if verb == "abort" { &wreck.bad } else { &wreck.good };
            let ballast = cramped.fill(short);
            let run = cramped.run(&[verb, &wreck.id, "--yes"]);
            let about = format!("{verb} after {point}, {about}");
            if run.exit() != Some(0) {
                cramped.says_what_is_full(&run, &about);
                cramped.sound();
            }
            drop(ballast);
            // What could not be finished is finished now; what was, says that there is nothing to do.
            let again = cramped.run(&[verb, &wreck.id, "--yes"]);
            again.code_in(&[0, 5]);
            assert_same_tree(wanted, &cramped.tree());
            cramped.no_litter(&about);
            if verb == "resume" {
                cramped.run(&["undo", &wreck.id, "--yes"]).ok();
            }
        }
        cramped.run(&["restore", &wreck.id, "--yes"]).ok();
        assert_same_tree(&wreck.good, &cramped.tree());
        cramped.sound();
    });
}
