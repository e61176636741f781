//! Changes in each step of a session, from one snapshot to the next.

use std::collections::{HashMap, HashSet};

use crate::capture::PrivateOverlay;
use crate::diff::count_changes;
use crate::model::{CallRef, MountRecord, PathCounts, SnapshotId, SnapshotKind, SnapshotRecord};
use crate::store::{InstanceRow, SnapshotRow, Store, StoreError};

/// Maximum number of steps that are compared for lack of a count in a receipt, newest first; each reads two manifests.
const MOST: usize = 20;

/// Known steps of a session, keyed by the snapshot that ends each.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// Number of paths that each step changed.
    pub(crate) counts: HashMap<SnapshotId, PathCounts>,
    /// The tool calls that snapshots were taken before.
    pub(crate) calls: HashMap<SnapshotId, CallRef>,
    /// The snapshot that each step began with.
    pub(super) before: HashMap<SnapshotId, SnapshotId>,
}

/// Returns the steps of a session. Counts come from receipts, else from comparing the newest snapshots. A step is omitted if one of
/// its snapshots cannot be read or was deleted.
pub(crate) fn steps(
    store: &Store,
    row: &InstanceRow,
    snapshots: &[SnapshotRow],
) -> Result<Steps, StoreError> {
    let there: HashSet<&SnapshotId> = snapshots.iter().map(|row| &row.id).collect();
    let captures = store.catalog().captures(&row.id)?;
    let mut all = captures
        .iter()
        .filter(|row| row.kind != SnapshotKind::Emergency)
        .peekable();
    let mut steps = Steps::default();
    let mut looked = 0;
    while let Some(row) = all.next() {
        let id = &row.snapshot;
        if there.contains(id) {
            steps
                .calls
                .extend(row.call.clone().map(|call| (id.clone(), call)));
        }
        let Some(before) = all.peek().map(|row| &row.snapshot) else {
            break;
        };
        steps.before.insert(id.clone(), before.clone());
        if !there.contains(id) || !there.contains(before) {
            continue;
        }
        let count = match row.step.as_ref().filter(|step| step.since == *before) {
            Some(step) => Some(step.counts),
            None if looked == MOST => None,
            None => {
                looked += 1;
                count(store, before, id)
            }
        };
        steps.counts.extend(count.map(|count| (id.clone(), count)));
    }
    Ok(steps)
}

/// Returns the number of paths that differ between the first and the last snapshot of a session that has ended; `None` if one of the two
/// is missing. The receipt of a session without checkpoints has it; else the snapshots are compared, for [`MOST`] sessions (`looked`).
pub(super) fn net(
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
    if *looked == MOST {
        return Ok(None);
    }
    *looked += 1;
    Ok(count(store, &first.snapshot, &last.snapshot))
}

pub(super) fn count(store: &Store, before: &SnapshotId, after: &SnapshotId) -> Option<PathCounts> {
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
