//! Objects that moved while a snapshot was taken, and on in the session.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use super::{DELETE, NOTHING, Wrecked, words};
use crate::capture::Limits;
use crate::capture::tests::{Moment, Place, at, path};
use crate::diff::Side;
use crate::model::{Gap, GapReason, Manifest, Name, SnapshotKind, Time};
use crate::restore::older::{Captured, older_objects};
use crate::restore::{ChangeHistory, Scope, plan};
use handle_fs::Root;
use handle_fs::remote::Transports;

#[test]
fn what_moved_while_the_snapshot_was_taken_and_in_the_session_is_found() {
    let place = Place::new();
    place.write("aside", "the only copy");
    // What is captured has changed since.
    std::thread::sleep(std::time::Duration::from_millis(20));
    place.write("a/main", "main");
    let outside = tempfile::tempdir_in(place.at("").parent().unwrap()).unwrap();
    let away = outside.path().join("precious");
    fs::rename(place.at("aside"), &away).unwrap();
    let mut target = place.look(None);
    let started_at = Time::from_nanos(i128::from(i64::MAX));
    fs::create_dir(place.at("b")).unwrap();
    fs::rename(&away, place.at("b/precious")).unwrap();
    place.write("b/made", "by the session");
    let now = place.look(None);
    let root = Root::open(&Transports::default(), &place.at("")).unwrap();
    let older = |mounts: &[Manifest], now: &Manifest| {
        let witness = ChangeHistory {
            last: Some(now.clone()),
            ..ChangeHistory::default()
        };
        let side = Side {
            manifest: Some(now),
            skipped: &[],
        };
        let plan = plan(mounts.first(), &side, &witness, &Scope::All, NOTHING);
        assert!(
            plan.steps
                .iter()
                .any(|step| step.change.path == path("b/precious"))
        );
        let captured = || {
            Some(Captured {
                mounts: mounts.to_vec(),
                own: 0,
                started_at,
            })
        };
        older_objects(&root, &captured, now, &plan)
    };
    assert_eq!(
        older(&[target.clone()], &now),
        BTreeSet::new(),
        "nothing moved meanwhile"
    );
    let above = target
        .directories
        .iter()
        .position(|dir| dir.path == path("a"))
        .unwrap();
    let gap = Gap {
        name: Name::new(b"precious").unwrap(),
        reason: GapReason::Moving,
    };
    Arc::make_mut(&mut target.directories[above]).gaps.push(gap);
    assert_eq!(older(&[target.clone()], &now), [path("b/precious")].into());
    // Another mount of the snapshot has it.
    assert_eq!(older(&[target.clone(), now.clone()], &now), BTreeSet::new());
    // And so has another name.
    fs::hard_link(place.at("b/precious"), &away).unwrap();
    let now = place.look(None);
    assert_eq!(fs::metadata(&away).unwrap().nlink(), 2);
    assert_eq!(older(&[target], &now), BTreeSet::new());
}

#[test]
fn a_file_that_moves_in_the_baseline_and_in_the_session_stays() {
    let wreck = || {
        let place = Place::with(&[("a/x", "x"), ("z/precious", "the only copy")]);
        place.rest();
        place.write("a/later", "later");
        // All directories are listed by then.
        let (from, to) = (place.at("z/precious"), place.at("a/precious"));
        let moves = at(Moment::Read, || _ = fs::rename(&from, &to));
        let coverages = [place.coverage()];
        let baseline = place
            .try_take(SnapshotKind::Baseline, &coverages, Limits::NONE, &moves)
            .unwrap();
        fs::create_dir(place.at("b")).unwrap();
        fs::rename(place.at("a/precious"), place.at("b/precious")).unwrap();
        place.write("b/made", "by the session");
        let closing = place.take(SnapshotKind::Closing);
        Wrecked {
            place,
            baseline,
            closing,
        }
    };
    let session = wreck();
    let proposal = session.propose();
    let planned = words(&proposal.mounts[0].plan);
    assert_eq!(
        planned,
        [
            "conflict b/precious: older",
            "delete b/made",
            "kept b: holds b/precious"
        ]
    );
    assert!(proposal.is_in_part());
    session.execute(&proposal).unwrap();
    assert_eq!(
        fs::read(session.place.at("b/precious")).unwrap(),
        b"the only copy"
    );
    let session = wreck();
    let proposal = session.propose_with(Scope::All, DELETE);
    session.execute(&proposal).unwrap();
    assert!(!session.place.at("b").exists());
}
