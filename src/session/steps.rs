//! Checkpoints of a running session: those that somebody asks for, and those that are taken when something changed.

use super::{SessionError, World};
use crate::capture::{Captured, Earlier, Limits, Look, Request, look, take};
use crate::diff::{Side, compare, count_changes};
use crate::snapshot::{SnapshotKind, SnapshotRecord};
use crate::store::{InstanceRow, Store};

/// Takes a checkpoint of a session.
///
/// # Errors
/// [`SessionError::Capture`].
pub fn checkpoint(
    store: &Store,
    world: World<'_>,
    row: &InstanceRow,
    name: Option<&str>,
    message: Option<&str>,
) -> Result<Captured, SessionError> {
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
        let side = |manifest| Side {
            manifest,
            skipped: &[],
        };
        if !compare(&side(Some(&before)), &side(now.manifest.as_ref()))
            .changes
            .is_empty()
        {
            return Ok(true);
        }
    }
    Ok(false)
}
