//! Reads the manifest of one mount from a snapshot.

use super::RestoreError;
use crate::capture::PrivateOverlay;
use crate::model::{Manifest, SnapshotRecord};
use crate::store::Store;

/// Returns a snapshot's manifest of the mount with this label, including private files.
pub(super) fn manifest(
    store: &Store,
    record: &SnapshotRecord,
    label: &str,
    reveal: &mut PrivateOverlay,
) -> Result<Option<Manifest>, RestoreError> {
    match record.mounts.iter().find(|mount| mount.coverage.label == label) {
        Some(mount) => Ok(reveal.stored_manifest(store, record, mount)?.0),
        None => Ok(None),
    }
}
