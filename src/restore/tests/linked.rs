//! Hard links: changed in place only where every name of the file is ours to change.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{NOTHING, Scope, below, path, planned, words, wrecked};
use crate::capture::tests::only;
use crate::diff::tests::{Tree, file, linked, symlink, tree, with_mode, with_xattr};
use crate::model::Entry;
use crate::restore::Outcome;

fn pair(entry: &dyn Fn() -> Entry, nlink: u32) -> Tree {
    tree([
        ("a", linked(entry(), None, nlink)),
        ("b", linked(entry(), Some("a"), nlink)),
    ])
}

#[test]
fn metadata_are_put_back_in_place_for_names_that_no_snapshot_shows_as_well() {
    let then = || file("f");
    let now = || with_mode(file("f"), 0o600);
    let plan = |nlink| {
        planned(
            &pair(&then, nlink),
            &pair(&now, nlink),
            &pair(&now, nlink),
            &Scope::All,
            NOTHING,
        )
    };
    let outside = |nlink| plan(nlink).steps[0].others.outside;
    assert_eq!(words(&plan(2)), ["metadata a", "metadata b"]);
    assert_eq!(words(&plan(3)), ["metadata a", "metadata b"]);
    assert_eq!((outside(2), outside(3)), (0, 1), "one name is outside the mount");
    // A name that an exclude hides is outside as well.
    let one = |entry: Entry| tree([("a", linked(entry, None, 2))]);
    let hidden = one(now()).skip("b");
    let plan = planned(&one(then()), &hidden, &hidden, &Scope::All, NOTHING);
    assert_eq!(
        (words(&plan), plan.steps[0].others.outside),
        (vec!["metadata a".to_owned()], 1)
    );
}

#[test]
fn metadata_of_another_file_with_a_name_outside_are_not_changed() {
    let one = |entry: Entry, ino| {
        tree([(
            "a",
            Entry {
                ino,
                ..linked(entry, None, 2)
            },
        )])
    };
    let now = one(with_mode(file("f"), 0o600), 500_001);
    let plan = planned(&one(file("f"), 500_000), &now, &now, &Scope::All, NOTHING);
    assert_eq!(
        (words(&plan), plan.steps[0].others.outside),
        (vec!["replace a".to_owned()], 1)
    );
}

#[test]
fn the_first_name_of_a_group_is_joined_with_the_others_again() {
    let then = pair(&|| with_mode(file("f"), 0o600), 2);
    let now = tree([("a", file("f")), ("b", with_mode(file("f"), 0o600))]);
    let plan = planned(&then, &now, &now, &below(&["a"]), NOTHING);
    assert_eq!(words(&plan), ["replace a"]);
    // It stays apart from one that was changed later.
    let now = tree([("a", file("f")), ("b", with_mode(file("f"), 0o640))]);
    let plan = planned(&then, &now, &now, &below(&["a"]), NOTHING);
    assert_eq!(words(&plan), ["metadata a"]);
}

#[test]
fn content_is_never_changed_in_place() {
    let now = pair(&|| file("new"), 2);
    let plan = planned(&pair(&|| file("old"), 2), &now, &now, &Scope::All, NOTHING);
    assert_eq!(words(&plan), ["replace a", "replace b"]);
}

#[test]
fn a_torn_group_is_joined_and_a_new_one_is_parted() {
    let apart = tree([("a", file("f")), ("b", file("f"))]);
    let together = pair(&|| file("f"), 2);
    let join = planned(&together, &apart, &apart, &Scope::All, NOTHING);
    assert_eq!(words(&join), ["replace b"]);
    let part = planned(&apart, &together, &together, &Scope::All, NOTHING);
    assert_eq!(words(&part), ["replace b"]);
}

#[test]
fn a_group_that_lost_its_first_name_gets_it_back() {
    let now = tree([("b", file("f"))]);
    let plan = planned(&pair(&|| file("f"), 2), &now, &now, &Scope::All, NOTHING);
    assert_eq!(words(&plan), ["create a", "replace b"]);
    // Only the other name is asked for.
    let now = tree([("a", file("f"))]);
    let plan = planned(&pair(&|| file("f"), 2), &now, &now, &below(&["b"]), NOTHING);
    assert_eq!(words(&plan), ["create b"]);
}

#[test]
fn a_link_with_attributes_is_made_anew() {
    let (then, now) = (
        tree([("l", symlink("t"))]),
        tree([("l", with_xattr(symlink("t"), "v"))]),
    );
    assert_eq!(
        words(&planned(&then, &now, &now, &Scope::All, NOTHING)),
        ["replace l"]
    );
    let owned = Entry {
        uid: 0,
        ..symlink("t")
    };
    let now = tree([("l", owned)]);
    assert_eq!(
        words(&planned(&then, &now, &now, &Scope::All, NOTHING)),
        ["metadata l"]
    );
}

#[test]
fn a_name_that_goes_aside_shows_what_another_name_of_the_file_got_in_place() {
    let session = wrecked(&[("a", "kept")], |place| {
        fs::hard_link(place.at("a"), place.at("b")).unwrap();
        fs::set_permissions(place.at("a"), fs::Permissions::from_mode(0o600)).unwrap();
        if handle_fs::is_privileged() {
            std::os::unix::fs::chown(place.at("a"), Some(5), Some(6)).unwrap();
        }
    });
    let inode = fs::metadata(session.place.at("a")).unwrap().ino();
    let proposal = session.propose();
    assert_eq!(words(&proposal.mounts[0].plan), ["delete b", "metadata a"]);
    let report = session.execute(&proposal).unwrap();
    assert_eq!(report.outcome, Outcome::Done, "{report:?}");
    let (was, now) = (
        only(&session.baseline).entry(&path("a")).unwrap(),
        fs::metadata(session.place.at("a")).unwrap(),
    );
    assert_eq!((now.ino(), now.nlink()), (inode, 1));
    assert_eq!((now.uid(), now.gid()), (was.uid, was.gid));
    assert_eq!(now.mode() & 0o7777, was.mode);
    assert!(!session.place.at("b").exists());
}

#[test]
fn a_file_goes_aside_with_its_directory_and_under_its_other_name() {
    let session = wrecked(&[("y", "before")], |place| {
        place.write("x/in/file", "made");
        fs::hard_link(place.at("x/in/file"), place.at("w")).unwrap();
    });
    let proposal = session.propose();
    assert!(words(&proposal.mounts[0].plan).contains(&"delete w".to_owned()));
    let report = session.execute(&proposal).unwrap();
    assert_eq!(report.outcome, Outcome::Done, "{report:?}");
    let names: Vec<_> = fs::read_dir(&session.place.root).unwrap().collect();
    assert_eq!(names.len(), 1);
}
