//! Checkpoints of a running session: those that somebody asks for, and those that are taken when something changed.

use super::{SessionError, World};
use crate::capture::{Captured, Earlier, Limits, Look, Request, look, take};
use crate::diff::count_changes;
use crate::snapshot::{SnapshotKind, SnapshotRecord, StepCounts};
use crate::store::{InstanceRow, LockGuard, LockedObject, Store, StoreError};

/// Takes a checkpoint of a session. No two of it have the same name, whoever takes them at the same time.
///
/// # Errors
/// [`SessionError::NameTaken`]; [`SessionError::Capture`]; [`SessionError::Store`].
pub fn checkpoint(
    store: &Store,
    world: World<'_>,
    row: &InstanceRow,
    name: Option<&str>,
    message: Option<&str>,
) -> Result<Captured, SessionError> {
    let _own_name = match name {
        Some(name) => Some(own_name(store, row, name)?),
        None => None,
    };
    let request = Request {
        instance: &row.id,
        workspace: row.workspace.as_deref(),
        kind: SnapshotKind::Checkpoint,
        late: false,
        name,
        message,
        coverages: &row.mounts,
        limits: Limits::NONE,
        must_fit: true,
        check_content: false,
        count: Some(count_changes),
        now: world.clock.now(),
        uid: world.uid,
    };
    take(store, &request, world.observer, world.entropy).map_err(|source| SessionError::Capture {
        kind: "checkpoint",
        instance: row.id.clone(),
        source: Box::new(source),
    })
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
    match store
        .catalog()
        .names_taken(&row.id)?
        .iter()
        .any(|other| other == name)
    {
        true => Err(taken()),
        false => Ok(lock),
    }
}

/// Takes a checkpoint of a session with this message; `None`: nothing changed since its last snapshot.
///
/// # Errors
/// [`SessionError::Capture`]; [`SessionError::Store`].
pub fn checkpoint_if_changed(
    store: &Store,
    world: World<'_>,
    row: &InstanceRow,
    message: &str,
) -> Result<Option<Captured>, SessionError> {
    let last = store.catalog().snapshots(&row.id)?.into_iter().next();
    if let Some(last) = last
        && !has_changed(store, world, &store.record(&last.id)?)?
    {
        return Ok(None);
    }
    checkpoint(store, world, row, None, Some(message)).map(Some)
}

/// Whether any mount is not what `record` shows.
fn has_changed(store: &Store, world: World<'_>, record: &SnapshotRecord) -> Result<bool, SessionError> {
    for mount in &record.mounts {
        let Ok(Some(before)) = store.manifest(record, mount) else {
            return Ok(true);
        };
        let request = Look {
            coverage: &mount.coverage,
            reference: Some(Earlier {
                manifest: &before,
                started_at: mount.started_at,
                same_rules: true,
            }),
            check_content: false,
        };
        // What cannot be looked at now may have changed; the capture says what is wrong.
        let Ok(now) = look(&request, world.observer) else {
            return Ok(true);
        };
        if count_changes(Some(&before), now.manifest.as_ref()) != StepCounts::default() {
            return Ok(true);
        }
    }
    Ok(false)
}
