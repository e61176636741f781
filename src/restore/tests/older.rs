//! Objects that moved while a snapshot was taken, and on in the session.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use super::NOTHING;
use crate::capture::tests::{Place, path};
use crate::diff::Side;
use crate::model::{Gap, GapReason, Manifest, Name, Time};
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
    let at = target
        .directories
        .iter()
        .position(|dir| dir.path == path("a"))
        .unwrap();
    let gap = Gap {
        name: Name::new(b"precious").unwrap(),
        reason: GapReason::Moving,
    };
    Arc::make_mut(&mut target.directories[at]).gaps.push(gap);
    assert_eq!(older(&[target.clone()], &now), [path("b/precious")].into());
    // Another mount of the snapshot has it.
    assert_eq!(older(&[target.clone(), now.clone()], &now), BTreeSet::new());
    // And so has another name.
    fs::hard_link(place.at("b/precious"), &away).unwrap();
    let now = place.look(None);
    assert_eq!(fs::metadata(&away).unwrap().nlink(), 2);
    assert_eq!(older(&[target], &now), BTreeSet::new());
}
