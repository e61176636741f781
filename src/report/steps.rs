//! Changes in each step of a session, from one snapshot to the next.

use std::collections::{HashMap, HashSet};

use crate::model::{CallRef, PathCounts, SnapshotId, SnapshotKind};
use crate::recovery::{MOST_COMPARED, changed_between};
use crate::store::{InstanceRow, SnapshotRow, Store, StoreError};

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
            None if looked == MOST_COMPARED => None,
            None => {
                looked += 1;
                changed_between(store, before, id)
            }
        };
        steps.counts.extend(count.map(|count| (id.clone(), count)));
    }
    Ok(steps)
}
