//! `rebuild` and `restore --to` that are killed: what they do not work on is untouched, and they can be run again.

use super::{ROUNDS_A_STORE, Scene, below, rounds};
use std::path::Path;

use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::kill::{Dice, Tally, measured};
use crate::support::tree::Tree;

/// A store with some sessions in it.
fn filled(dice: &mut Dice) -> Scene {
    let scene = Scene::new();
    for _ in 0..6 {
        let id = scene.begin();
        scene.scribble(dice);
        scene.sandbox.jackin(["checkpoint", &id, "--name", "half"]).ok();
        scene.scribble(dice);
        scene.sandbox.jackin(["end", &id]).ok();
        scene.sandbox.jackin(["restore", &id, "--yes"]).ok();
    }
    scene
}

/// Everything that the store says of its sessions.
fn told(scene: &Scene) -> Vec<String> {
    let ids: Vec<String> = scene.listed().into_keys().collect();
    let shown = |id: &String| scene.sandbox.jackin(["show", id, "--json"]).ok().text();
    let log = scene.sandbox.jackin(["log", "--json"]).ok().text();
    ids.iter().map(shown).chain([log]).collect()
}

#[test]
fn rebuilds() {
    let (mut dice, mut tally) = (Dice::new(36), Tally::of("rebuild"));
    let scene = filled(&mut dice);
    let (before, all) = (scene.tree(), told(&scene));
    let takes = measured(|| scene.sandbox.jackin(["rebuild"]).ok());
    for _ in 0..rounds() {
        let (struck, about) = tally.strike(scene.sandbox.command(["rebuild"]), &mut dice, takes);
        let now = told(&scene);
        if now != all {
            tally.lost(format!("{about}: {now:?}"));
        }
        tally.ended(!struck.landed);
        scene.store_is_sound();
        // One of three is followed by a command that writes, and not by another kill.
        if dice.below(3) == 0 {
            scene.sandbox.jackin(["rebuild"]).ok();
            assert_eq!(told(&scene), all, "{about}");
        }
    }
    scene.untouched(&before, &mut tally, "rebuild");
    let next = scene.begin();
    scene.sandbox.jackin(["end", &next]).ok();
    scene.no_litter("at last");
    tally.done();
}

#[test]
fn restores_to_a_directory() {
    let (mut dice, mut tally) = (Dice::new(37), Tally::of("restore --to"));
    let mut round = 0;
    while round < rounds() {
        let scene = Scene::new();
        let wanted = scene.tree();
        let id = scene.begin();
        scene.scribble(&mut dice);
        scene.sandbox.jackin(["end", &id]).ok();
        let live = scene.tree();
        let place = |name: &str| scene.sandbox.sources().join(name);
        let words = |to: &str| ["restore", &id, "--yes", "--to", to].map(str::to_owned);
        let takes = measured(|| {
            let to = place("first");
            let _ = std::fs::remove_dir_all(&to);
            scene.sandbox.jackin(words(to.to_str().unwrap())).ok()
        });
        std::fs::remove_dir_all(place("first")).unwrap();
        for _ in 0..ROUNDS_A_STORE.min(rounds()) {
            round += 1;
            let to = place("out");
            let made = round % 2 == 0;
            if made {
                std::fs::create_dir(&to).unwrap();
            }
            let command = scene.sandbox.command(words(to.to_str().unwrap()));
            let (_, about) = tally.strike(command, &mut dice, takes);
            scene.untouched(&live, &mut tally, &about);
            scene.store_is_sound();
            look_into(&to, &wanted, made, &mut tally, &about);
            // What is left of it says so by its name; without that it works in the same place at once.
            remove_drafts(&scene.sandbox.sources());
            let _ = std::fs::remove_dir_all(&to);
            scene.sandbox.jackin(words(to.to_str().unwrap())).ok();
            assert_same_tree(&below(&wanted), &below(&Tree::read(&to)));
            std::fs::remove_dir_all(&to).unwrap();
        }
    }
    tally.done();
}

/// It is all there, or it is not there; a directory that was there before may hold a part, and then says so.
fn look_into(to: &Path, wanted: &Tree, made: bool, tally: &mut Tally, about: &str) {
    let now = to.exists().then(|| below(&Tree::read(to)));
    assert!(now.is_some() || !made, "{about}: the directory is gone");
    let lines = now
        .as_ref()
        .map(|now| differences(&below(wanted), now, Exactness::Content));
    let whole = lines.as_ref().is_some_and(Vec::is_empty);
    tally.ended(whole);
    let is_empty = now.as_ref().is_none_or(|now| now.nodes.is_empty());
    let says_so = made && now.is_some_and(|now| now.has(".jackin-recovery-unfinished"));
    if !whole && !is_empty && !says_so {
        tally.untouched(&lines.unwrap_or_default(), about);
    }
}

fn remove_drafts(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b".jackin-recovery-")
        {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
}
