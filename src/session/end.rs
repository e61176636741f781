//! The end: the closing snapshot, seen or late.

use super::deferred_baseline::wait_for_baseline;
use super::guard::overlap;
use super::here::lacks_baseline;
use super::import::INTERRUPTED;
use super::liveness::{may_have_launcher, state};
use super::recovery::is_torn;
use super::{Services, SessionError, State, watcher};
use crate::capture::{CaptureError, Captured, Request, check_containers, check_mounted, take};
use crate::diff::count_changes;
use crate::model::{Coverage, Ending, Operation, ProcessRef, SnapshotKind};
use crate::store::{InstanceRow, LockGuard, Store, StoreError};
use handle_fs::{Locations, MountError};

/// Session to end, and its ending.
pub struct EndRequest<'a> {
    /// The instance.
    pub row: &'a InstanceRow,
    /// Ending to record.
    pub ending: Ending,
    /// Processes of it that still live.
    pub survivors: Vec<ProcessRef>,
    /// The instance's lock, if the caller held it when it read `row`; otherwise [`end`] takes it and reads the row again.
    pub lock: Option<&'a LockGuard>,
}

/// An instance that ended.
pub struct Closed {
    /// The closing snapshot; `None` if the instance has no mounts or no other snapshot.
    pub closing: Option<Captured>,
    /// Error of the closing snapshot, if there should be one and it failed.
    pub error: Option<CaptureError>,
}

/// Ends an instance: closing snapshot, and with its receipt that of the end. A closing snapshot that fails does not keep it from ending; one that is
/// interrupted does. One end at a time works on an instance: another one waits half a minute, and finds it ended.
///
/// # Errors
/// [`SessionError::AlreadyEnded`]; [`SessionError::BeingEnded`]; [`SessionError::Capture`]; [`SessionError::Store`].
pub fn end(store: &Store, world: Services<'_>, request: EndRequest<'_>) -> Result<Closed, SessionError> {
    // Two closing snapshots would take what was edited between them for the session's work.
    let (_lock, fresh) = match request.lock {
        Some(_) => (None, None),
        None => {
            let lock = lock_to_end(store, request.row)?;
            // Read again under the lock: another end may have come first.
            (Some(lock), store.catalog().instance(&request.row.id)?)
        }
    };
    let row = fresh.as_ref().unwrap_or(request.row);
    if row.ended_at.is_some() {
        return Err(SessionError::AlreadyEnded(row.id.clone()));
    }
    watcher::dismiss(store, row);
    let late = request.ending == Ending::Unseen;
    let mut closed = Closed {
        closing: None,
        error: None,
    };
    let act = Operation::End {
        ending: request.ending,
        survivors: request.survivors,
    };
    if !row.mounts.is_empty() {
        wait_for_baseline(store, world, row)?;
        // A closing snapshot alone would be of no use, and hold a whole archive.
        if lacks_baseline(store, row)? && store.catalog().captures(&row.id)?.is_empty() {
            store.append(world.clock.now(), world.uid, &row.id, act)?;
            return Ok(closed);
        }
        // What an agent wrote must not keep us from recording what it did: the store's room is the limit.
        let capture = Request {
            workspace: row.workspace.as_deref(),
            late,
            count: Some(count_changes),
            then: Some((world.clock, &act)),
            since: Some(store.newest_known_receipt()?),
            ..Request::of(
                &row.id,
                SnapshotKind::Closing,
                &row.mounts,
                (world.clock.now(), world.uid),
            )
        };
        // What a disk holds that is not mounted was not deleted.
        let mounted = same_mounts(store, row)?.map_err(CaptureError::from);
        match mounted.and_then(|()| take(store, &capture, world.observer, world.entropy)) {
            Ok(captured) => {
                closed.closing = Some(captured);
                return Ok(closed);
            }
            // The session stays open, so that the next command takes the snapshot: an end without one loses it for ever.
            Err(error @ CaptureError::Interrupted) => {
                return Err(SessionError::Capture {
                    kind: "closing",
                    instance: row.id.clone(),
                    source: Box::new(error),
                });
            }
            Err(error) => {
                let failed = Operation::CaptureFailed {
                    kind: SnapshotKind::Closing,
                    error: error.to_string(),
                };
                store.append(world.clock.now(), world.uid, &row.id, failed)?;
                closed.error = Some(error);
            }
        }
    }
    store.append(world.clock.now(), world.uid, &row.id, act)?;
    Ok(closed)
}

/// Takes the lock of an instance to end it. A launcher holds it as long as it lives; that of another session is only held by another end, or
/// while it begins.
fn lock_to_end(store: &Store, row: &InstanceRow) -> Result<LockGuard, SessionError> {
    let is_launched = may_have_launcher(row);
    let locked = match is_launched {
        true => store.lock_instance(&row.id),
        false => store.wait_for_instance(&row.id),
    };
    let error = match locked {
        Err(error @ StoreError::Locked { .. }) => error,
        other => return Ok(other?),
    };
    // The other end records the end before it lets the lock go.
    let fresh = store.catalog().instance(&row.id)?;
    Err(match fresh.is_some_and(|fresh| fresh.ended_at.is_some()) {
        true => SessionError::AlreadyEnded(row.id.clone()),
        false if is_launched => error.into(),
        false => SessionError::BeingEnded(row.id.clone()),
    })
}

/// Checks that each mount is still on the baseline's file system. An unreadable baseline passes.
///
/// # Errors
/// [`SessionError::Store`].
pub(super) fn same_mounts(store: &Store, row: &InstanceRow) -> Result<Result<(), MountError>, SessionError> {
    let rows = store.catalog().snapshots(&row.id)?;
    let baseline = rows
        .iter()
        .find(|snapshot| snapshot.kind == SnapshotKind::Baseline);
    let record = baseline.and_then(|snapshot| store.record(&snapshot.id).ok());
    Ok(record.map_or(Ok(()), |record| {
        check_mounted(store.transports(), &record)?;
        check_containers(store.transports(), &record)
    }))
}

/// Closes an orphaned session and returns its closing snapshot, if one was taken.
///
/// # Errors
/// [`SessionError::Store`].
pub fn close_orphaned_sessions(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
) -> Result<Option<Closed>, SessionError> {
    if row.ended_at.is_some() || state(store, row) != State::Lost || is_torn(store, &row.mounts)? {
        return Ok(None);
    }
    // Two commands may find it dead at once; the lock lets one of them close it.
    let Ok(lock) = store.lock_instance(&row.id) else {
        return Ok(None);
    };
    match store.catalog().instance(&row.id)? {
        Some(fresh) if fresh.ended_at.is_none() && fresh.is_imported() => {
            end_import(store, world, &fresh)?;
            Ok(None)
        }
        // A closing snapshot alone would be of no use.
        Some(fresh) if lacks_baseline(store, &fresh)? => {
            let ending = Ending::Failed("it was killed before its baseline was stored".to_owned());
            append_end(store, world, &fresh, ending)?;
            Ok(None)
        }
        Some(fresh) if fresh.ended_at.is_none() => {
            let request = EndRequest {
                row: &fresh,
                ending: Ending::Unseen,
                survivors: Vec::new(),
                lock: Some(&lock),
            };
            end(store, world, request).map(Some)
        }
        _ => Ok(None),
    }
}

/// An import that was interrupted: what lies at its paths here is not its own, and is never captured for it.
fn end_import(store: &Store, world: Services<'_>, row: &InstanceRow) -> Result<(), SessionError> {
    let receipts = store.catalog().receipts_of(&row.id)?;
    let is_told = receipts
        .iter()
        .any(|receipt| matches!(receipt.act, Operation::Import { .. }));
    let ending = match is_told {
        true => Ending::Ended,
        false => Ending::Failed(INTERRUPTED.to_owned()),
    };
    append_end(store, world, row, ending)
}

/// Records the end of a session of which no closing snapshot is taken.
fn append_end(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
    ending: Ending,
) -> Result<(), SessionError> {
    let survivors = Vec::new();
    store.append(
        world.clock.now(),
        world.uid,
        &row.id,
        Operation::End { ending, survivors },
    )?;
    Ok(())
}

/// Closes each orphaned session on paths that overlap with `coverages`, like [`close_orphaned_sessions`].
///
/// # Errors
/// [`SessionError::Store`].
pub fn close_orphaned_sessions_on(
    store: &Store,
    world: Services<'_>,
    coverages: &[Coverage],
) -> Result<(), SessionError> {
    let locations = Locations::default();
    for row in store.catalog().open_instances()? {
        if row
            .writable()
            .any(|theirs| coverages.iter().any(|ours| overlap(ours, theirs, &locations)))
        {
            close_orphaned_sessions(store, world, &row)?;
        }
    }
    Ok(())
}
