//! Beginning: what is written down, and what happens when the baseline fails.

use super::{acts, begun, lost, record, request, row, world};
use crate::capture::tests::{Meddler, Moment, Place};
use crate::capture::{CaptureError, Limits};
use crate::model::{Ending, SnapshotKind};
use crate::session::{BeginRequest, SessionError, State, begin, state};

const TOO_SMALL: Limits = Limits {
    max_entries: 1,
    max_bytes: 1,
};

#[test]
fn a_session_begins_with_its_baseline() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![place.coverage()])).unwrap();
    assert_eq!(acts(&place, &begun.instance), ["begin", "baseline"]);
    let baseline = begun.baseline.unwrap();
    assert_eq!(baseline.record.kind, SnapshotKind::Baseline);
    assert!(begun.baseline_error.is_none());
    assert!(state(&place.store, &row(&place, &begun.instance)).is_active());
}

#[test]
fn a_mode_that_captures_nothing_begins_without_one() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![])).unwrap();
    assert!(begun.baseline.is_none() && begun.baseline_error.is_none());
    assert_eq!(acts(&place, &begun.instance), ["begin"]);
    assert!(place.stored("snapshots").is_empty());
}

#[test]
fn a_baseline_that_fails_blocks_the_session_unless_it_may_run_without() {
    let place = Place::with(&[("f", "f"), ("g", "g")]);
    let failing = || BeginRequest {
        limits: TOO_SMALL,
        ..request(vec![place.coverage()])
    };
    let Err(SessionError::Baseline { instance, source }) = begun(&place, failing()) else {
        panic!("it must be blocked");
    };
    assert!(matches!(*source, CaptureError::Limit { .. }), "{source}");
    assert_eq!(acts(&place, &instance), ["begin", "capture failed", "end"]);
    let failed = row(&place, &instance);
    assert!(matches!(failed.ending, Some(Ending::Failed(_))));
    assert_eq!(state(&place.store, &failed), State::Failed);

    let running = begun(
        &place,
        BeginRequest {
            run_without_baseline: true,
            ..failing()
        },
    )
    .unwrap();
    assert!(running.baseline.is_none());
    assert!(matches!(running.baseline_error, Some(CaptureError::Limit { .. })));
    assert_eq!(acts(&place, &running.instance), ["begin", "capture failed"]);
    assert!(state(&place.store, &row(&place, &running.instance)).is_active());
    assert!(place.stored("snapshots").is_empty());
}

#[test]
fn a_stop_is_no_failure_to_run_on_from() {
    let place = Place::with(&[("f", "f")]);
    let stop = Meddler(|moment| moment == Moment::Asked);
    let request = BeginRequest {
        run_without_baseline: true,
        ..request(vec![place.coverage()])
    };
    let Err(SessionError::Baseline { instance, source }) = begin(&place.store, world(&place, &stop), request)
    else {
        panic!("the operator stopped it");
    };
    assert!(matches!(*source, CaptureError::Interrupted));
    assert_eq!(state(&place.store, &row(&place, &instance)), State::Failed);
}

#[test]
fn an_earlier_session_on_the_same_files_is_closed_first() {
    let place = Place::with(&[("d/f", "f")]);
    let inner = crate::capture::tests::coverage(&place.at("d"), "inner");
    let beside = crate::capture::tests::coverage(&place.base.join("project-two"), "two");
    let lost = lost(&place, "rc-aaaaaaaa-lost", vec![inner]);
    let apart = record(&place, "rc-bbbbbbbb-apart", None, vec![beside]);
    begun(&place, request(vec![place.coverage()])).unwrap();
    assert_eq!(acts(&place, &lost.id), ["begin", "baseline", "closing", "end"]);
    assert_eq!(row(&place, &lost.id).ending, Some(Ending::Unseen));
    assert_eq!(
        acts(&place, &apart.id),
        ["begin"],
        "other files, and nobody asked"
    );
}
