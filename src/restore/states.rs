//! States of paths in manifests, and how they compare.

use super::RestoreError;
use crate::capture::PrivateOverlay;
use crate::model::{Entry, Manifest, RelPath, SnapshotRecord};
use crate::store::{Store, StoreError};

/// Returns true if `manifest` shows `path` in another state than `then`; false if it does not cover `path`.
pub(super) fn differs(manifest: &Manifest, path: &RelPath, then: Option<&Entry>) -> bool {
    is_known(manifest, path) && !same(manifest.entry(path), then)
}

/// Returns true if `manifest` shows what is at `path`, or proves that nothing is.
pub(super) fn is_known(manifest: &Manifest, path: &RelPath) -> bool {
    manifest.entry(path).is_some() || is_absent(manifest, path)
}

/// Returns true if the manifest proves that there was nothing at `path`.
fn is_absent(manifest: &Manifest, path: &RelPath) -> bool {
    use crate::model::Listing;
    let mut on_the_way = path.ancestors().chain([path.clone()]).peekable();
    while let Some(above) = on_the_way.next() {
        let Some(dir) = manifest.directory(&above) else {
            return manifest.entry(&above).is_none_or(|entry| !entry.is_dir());
        };
        let Some((_, name)) = on_the_way.peek().and_then(RelPath::split) else {
            return false;
        };
        if dir.entry(&name).is_none() {
            return dir.gap(&name).is_none() && matches!(dir.listing, Listing::Proven | Listing::Partial);
        }
    }
    false
}

/// The same state, but for the hard link group: that is a matter between paths, not of one.
pub(super) fn same(then: Option<&Entry>, now: Option<&Entry>) -> bool {
    match (then, now) {
        (None, None) => true,
        (Some(then), Some(now)) => then.kind == now.kind && then.same_metadata(now),
        _ => false,
    }
}

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

/// Returns a snapshot's manifest. Private files that the given keys do not open are gaps in it, as without keys: recipients may have changed
/// between two snapshots, and what cannot be read proves nothing.
pub(super) fn shown(
    store: &Store,
    record: &SnapshotRecord,
    label: &str,
    reveal: &mut PrivateOverlay,
) -> Result<Option<Manifest>, RestoreError> {
    match manifest(store, record, label, reveal) {
        Err(RestoreError::Store(error @ StoreError::Sealed { is_key: true, .. })) => match reveal.locked() {
            Some(mut locked) => manifest(store, record, label, &mut locked),
            None => Err(error.into()),
        },
        other => other,
    }
}
