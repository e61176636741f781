//! Ending: seen once, or found dead once.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{acts, begun, lost, record, request, row, world};
use crate::capture::tests::Place;
use crate::model::{Ending, SnapshotKind};
use crate::observer::Silent;
use crate::session::{
    CheckpointRequest, EndRequest, SessionError, State, checkpoint, close_orphaned_sessions, end, state,
};
use crate::store::{InstanceRow, LockGuard, Store, StoreError};

fn with_status<'a>(row: &'a InstanceRow, lock: Option<&'a LockGuard>) -> EndRequest<'a> {
    EndRequest {
        row,
        ending: Ending::Status(3),
        survivors: Vec::new(),
        lock,
    }
}

#[test]
fn a_seen_end_has_one_closing_and_cannot_come_twice() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![place.coverage()])).unwrap();
    let open = row(&place, &begun.instance);
    let closed = end(
        &place.store,
        world(&place, &Silent),
        with_status(&open, Some(&begun.lock)),
    )
    .unwrap();
    let closing = closed.closing.unwrap().record;
    assert_eq!((closing.kind, closing.late), (SnapshotKind::Closing, false));
    assert!(closed.error.is_none());
    let over = row(&place, &begun.instance);
    assert_eq!(over.ending, Some(Ending::Status(3)));
    let again = end(
        &place.store,
        world(&place, &Silent),
        with_status(&over, Some(&begun.lock)),
    );
    assert!(matches!(again, Err(SessionError::AlreadyEnded(id)) if id == begun.instance));
    drop(begun.lock);
    // The row as it is, and as an end read it that came at the same time.
    for seen in [&over, &open] {
        let again = end(&place.store, world(&place, &Silent), with_status(seen, None));
        assert!(matches!(again, Err(SessionError::AlreadyEnded(id)) if id == begun.instance));
    }
    assert_eq!(state(&place.store, &over), State::Ended);
    assert_eq!(
        acts(&place, &begun.instance),
        ["begin", "baseline", "closing", "end"]
    );
}

/// It waits in vain, for the one that ended the session keeps the lock.
#[test]
fn an_end_that_gets_no_lock_reads_the_session_again() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![place.coverage()])).unwrap();
    // A launcher's lock is waited for only for a moment.
    let open = InstanceRow {
        command: Some(("agent".to_owned(), 2)),
        keeper: None,
        ..row(&place, &begun.instance)
    };
    let ends = |lock| EndRequest {
        row: &open,
        ending: Ending::Ended,
        survivors: Vec::new(),
        lock,
    };
    let early = end(&place.store, world(&place, &Silent), ends(None));
    assert!(matches!(
        early,
        Err(SessionError::Store(StoreError::Locked { .. }))
    ));
    end(&place.store, world(&place, &Silent), ends(Some(&begun.lock))).unwrap();
    let late = end(&place.store, world(&place, &Silent), ends(None));
    assert!(matches!(late, Err(SessionError::AlreadyEnded(id)) if id == begun.instance));
}

#[test]
fn a_checkpoint_is_refused_once_the_end_is_recorded() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![place.coverage()])).unwrap();
    let open = row(&place, &begun.instance);
    let request = EndRequest {
        row: &open,
        ending: Ending::Ended,
        survivors: Vec::new(),
        lock: Some(&begun.lock),
    };
    end(&place.store, world(&place, &Silent), request).unwrap();
    std::fs::write(place.root.join("f"), "a later edit").unwrap();
    // With the row as it was before.
    let taken = checkpoint(
        &place.store,
        world(&place, &Silent),
        &open,
        CheckpointRequest::default(),
    );
    let message = taken.err().unwrap().to_string();
    assert!(message.contains("has already ended"), "{message}");
    assert_eq!(place.store.catalog().snapshots(&begun.instance).unwrap().len(), 2);
    assert_eq!(
        acts(&place, &begun.instance),
        ["begin", "baseline", "closing", "end"]
    );
}

#[test]
fn a_closing_that_fails_does_not_keep_the_session_from_ending() {
    let place = Place::with(&[("f", "f")]);
    let begun = begun(&place, request(vec![place.coverage()])).unwrap();
    std::fs::remove_dir_all(&place.root).unwrap();
    std::fs::write(&place.root, "a file").unwrap();
    let open = row(&place, &begun.instance);
    let request = EndRequest {
        row: &open,
        ending: Ending::Ended,
        survivors: Vec::new(),
        lock: Some(&begun.lock),
    };
    let closed = end(&place.store, world(&place, &Silent), request).unwrap();
    assert!(closed.closing.is_none());
    assert!(closed.error.is_some());
    assert_eq!(
        acts(&place, &begun.instance),
        ["begin", "baseline", "capture failed", "end"]
    );
}

#[test]
fn a_lost_session_gets_one_late_closing_however_often_it_is_found() {
    let place = Place::with(&[("f", "f")]);
    let lost = lost(&place, "rc-aaaaaaaa-lost", vec![place.coverage()]);
    let closed = close_orphaned_sessions(&place.store, world(&place, &Silent), &lost)
        .unwrap()
        .unwrap();
    assert!(closed.closing.unwrap().record.late);
    // The same row, as somebody read it before; and as it is now.
    for seen in [lost.clone(), row(&place, &lost.id)] {
        let again = close_orphaned_sessions(&place.store, world(&place, &Silent), &seen).unwrap();
        assert!(again.is_none());
    }
    assert_eq!(acts(&place, &lost.id), ["begin", "baseline", "closing", "end"]);
    assert_eq!(state(&place.store, &row(&place, &lost.id)), State::Lost);
}

#[test]
fn of_several_who_find_it_at_once_one_closes_it() {
    let place = Place::with(&[("f", "f")]);
    let lost = lost(&place, "rc-aaaaaaaa-lost", vec![place.coverage()]);
    let closed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::open_write(place.store.layout().root()).unwrap();
                if let Some(done) = close_orphaned_sessions(&store, world(&place, &Silent), &lost).unwrap() {
                    assert!(done.error.is_none());
                    closed.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(closed.load(Ordering::Relaxed), 1);
    // Another connection wrote it: the log is the truth.
    assert_eq!(acts(&place, &lost.id), ["begin", "baseline", "closing", "end"]);
}

#[test]
fn a_living_or_ended_session_is_not_settled() {
    let place = Place::with(&[("f", "f")]);
    let lost = lost(&place, "rc-aaaaaaaa-lost", vec![place.coverage()]);
    let settle = || close_orphaned_sessions(&place.store, world(&place, &Silent), &lost).unwrap();
    let lock = place.store.lock_instance(&lost.id).unwrap();
    assert!(settle().is_none(), "somebody holds its lock");
    drop(lock);
    let until_end = begun(&place, request(vec![place.coverage()])).unwrap();
    drop(until_end.lock);
    let alive = row(&place, &until_end.instance);
    if state(&place.store, &alive).is_active() {
        let settled = close_orphaned_sessions(&place.store, world(&place, &Silent), &alive).unwrap();
        assert!(settled.is_none());
    }
    assert!(settle().is_none(), "`begin` on the same files closed it");
    assert_eq!(acts(&place, &lost.id), ["begin", "baseline", "closing", "end"]);
}

#[test]
fn a_lost_session_whose_files_are_gone_is_closed_all_the_same() {
    let place = Place::with(&[("f", "f")]);
    let lost = lost(&place, "rc-aaaaaaaa-lost", vec![place.coverage()]);
    std::fs::remove_dir_all(&place.root).unwrap();
    let closed = close_orphaned_sessions(&place.store, world(&place, &Silent), &lost)
        .unwrap()
        .unwrap();
    assert!(closed.closing.unwrap().manifests[0].is_none());
    assert_eq!(row(&place, &lost.id).ending, Some(Ending::Unseen));
    // A mode that captures nothing has nothing to close.
    let bare = record(&place, "rc-bbbbbbbb-bare", None, vec![]);
    let closed = close_orphaned_sessions(&place.store, world(&place, &Silent), &bare)
        .unwrap()
        .unwrap();
    assert!(closed.closing.is_none() && closed.error.is_none());
    assert_eq!(acts(&place, &bare.id), ["begin", "end"]);
}

#[test]
fn a_session_that_was_killed_before_its_baseline_has_failed() {
    let place = Place::with(&[("f", "f")]);
    let killed = record(&place, "rc-aaaaaaaa-killed", None, vec![place.coverage()]);
    assert_eq!(state(&place.store, &killed), State::Lost);
    let closed = close_orphaned_sessions(&place.store, world(&place, &Silent), &killed).unwrap();
    assert!(closed.is_none());
    assert_eq!(acts(&place, &killed.id), ["begin", "end"]);
    assert_eq!(state(&place.store, &row(&place, &killed.id)), State::Failed);
}
