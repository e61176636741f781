//! Snapshots with names that are one where they are restored.

use super::cases::at;
use super::done::Done;
use super::session::{ROOT, within};
use super::{Session, World};

fn restored(damage: impl FnOnce(&mut World)) -> (Vec<String>, Vec<String>) {
    let before = |world: &mut World| {
        world.put_file(&at("edit"), "before");
        world.put_file(&at("a"), "small");
        world.put_file(&at("A"), "capital");
        world.put_file(&at("Lost/x"), "small");
        world.put_file(&at("Lost/X"), "capital");
    };
    let session = Session::of(before, |world: &mut World| {
        world.rewrite(&at("edit"), "after");
        world.cut(&at("Lost"));
        damage(world);
    });
    let session = session.folded();
    let (done, world) = within(session.begin(), || session.restore());
    let Done::Partly(named) = done else {
        panic!("{done:?}");
    };
    let tree = world.lock().tree(ROOT);
    let is = |(path, object): (&String, &handle_fs::simulated::Object)| format!("{path} {}", object.what);
    (named, tree.iter().map(is).collect())
}

#[test]
fn both_of_two_lost_names_that_are_one_stay_lost_and_are_named() {
    let (named, tree) = restored(|world| {
        world.cut(&at("a"));
        world.cut(&at("A"));
    });
    assert_eq!(named, ["\"A\"", "\"Lost/X\"", "\"Lost/x\"", "\"a\""]);
    assert_eq!(tree, [" directory", "Lost directory", "edit file before"]);
}

#[test]
fn names_that_macos_cannot_have_stay_lost_and_are_named() {
    let before = |world: &mut World| {
        // The snapshot is one of Linux.
        world.set_macos(false);
        world.put_file(&at("edit"), "before");
        for dir in [ROOT, &at("Lost"), &at("Kept")] {
            world.put_file(&format!("{dir}/odd"), "odd");
            world.put_file(&format!("{dir}/plain"), "plain");
            world.rename_within(dir, b"odd", b"odd-\xff");
        }
    };
    let session = Session::of(before, |world: &mut World| {
        world.rewrite(&at("edit"), "after");
        world.cut(&at("Lost"));
        for dir in [ROOT, &at("Kept")] {
            world.rename_within(dir, b"odd-\xff", b"odd");
            world.cut(&format!("{dir}/odd"));
        }
    });
    let session = session.on_macos();
    let (done, world) = within(session.begin(), || session.restore());
    let Done::Partly(named) = done else {
        panic!("{done:?}");
    };
    assert_eq!(
        named,
        ["\"Kept/odd-\\xff\"", "\"Lost/odd-\\xff\"", "\"odd-\\xff\""]
    );
    let tree = world.lock().tree(ROOT);
    let files: Vec<&String> = tree
        .iter()
        .filter(|(_, object)| object.what != "directory")
        .map(|(path, _)| path)
        .collect();
    assert_eq!(files, ["Kept/plain", "Lost/plain", "edit", "plain"]);
}

#[test]
fn a_name_that_stays_keeps_the_other_case_of_it_out() {
    let (named, tree) = restored(|world| world.cut(&at("a")));
    assert_eq!(named, ["\"Lost/X\"", "\"Lost/x\"", "\"a\""]);
    assert_eq!(
        tree,
        [
            " directory",
            "A file capital",
            "Lost directory",
            "edit file before"
        ]
    );
}
