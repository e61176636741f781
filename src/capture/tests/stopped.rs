//! A capture that is stopped or fails leaves nothing behind.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Meddler, Moment, Place, coverage, path};
use crate::capture::{CaptureError, Limits};
use crate::model::SnapshotKind;
use crate::observer::Silent;
use handle_fs::MountError;

#[test]
fn wherever_it_is_stopped_no_draft_no_archive_and_no_record_stay() {
    let place = Place::with(&[("a", "a"), ("d/b", "b"), ("d/e/c", "c"), ("z", "z")]);
    place.write("large", vec![7; (4 << 20) + 1]);
    let mut stops = 0;
    loop {
        let asked = AtomicUsize::new(0);
        let meddler =
            Meddler(|moment| moment == Moment::Asked && asked.fetch_add(1, Ordering::Relaxed) >= stops);
        let taken = place.try_take(
            SnapshotKind::Baseline,
            &[place.coverage()],
            Limits::NONE,
            &meddler,
        );
        match taken {
            Ok(captured) => {
                assert!(captured.record.complete);
                break;
            }
            Err(CaptureError::Interrupted) => stops += 1,
            Err(other) => panic!("after {stops} questions: {other}"),
        }
        for directory in ["archives", "snapshots", "tmp"] {
            assert!(place.stored(directory).is_empty(), "{directory} after {stops}");
        }
        assert!(place.store.receipts().unwrap().is_empty(), "after {stops}");
    }
    assert!(stops > 6, "it is asked often, also within a large file: {stops}");
    assert_eq!(place.stored("archives").len(), 1);
}

#[test]
fn a_root_that_is_gone_is_a_fact_to_a_closing_and_an_error_to_a_baseline() {
    for kind in [
        SnapshotKind::Checkpoint,
        SnapshotKind::Closing,
        SnapshotKind::Emergency,
    ] {
        let place = Place::with(&[("a", "a")]);
        place.take(SnapshotKind::Baseline);
        fs::remove_dir_all(&place.root).unwrap();
        let captured = place.take(kind);
        assert!(captured.manifests[0].is_none(), "{}", kind.word());
        assert_eq!(captured.record.mounts[0].manifest, None);
        assert!(captured.record.archives.is_empty());
        let error = place
            .try_take(SnapshotKind::Baseline, &[place.coverage()], Limits::NONE, &Silent)
            .err();
        assert!(
            matches!(error, Some(CaptureError::Mount(MountError::Missing { .. }))),
            "{error:?}"
        );
        assert!(place.stored("tmp").is_empty());
    }
}

#[test]
fn a_root_that_is_no_directory_any_more_is_refused_whatever_the_kind() {
    let link: fn(&Place) = |place| {
        fs::create_dir(place.base.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.base.join("elsewhere"), &place.root).unwrap();
    };
    let file: fn(&Place) = |place| fs::write(&place.root, "file").unwrap();
    for make in [link, file] {
        let place = Place::new();
        fs::remove_dir(&place.root).unwrap();
        make(&place);
        for kind in [SnapshotKind::Baseline, SnapshotKind::Closing] {
            let error = place
                .try_take(kind, &[place.coverage()], Limits::NONE, &Silent)
                .err();
            assert!(
                matches!(error, Some(CaptureError::Mount(MountError::NotADirectory { .. }))),
                "{error:?}"
            );
        }
    }
}

#[test]
fn an_exclude_that_does_not_parse_and_a_second_mount_that_fails_leave_nothing() {
    let place = Place::with(&[("one/a", "a")]);
    let bad = super::excluding(place.coverage(), &["a{b"]);
    let error = place
        .try_take(SnapshotKind::Closing, &[bad], Limits::NONE, &Silent)
        .err();
    assert!(matches!(error, Some(CaptureError::Excludes { .. })), "{error:?}");
    let both = [
        coverage(&place.at("one"), "one"),
        coverage(&place.at("two"), "two"),
    ];
    let error = place
        .try_take(SnapshotKind::Baseline, &both, Limits::NONE, &Silent)
        .err();
    assert!(matches!(error, Some(CaptureError::Mount(_))), "{error:?}");
    for directory in ["archives", "snapshots", "tmp"] {
        assert!(place.stored(directory).is_empty(), "{directory}");
    }
    let closing = place
        .try_take(SnapshotKind::Closing, &both, Limits::NONE, &Silent)
        .unwrap();
    assert!(closing.manifests[0].as_ref().unwrap().entry(&path("a")).is_some());
    assert!(closing.manifests[1].is_none());
}
