//! Attribution of conflicts to later steps, for a restore that reverts one step of a session.

use super::RestoreError;
use super::attribution::differs;
use super::plan::{After, KeptPath, Why};
use super::proposal::ProposedMount;
use super::snapshot_manifest::manifest;
use crate::capture::{PrivateOverlay, Show};
use crate::model::{InstanceId, RelPath, SnapshotKind, StepRef};
use crate::store::{SnapshotRow, Store};

/// Says of each conflict that is later work who did it, as far as the snapshots of the session show it. They are read only as long as
/// one is left of which that is not known.
///
/// # Errors
/// [`RestoreError::Store`] when the catalog cannot be read.
pub(super) fn name_later_steps(
    store: &Store,
    instance: &InstanceId,
    step: &StepRef,
    mounts: &mut [ProposedMount],
) -> Result<(), RestoreError> {
    if !mounts
        .iter()
        .any(|mount| mount.plan.conflicts.iter().any(is_open))
    {
        return Ok(());
    }
    let rows = store.catalog().snapshots(instance)?;
    let number = rows
        .iter()
        .find(|row| row.id == step.snapshot)
        .and_then(|row| row.receipt);
    // Of what a late closing snapshot shows nobody knows whether the session did it.
    let counts = |row: &&SnapshotRow| row.kind != SnapshotKind::Emergency && !row.late;
    let ended = rows
        .iter()
        .filter(counts)
        .any(|row| row.kind == SnapshotKind::Closing);
    // The rows come newest first.
    let later: Vec<&SnapshotRow> = rows
        .iter()
        .rev()
        .filter(counts)
        .filter(|row| number.is_some() && row.receipt > number)
        .collect();
    for mount in mounts {
        let all_read = attribute(store, mount, &later)?;
        if ended && all_read {
            for kept in mount.plan.conflicts.iter_mut().filter(|kept| is_open(kept)) {
                set(kept, &After::Session);
            }
        }
    }
    Ok(())
}

/// Goes through the later snapshots of a mount, the oldest first. Gives whether all that was needed of them could be read.
fn attribute(store: &Store, mount: &mut ProposedMount, later: &[&SnapshotRow]) -> Result<bool, RestoreError> {
    if !mount.plan.conflicts.iter().any(is_open) {
        return Ok(true);
    }
    let coverage = &mount.request.coverage;
    let left = mount.request.witness.last.as_ref();
    let was = |path: &RelPath| left.and_then(|left| left.entry(path));
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Whole)?;
    let mut all_read = true;
    for kept in &mut mount.plan.conflicts {
        // What the step made was there before anybody changed it.
        if kept.why == Why::LaterFile(After::Step) && was(&kept.change.path).is_some() {
            kept.why = Why::LaterEdit(After::Step);
        }
    }
    for row in later {
        let mut open: Vec<&mut KeptPath> = mount
            .plan
            .conflicts
            .iter_mut()
            .filter(|kept| is_open(kept))
            .collect();
        if open.is_empty() {
            break;
        }
        let read = store
            .record(&row.id)
            .map_err(RestoreError::from)
            .and_then(|record| manifest(store, &record, &coverage.label, &mut reveal));
        // What cannot be read keeps nobody from a restore: its step is not named.
        let Ok(Some(shows)) = read else {
            all_read = false;
            continue;
        };
        let by = StepRef {
            snapshot: row.id.clone(),
            kind: row.kind,
            name: row.name.clone(),
        };
        for kept in &mut open {
            if differs(&shows, &kept.change.path, was(&kept.change.path)) {
                set(kept, &After::LaterStep(by.clone()));
            }
        }
    }
    Ok(all_read)
}

fn is_open(kept: &KeptPath) -> bool {
    matches!(
        kept.why,
        Why::LaterEdit(After::Step) | Why::LaterFile(After::Step) | Why::LaterDeletion(After::Step)
    )
}

fn set(kept: &mut KeptPath, found: &After) {
    if let Why::LaterEdit(after) | Why::LaterFile(after) | Why::LaterDeletion(after) = &mut kept.why {
        *after = found.clone();
    }
}
