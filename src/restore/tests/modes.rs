//! Modes of directories that a restore goes through: what nothing is moved into or out of is not opened for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::wrecked;
use crate::capture::tests::Place;
use crate::restore::Outcome;

fn set_mode(place: &Place, name: &str, mode: u32) {
    fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(place: &Place, name: &str) -> u32 {
    fs::metadata(place.at(name)).unwrap().permissions().mode() & 0o7777
}

/// As root nothing has to be opened at all.
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
