//! Changed private files that a restore leaves because the operator's key is missing.

use std::collections::BTreeSet;

use super::RestoreError;
use crate::diff::{WithheldChange, WithheldKind};
use crate::model::{MountRecord, RelPath, SnapshotRecord};
use crate::store::Store;

/// Returns the paths of `withheld` that a snapshot of the session has encrypted; none if the store has its keys. `record` is the mount in
/// `target`.
///
/// The target lacks a new file. Another snapshot proves with the key whose file that is, so all of them count.
///
/// # Errors
/// [`RestoreError::Store`] if the catalog cannot be read.
pub(super) fn encrypted(
    store: &Store,
    target: &SnapshotRecord,
    record: &MountRecord,
    withheld: &[WithheldChange],
) -> Result<BTreeSet<RelPath>, RestoreError> {
    if store.is_unlocked() {
        return Ok(BTreeSet::new());
    }
    let known = withheld
        .iter()
        .filter(|change| change.kind != WithheldKind::Forgotten);
    let mut open: BTreeSet<RelPath> = known.map(|change| change.path.clone()).collect();
    let mut found = take(&mut open, record);
    if open.is_empty() {
        return Ok(found);
    }
    for row in store.catalog().snapshots(&target.instance)? {
        // A snapshot that cannot be read proves nothing, and keeps no restore from what it can do.
        let Ok(other) = store.record(&row.id) else {
            continue;
        };
        let label = &record.coverage.label;
        for mount in other.mounts.iter().filter(|mount| mount.coverage.label == *label) {
            found.append(&mut take(&mut open, mount));
        }
        if open.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Moves the paths that a mount has encrypted out of `open`.
fn take(open: &mut BTreeSet<RelPath>, mount: &MountRecord) -> BTreeSet<RelPath> {
    mount.encrypted().filter_map(|path| open.take(path)).collect()
}
