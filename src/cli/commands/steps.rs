//! What each step of a session changed: from one snapshot to the next.

use std::collections::HashMap;

use crate::capture::Reveal;
use crate::cli::error::CliError;
use crate::cli::view::instances::StepCounts;
use crate::diff::{ChangeKind, Side, compare};
use crate::session::find_before;
use crate::snapshot::{SnapshotId, SnapshotKind, SnapshotRecord};
use crate::store::{InstanceRow, SnapshotRow, Store};

/// So many steps are looked at, the newest first: each one reads two manifests.
const MOST: usize = 20;

/// How many paths the newest steps changed. A step whose snapshots cannot be read, or which began from one that was given up, is left
/// out.
pub(super) fn counts(
    store: &Store,
    row: &InstanceRow,
    snapshots: &[SnapshotRow],
) -> Result<HashMap<SnapshotId, StepCounts>, CliError> {
    let mut counts = HashMap::new();
    let is_step = |row: &&SnapshotRow| matches!(row.kind, SnapshotKind::Checkpoint | SnapshotKind::Closing);
    for step in snapshots.iter().filter(is_step).take(MOST) {
        let Ok(before) = find_before(store, row, step) else {
            continue;
        };
        let (Ok(before), Ok(after)) = (store.record(&before.id), store.record(&step.id)) else {
            continue;
        };
        if let Some(count) = count(store, &before, &after) {
            counts.insert(step.id.clone(), count);
        }
    }
    Ok(counts)
}

fn count(store: &Store, before: &SnapshotRecord, after: &SnapshotRecord) -> Option<StepCounts> {
    let mut counts = StepCounts::default();
    for mount in &before.mounts {
        let mut reveal = Reveal::default();
        let earlier = reveal.stored_manifest(store, before, mount).ok()?.0;
        let same = |other: &&crate::snapshot::MountRecord| other.coverage.label == mount.coverage.label;
        let later = match after.mounts.iter().find(same) {
            Some(mount) => reveal.stored_manifest(store, after, mount).ok()?.0,
            None => None,
        };
        let side = |manifest| Side {
            manifest,
            skipped: &[],
        };
        for change in compare(&side(earlier.as_ref()), &side(later.as_ref())).changes {
            match change.kind {
                ChangeKind::Added => counts.added += 1,
                ChangeKind::Deleted => counts.deleted += 1,
                _ => counts.changed += 1,
            }
        }
    }
    Some(counts)
}
