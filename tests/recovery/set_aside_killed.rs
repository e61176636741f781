//! kill -9 at every step of a restore that sets an excluded directory aside, and of its undo; and what somebody else does to the
//! directory meanwhile.

use std::fs;
use std::os::unix::fs::symlink;

use crate::set_aside::{Cargo, FLAG, below, same, text};
use crate::support::build::Build;
use crate::support::compare::Exactness;
use crate::support::tree::Tree;

/// Kills `verb` at one point after the other; `how` ends it. Gives how many points waited.
fn at_every_point(cargo: &Cargo, verb: &[&str], how: &str, old: impl Fn(&str), new: impl Fn(&str)) {
    let mut waited = 0;
    for n in 1.. {
        let about = format!("{how} after {verb:?} was killed at {n}");
        let args = [&[verb[0], &cargo.id, "--yes"], &verb[1..]].concat();
        let killed = |args: &[&str], n: u32| {
            let run = cargo.sandbox.command(args).inside(&cargo.project);
            run.with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}")).run()
        };
        let run = killed(&args, n);
        if let Some(code) = run.exit() {
            assert_eq!(code, 0, "{about}\n{run}");
            new(&about);
            break;
        }
        let waits = cargo.run(&["restore", &cargo.id, "--dry-run"]).exit() == Some(8);
        if waits {
            waited += 1;
            cargo.run(&["doctor"]).hides("left by a restore");
            let _ = killed(&[how, &cargo.id, "--yes"], n % 7 + 1);
        }
        let begun = cargo
            .run(&["doctor"])
            .text()
            .contains("was interrupted before it changed anything, or");
        cargo.run(&[how, &cargo.id, "--yes"]).code_in(&[0, 5]);
        cargo.run(&["log", "--verify"]).ok();
        let is_new = !cargo.project.join("new").exists();
        let is_new = if verb[0] == "undo" { !is_new } else { is_new };
        if is_new {
            assert!(how == "resume" || !waits, "{about}: not the old tree");
            new(&about);
            cargo.undo(&[]).ok();
            old(&about);
        } else {
            assert!(how == "abort" || !(waits || begun), "{about}: not the new tree");
            old(&about);
        }
    }
    assert!(waited >= 6, "{how}: only {waited} waited");
}

#[test]
fn killed_at_every_point_and_taken_back() {
    let cargo = Cargo::new();
    let restore = ["restore", FLAG, "target"];
    at_every_point(
        &cargo,
        &restore,
        "abort",
        |about| cargo.is_planted(about),
        |about| cargo.is_clean(about),
    );
    at_every_point(
        &cargo,
        &["undo"],
        "abort",
        |about| cargo.is_clean(about),
        |about| cargo.is_planted(about),
    );
}

#[test]
fn killed_at_every_point_and_finished() {
    let cargo = Cargo::new();
    let restore = ["restore", FLAG, "target"];
    at_every_point(
        &cargo,
        &restore,
        "resume",
        |about| cargo.is_planted(about),
        |about| cargo.is_clean(about),
    );
    at_every_point(
        &cargo,
        &["undo"],
        "resume",
        |about| cargo.is_clean(about),
        |about| cargo.is_planted(about),
    );
}

#[test]
fn an_exchange_killed_at_every_point() {
    let cargo = Cargo::new();
    cargo.restore(&[FLAG, "target"]).ok();
    let number = cargo.receipts().to_string();
    Build::at(&cargo.project).file("target/again", "built again\n");
    let rebuilt = Tree::read(&cargo.project).only("target");
    let [place] = &cargo.aside()[..] else {
        unreachable!()
    };
    let sides = || {
        let now = Tree::read(&cargo.project).only("target");
        let lies = Tree::read(&place.join("target"));
        (now, lies)
    };
    for n in 1.. {
        let how = if n % 2 == 0 { "abort" } else { "resume" };
        let args = [
            "undo",
            &cargo.id,
            "--receipt",
            &number,
            "--overwrite-later-edits",
            "--yes",
        ];
        let run = cargo
            .sandbox
            .command(args)
            .with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}"))
            .run();
        let is_done = run.exit().is_some();
        let waits = cargo.run(&["restore", &cargo.id, "--dry-run"]).exit() == Some(8);
        cargo.run(&[how, &cargo.id, "--yes"]).code_in(&[0, 5]);
        let (now, lies) = sides();
        let about = format!("{how} after it was killed at {n}");
        let is_new = now.has("target/debug");
        assert!(!waits || is_new == (how == "resume"), "{about}");
        let (here, there) = if is_new {
            (cargo.planted.only("target"), below(&rebuilt, "target"))
        } else {
            (rebuilt.clone(), below(&cargo.planted, "target"))
        };
        same(&here, &now, Exactness::Identity, &about);
        same(&there, &lies, Exactness::Identity, &about);
        if is_done {
            break;
        }
        if is_new {
            cargo.undo(&[]).ok();
        }
    }
    assert_eq!(cargo.aside().len(), 1);
}

#[test]
fn meddled_with_while_it_waits() {
    let cargo = Cargo::new();
    let die = |n: u32| {
        let args = ["restore", &cargo.id, "--yes", FLAG, "target"];
        let run = cargo.sandbox.command(args).inside(&cargo.project);
        run.with("JACKIN_RECOVERY_FAIL_AT", format!("moved:{n}")).run()
    };
    assert_eq!(die(1).exit(), None);
    Build::at(&cargo.project).file("target/mine", "mine\n");
    let back = cargo.run(&["abort", &cargo.id, "--yes"]).code(6);
    // The old one is back, and what was there lies aside and is named.
    let [place] = &cargo.aside()[..] else {
        panic!("{back}")
    };
    back.shows(text(place));
    assert_eq!(fs::read(place.join("target/mine")).unwrap(), b"mine\n");
    let now = Tree::read(&cargo.project);
    same(
        &cargo.planted.only("target"),
        &now.only("target"),
        Exactness::Identity,
        "taken back",
    );
    cargo.run(&["doctor"]).shows("left by a restore");
    fs::remove_dir_all(place).unwrap();

    assert_eq!(die(1).exit(), None);
    let [place] = &cargo.aside()[..] else { panic!() };
    fs::rename(place.join("target"), cargo.sandbox.scratch("taken")).unwrap();
    symlink("/etc", place.join("target")).unwrap();
    cargo.run(&["resume", &cargo.id, "--yes"]).refused();
    let back = cargo.run(&["abort", &cargo.id, "--yes"]).code(6);
    back.shows("is gone");
    assert!(!cargo.project.join("target").exists());
}
