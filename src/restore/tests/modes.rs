//! Directories that a restore goes through: opened only where something moves, shut again, and their times tell that it did.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use super::wrecked;
use crate::capture::tests::Place;
use crate::restore::Outcome;

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(place: &Place, name: &str) -> u32 {
    fs::metadata(place.at(name)).unwrap().permissions().mode() & 0o7777
}

/// Tests the case of an ordinary user: root does not need to open the directory.
#[test]
fn a_mode_is_put_back_in_a_directory_that_its_owner_may_not_write() {
    let session = wrecked(&[("shut/f", "kept"), ("shut/g", "kept")], |place| {
        set_mode(place, "shut/f", 0o600);
        set_mode(place, "shut", 0o555);
    });
    let was = mode(&session.place, "shut/g");
    // The directory stays as the session left it.
    let proposal = session.propose_with(super::below(&["shut/f"]), super::NOTHING);
    let report = session.execute(&proposal).unwrap();
    let modes = ["shut", "shut/f"].map(|name| mode(&session.place, name));
    set_mode(&session.place, "shut", 0o755);
    assert_eq!(report.outcome, Outcome::Done, "{report:?}");
    assert_eq!(modes, [0o555, was]);
}

#[test]
fn a_directory_is_shut_again_whatever_else_gets_another_mode() {
    let session = wrecked(&[("shut/f", "before"), ("other", "kept")], |place| {
        place.write("shut/f", "after!");
        set_mode(place, "other", 0o600);
        set_mode(place, "shut", 0o555);
    });
    let scope = super::below(&["other", "shut/f"]);
    let report = session.execute(&session.propose_with(scope, super::NOTHING));
    let now = mode(&session.place, "shut");
    set_mode(&session.place, "shut", 0o755);
    assert_eq!(report.unwrap().outcome, Outcome::Done);
    assert_eq!(now, 0o555);
    assert_eq!(fs::read(session.place.at("shut/f")).unwrap(), b"before");
}

#[test]
fn a_directory_whose_entries_changed_has_changed_since() {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let session = wrecked(&[("d/f", "before")], |place| {
        place.write("d/f", "after!");
        let directory = fs::File::open(place.at("d")).unwrap();
        directory.set_modified(long_ago).unwrap();
    });
    session.execute(&session.propose()).unwrap();
    let now = fs::metadata(session.place.at("d")).unwrap().modified().unwrap();
    assert_ne!(now, long_ago);
}

/// Tests the case of an ordinary user: root may search any directory.
#[test]
fn what_was_deleted_comes_back_in_a_directory_that_its_owner_may_not_search() {
    for shut in [0o600, 0o400] {
        let session = wrecked(
            &[("shut/deep/f", "kept"), ("shut/g", "kept"), ("other", "kept")],
            |place| {
                fs::remove_dir_all(place.at("shut/deep")).unwrap();
                place.write("other", "after!");
                set_mode(place, "shut", shut);
            },
        );
        let report = session.execute(&session.propose());
        let now = mode(&session.place, "shut");
        set_mode(&session.place, "shut", 0o755);
        // What is in it besides could not be examined when the restore was planned.
        let report = report.unwrap();
        let failed = report.mounts.iter().flat_map(|mount| &mount.failed);
        assert_eq!(failed.count(), 0, "{shut:o}: {report:?}");
        assert_eq!(now, 0o755, "{shut:o}");
        for name in ["shut/deep/f", "shut/g", "other"] {
            assert_eq!(
                fs::read(session.place.at(name)).unwrap(),
                b"kept",
                "{shut:o} {name}"
            );
        }
    }
}

#[test]
fn a_directory_that_was_shut_after_the_session_is_shut_again() {
    let session = wrecked(&[("shut/deep/f", "kept"), ("other", "kept")], |place| {
        fs::remove_dir_all(place.at("shut/deep")).unwrap();
        place.write("other", "after!");
    });
    set_mode(&session.place, "shut", 0o600);
    let report = session.execute(&session.propose());
    let now = mode(&session.place, "shut");
    set_mode(&session.place, "shut", 0o755);
    assert_eq!(report.unwrap().outcome, Outcome::Partial);
    assert_eq!(now, 0o600);
    assert_eq!(fs::read(session.place.at("shut/deep/f")).unwrap(), b"kept");
}
