//! Checkpoints of a running session: requested ones, and those that are taken when something changed.

use super::deferred_baseline::{awaited, wait_for_baseline};
use super::end::same_mounts;
use super::select::last_pruned;
use super::watcher::{self, Answer};
use super::{Services, SessionError};
use crate::capture::{CaptureError, Captured, Limits, Request, has_changed, take, take_unless_same};
use crate::diff::count_changes;
use crate::display::HIDDEN;
use crate::model::{
    AgentEvent, AgentRef, CallRef, Operation, ProcessRef, SnapshotId, SnapshotKind, SnapshotRecord,
};
use crate::store::{InstanceRow, LockGuard, LockedObject, SnapshotRow, Store, StoreError};
use settings_redaction::redact_lines;

/// Name, message and tool call of a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckpointRequest<'a> {
    /// The name that it is found by.
    pub name: Option<&'a str>,
    /// Description of the checkpoint.
    pub message: Option<&'a str>,
    /// The event of an agent that it is taken at.
    pub event: Option<(&'a AgentRef, &'a AgentEvent)>,
    /// The agent's process, where the event shows that it is another one than the session's keeper.
    pub keeper: Option<&'a ProcessRef>,
    /// True if it is also taken when nothing changed since the baseline: agents may not restore a baseline.
    pub beside_baseline: bool,
}

impl CheckpointRequest<'_> {
    /// Returns the tool call that comes next.
    fn call(&self) -> Option<&CallRef> {
        match self.event {
            Some((_, AgentEvent::Call { call })) => Some(call),
            _ => None,
        }
    }

    /// Returns the operation that records the event, if there is one.
    fn operation(&self, since: u64, snapshot: Option<SnapshotId>) -> Option<Operation> {
        self.event.map(|(agent, event)| Operation::AgentEvent {
            agent: agent.clone(),
            event: event.clone(),
            since,
            snapshot,
            keeper: self.keeper.cloned(),
        })
    }
}

/// Takes a checkpoint of a session. Names are unique within a session, also between concurrent processes.
///
/// # Errors
/// [`SessionError::NameTaken`]; [`SessionError::NamePruned`]; [`SessionError::Capture`]; [`SessionError::Store`].
pub fn checkpoint(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
    mark: CheckpointRequest<'_>,
) -> Result<Captured, SessionError> {
    wait_for_baseline(store, world, row)?;
    if store.catalog().snapshots(&row.id)?.is_empty() {
        // Another process may be taking it now.
        drop(store.lock_baseline(&row.id).ok());
    }
    let since = store.newest_known_receipt()?;
    let _own_name = mark.name.map(|name| own_name(store, row, name)).transpose()?;
    let attempt = Attempt {
        world,
        row,
        mark,
        since,
    };
    let mounted = same_mounts(store, row)?;
    attempt.run(|request| {
        mounted?;
        take(store, request, world.observer, world.entropy)
    })
}

/// Attempt to take a checkpoint.
struct Attempt<'a> {
    world: Services<'a>,
    row: &'a InstanceRow,
    mark: CheckpointRequest<'a>,
    /// Number of the newest receipt before it.
    since: u64,
}

impl Attempt<'_> {
    fn run<T>(&self, take: impl FnOnce(&Request<'_>) -> Result<T, CaptureError>) -> Result<T, SessionError> {
        let (mark, row, world) = (self.mark, self.row, self.world);
        // Agents write it as they write prompts.
        let message = mark.message.map(|message| redact_lines(message, HIDDEN));
        let event = mark.operation(self.since, None);
        let request = Request {
            workspace: row.workspace.as_deref(),
            name: mark.name,
            message: message.as_deref(),
            call: mark.call(),
            since: Some(self.since),
            then: event.as_ref().map(|event| (world.clock, event)),
            enforce_limits: true,
            count: Some(count_changes),
            ..Request::of(
                &row.id,
                SnapshotKind::Checkpoint,
                &row.mounts,
                (world.clock.now(), world.uid),
            )
        };
        take(&request).map_err(|source| SessionError::Capture {
            kind: "checkpoint",
            instance: row.id.clone(),
            source: Box::new(source),
        })
    }
}

/// Keeps a name for a checkpoint until it is taken.
fn own_name(store: &Store, row: &InstanceRow, name: &str) -> Result<LockGuard, SessionError> {
    let taken = || SessionError::NameTaken {
        instance: row.id.clone(),
        name: name.to_owned(),
    };
    let lock = match store.lock_checkpoint(&row.id, name) {
        Err(StoreError::Locked {
            object: LockedObject::Checkpoint(_),
        }) => return Err(taken()),
        other => other?,
    };
    // Asked under the lock: whoever had it before has its checkpoint in the catalog.
    let mut names = store.catalog().names_taken(&row.id)?.into_iter();
    if names.any(|other| other == name) {
        return Err(taken());
    }
    // Who wrote the name down means the one that was given up.
    match last_pruned(store, row, |snapshot| snapshot.name.as_deref() == Some(name))? {
        Some((_, receipt, at)) => Err(SessionError::NamePruned {
            instance: row.id.clone(),
            name: name.to_owned(),
            receipt,
            at,
        }),
        None => Ok(lock),
    }
}

/// Takes a checkpoint like [`checkpoint`]; `None` if nothing changed since the last snapshot, unless the request wants one beside the
/// baseline, and `None` if the baseline is missing: the first snapshot of a session stores everything, which only a baseline does within its
/// limits. The event of the request is recorded in all cases, and also if the checkpoint fails.
///
/// # Errors
/// [`SessionError::Capture`]; [`SessionError::Store`].
pub fn checkpoint_if_changed(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
    mark: CheckpointRequest<'_>,
) -> Result<Option<Captured>, SessionError> {
    wait_for_baseline(store, world, row)?;
    let since = store.newest_known_receipt()?;
    let last = store.catalog().snapshots(&row.id)?.into_iter().next();
    let append = |snapshot: Option<SnapshotId>| match mark.operation(since, snapshot) {
        Some(event) => store
            .append(world.clock.now(), world.uid, &row.id, event)
            .map(drop),
        None => Ok(()),
    };
    let is_enough = |last: &SnapshotRow| !(mark.beside_baseline && last.kind == SnapshotKind::Baseline);
    let taken = match last.filter(is_enough) {
        None if is_baseline_due(store, row)? => append(None).map(|()| None).map_err(Into::into),
        None => checkpoint(store, world, row, mark).map(Some),
        Some(last) => {
            let last = store.record(&last.id)?;
            let taken = unless_same(store, world, (row, mark, since), &last);
            if matches!(taken, Ok(None)) {
                append(Some(last.id))?;
            }
            taken
        }
    };
    if taken.is_err() {
        // When the call was made matters also without a snapshot of what was there.
        drop(append(None));
    }
    taken
}

/// Takes a checkpoint; `None` if nothing changed since `last`.
fn unless_same(
    store: &Store,
    world: Services<'_>,
    (row, mark, since): (&InstanceRow, CheckpointRequest<'_>, u64),
    last: &SnapshotRecord,
) -> Result<Option<Captured>, SessionError> {
    // Before anything is looked at: what happens from now on is in no walk.
    let answer = watcher::ask(store, row, last);
    if answer == Answer::Same {
        return Ok(None);
    }
    let mounted = same_mounts(store, row)?;
    let _own_name = mark.name.map(|name| own_name(store, row, name)).transpose()?;
    let attempt = Attempt {
        world,
        row,
        mark,
        since,
    };
    let taken = attempt.run(|request| match mounted {
        Err(_) if !has_changed(store, last, request.count, world.observer) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(()) => take_unless_same(store, request, last, world.observer, world.entropy),
    })?;
    if let Answer::Walk(token) = answer {
        let shown = taken.as_ref().map_or(&last.id, |captured| &captured.record.id);
        watcher::rest(store, row, shown, token);
    }
    Ok(taken)
}

/// Returns true if a session has no snapshot, and its baseline is not on its way: it failed, or the process that took it was killed. The next
/// snapshot is to be the baseline.
fn is_baseline_due(store: &Store, row: &InstanceRow) -> Result<bool, StoreError> {
    let catalog = store.catalog();
    if !catalog.snapshots(&row.id)?.is_empty() {
        return Ok(false);
    }
    // The process that takes it holds the lock, and one that is stored behind the session has a frozen snapshot.
    Ok(catalog.was_captured(&row.id)? || !store.instance_locked(&row.id)? && awaited(store, row)?.is_empty())
}

/// Takes the baseline of a session that began without one, within `limits`. `None` for any other session. The first snapshot of a session
/// is its baseline: what a restore goes back to.
///
/// # Errors
/// [`SessionError::Capture`]; [`SessionError::Store`].
pub fn baseline_again(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
    limits: Limits,
) -> Result<Option<Captured>, SessionError> {
    if row.mounts.is_empty() || !is_baseline_due(store, row)? {
        return Ok(None);
    }
    // Of two that find none, one takes it, before anything else is stored of the session.
    let _alone = store.lock_baseline(&row.id)?;
    if !is_baseline_due(store, row)? {
        return Ok(None);
    }
    // The session has run without one, and the killed process recorded nothing.
    if !store.catalog().was_captured(&row.id)? {
        let killed = Operation::CaptureFailed {
            kind: SnapshotKind::Baseline,
            error: "the process that took it was killed".to_owned(),
        };
        store.append(world.clock.now(), world.uid, &row.id, killed)?;
    }
    let request = Request {
        workspace: row.workspace.as_deref(),
        limits,
        enforce_limits: true,
        waits: false,
        ..Request::of(
            &row.id,
            SnapshotKind::Baseline,
            &row.mounts,
            (world.clock.now(), world.uid),
        )
    };
    let taken = take(store, &request, world.observer, world.entropy);
    taken.map(Some).map_err(|source| SessionError::Baseline {
        instance: row.id.clone(),
        source: Box::new(source),
    })
}
