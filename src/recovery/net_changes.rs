//! Number of paths that a session changed: from receipts, else by comparing its snapshots.

use crate::capture::PrivateOverlay;
use crate::diff::count_changes;
use crate::model::{MountRecord, PathCounts, SnapshotId, SnapshotKind, SnapshotRecord};
use crate::store::{InstanceRow, Store, StoreError};

/// Maximum number of comparisons for lack of a count in a receipt, newest first; each reads two manifests.
pub(crate) const MOST_COMPARED: usize = 20;

/// Returns the number of paths that differ between the first and the last snapshot of a session that has ended; `None` if one of the two
/// is missing. The receipt of a session without checkpoints has it; else the snapshots are compared, for [`MOST_COMPARED`] sessions (`looked`).
pub(crate) fn net_changes(
    store: &Store,
    row: &InstanceRow,
    looked: &mut usize,
) -> Result<Option<PathCounts>, StoreError> {
    let captures = store.catalog().captures(&row.id)?;
    let mut all = captures.iter().filter(|row| row.kind != SnapshotKind::Emergency);
    let (Some(last), Some(first)) = (all.next(), all.next_back()) else {
        return Ok(None);
    };
    if last.kind != SnapshotKind::Closing || first.kind != SnapshotKind::Baseline {
        return Ok(None);
    }
    if let Some(step) = last.step.as_ref().filter(|step| step.since == first.snapshot) {
        return Ok(Some(step.counts));
    }
    if *looked == MOST_COMPARED {
        return Ok(None);
    }
    *looked += 1;
    Ok(changed_between(store, &first.snapshot, &last.snapshot))
}

/// Returns the number of paths that differ between two snapshots of a session; `None` if one cannot be read.
pub(crate) fn changed_between(store: &Store, before: &SnapshotId, after: &SnapshotId) -> Option<PathCounts> {
    let (before, after) = (store.record(before).ok()?, store.record(after).ok()?);
    let mut counts = PathCounts::default();
    for mount in &before.mounts {
        let mut reveal = PrivateOverlay::default();
        let mut read = |record: &SnapshotRecord, mount: &MountRecord| {
            Some(reveal.stored_manifest(store, record, mount).ok()?.0)
        };
        let earlier = read(&before, mount)?;
        let same = |other: &&MountRecord| other.coverage.label == mount.coverage.label;
        let later = match after.mounts.iter().find(same) {
            Some(mount) => read(&after, mount)?,
            None => None,
        };
        counts += count_changes(earlier.as_ref(), later.as_ref());
    }
    Some(counts)
}
