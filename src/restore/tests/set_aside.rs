//! Directories that were set aside come back if a restore fails.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

use super::{NOTHING, Proposal, RestoreError, Wrecked, wrecked};
use crate::capture::tests::{Moment, at, excluding, path};
use crate::restore::{AsideError, ChangeHistory, MountRequest, Outcome, Purpose, Scope, propose, set_aside};

fn session() -> Wrecked {
    wrecked(&[("y", "before")], |place| {
        place.write("y", "after!");
        place.write("target/debug/x", "planted");
    })
}

/// Restores the file, and sets the directory aside.
fn proposal(session: &Wrecked) -> Proposal {
    let place = &session.place;
    let witness = ChangeHistory {
        last: Some(crate::capture::tests::only(&session.closing).clone()),
        ..ChangeHistory::default()
    };
    let request = MountRequest {
        coverage: excluding(place.coverage(), &["target/"]),
        scope: Scope::All,
        witness,
    };
    let target = session.baseline.record.clone();
    let made = propose(
        &place.store,
        target,
        Purpose::Restore,
        vec![request],
        NOTHING,
        false,
        &crate::observer::Silent,
    );
    let mut made = made.unwrap();
    set_aside(&mut made, 0, &path("target"), &place.entropy).unwrap();
    made
}

#[test]
fn a_surprise_after_the_last_move_brings_it_back() {
    let session = session();
    let before = session.place.tree();
    let inode = fs::metadata(session.place.at("target")).unwrap().ino();
    let proposal = proposal(&session);
    let lies = proposal.mounts[0].aside[0].lies();
    // Somebody holds the file open, which lies aside by now.
    let open = fs::File::options().append(true).open(session.place.at("y"));
    let open = open.unwrap();
    let target = session.place.at("target");
    let write = at(Moment::Reached("moved"), || {
        assert!(lies.join("debug/x").exists() && !target.exists());
        (&open).write_all(b"late").unwrap();
    });
    let result = session.execute_by(&proposal, &write);
    assert!(matches!(result, Err(RestoreError::Drift { .. })), "{result:?}");
    let mut expected = before;
    expected.get_mut(&session.place.at("y")).unwrap().1 = b"after!late".to_vec();
    session.assert_untouched(&expected, "written to while it lay aside");
    assert_eq!(fs::metadata(&target).unwrap().ino(), inode);
}

#[test]
fn another_directory_than_the_one_that_was_shown_stays() {
    for point in ["intent", "emergency", "journaled"] {
        let session = session();
        let proposal = proposal(&session);
        let target = session.place.at("target");
        let swap = at(Moment::Reached(point), || {
            fs::rename(&target, session.place.at("target-old")).unwrap();
            fs::create_dir(&target).unwrap();
            fs::rename(session.place.at("target-old"), target.join("old")).unwrap();
        });
        let result = session.execute_by(&proposal, &swap);
        let drift = match &result {
            // What was journaled is missed where it was, and named.
            Err(RestoreError::Left { cause, .. }) if point == "journaled" => cause,
            Err(error) => error,
            Ok(report) => panic!("{point}: {report:?}"),
        };
        assert!(matches!(drift, RestoreError::Drift { .. }), "{point}: {drift:?}");
        let now = session.place.tree();
        assert!(now.contains_key(&target.join("old/debug/x")), "{point}");
        session.assert_untouched(&now, point);
    }
}

#[test]
fn what_goes_along_is_not_named_twice() {
    let session = session();
    let mut proposal = proposal(&session);
    set_aside(&mut proposal, 0, &path("target/debug"), &session.place.entropy).unwrap();
    assert_eq!(proposal.mounts[0].aside.len(), 1);
    let refused = set_aside(&mut proposal, 0, &path("y"), &session.place.entropy);
    assert!(
        matches!(refused, Err(AsideError::NotADirectory(_))),
        "{refused:?}"
    );
    let report = session.execute(&proposal).unwrap();
    assert_eq!(report.outcome, Outcome::Done);
    assert_eq!(report.mounts[0].aside, proposal.mounts[0].aside);
}
