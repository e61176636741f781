//! Changes that the sessions and restores of jackin made to a path, and those of sessions that ran at the same time.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

use super::RestoreError;
use super::attribution::{ChangeHistory, RolledBack};
use super::left_states::left;
use super::scope::{ResolvedScope, Scope};
use super::states::shown;
use super::timeline::timeline;
use crate::capture::{PrivateOverlay, Show};
use crate::contract::Matcher;
use crate::diff::{Side, compare, moved};
use crate::model::{Coverage, InstanceId, Manifest, RelPath, SnapshotId, SnapshotKind, SnapshotRecord};
use crate::store::{InstanceRow, Store};
use handle_fs::Locations;

/// The witness for restoring one mount of an instance to its snapshot `target`.
///
/// # Errors
/// [`RestoreError::Store`] when a snapshot that is needed cannot be read.
pub fn of_instance(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
    target: &SnapshotId,
) -> Result<ChangeHistory, RestoreError> {
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Whole)?;
    // The snapshots of a session need nearly the same archives.
    let _open = store.keep_archives_open();
    let mut witness = ChangeHistory {
        excludes: Matcher::new(coverage).ok(),
        ..ChangeHistory::default()
    };
    for row in store.catalog().snapshots(&instance.id)? {
        let vouches = match row.kind {
            SnapshotKind::Closing | SnapshotKind::Checkpoint => !row.late,
            SnapshotKind::Baseline => true,
            SnapshotKind::Emergency => false,
        };
        if !vouches {
            continue;
        }
        witness.is_closed |= row.kind == SnapshotKind::Closing;
        let loaded = store
            .record(&row.id)
            .map_err(RestoreError::from)
            .and_then(|record| shown(store, &record, &coverage.label, &mut reveal));
        let manifest = match loaded {
            Ok(Some(manifest)) => manifest,
            Ok(None) => continue,
            // A damaged snapshot vouches for nothing; what it alone vouched for becomes a conflict.
            Err(error) => {
                witness.unreadable.push((row.id.clone(), error.to_string()));
                continue;
            }
        };
        if row.kind == SnapshotKind::Closing {
            // The rows come newest first: nothing older counts when the session's end was seen.
            witness.last = Some(manifest);
            witness.last_snapshot = Some(row.id.clone());
            break;
        }
        witness.live.push((row.id, manifest));
    }
    for (target, before) in store.catalog().rolled_back_later(&instance.id)? {
        let mut load = |id: &SnapshotId| -> Result<Option<Manifest>, RestoreError> {
            shown(store, &store.record(id)?, &coverage.label, &mut reveal)
        };
        // What cannot be read, or was pruned, proves nothing.
        if let (Ok(Some(target)), Ok(Some(shown))) = (load(&target), load(&before)) {
            if witness.last.is_none() {
                witness.live.push((before, shown.clone()));
            }
            witness.rolled_back.push(RolledBack {
                target,
                before: shown,
            });
        }
    }
    if witness.last.is_none() {
        witness.missing = store.catalog().missing_closings()?.remove(&instance.id);
    }
    let (begun, ended) = store.catalog().lifetime(&instance.id)?;
    let begun = begun.unwrap_or(0);
    let own = left(store, &instance.id, &coverage.label, begun, false, &mut reveal)?;
    (witness.left, witness.inexact) = (own.states, own.inexact);
    witness.unreadable.extend(own.unreadable);
    // What was restored before this session ended shows in its own closing snapshot.
    let since = ended.unwrap_or(begun);
    left_by_others(store, instance, coverage, since, &mut witness)?;
    let others = overlapping(store, instance, coverage)?;
    witness.timeline = timeline(store, instance, coverage, (target, None), &others)?;
    Ok(witness)
}

/// Adds the states in which restores of other sessions left paths of this mount since the receipt `since`, also where their mount lies
/// in this one or contains it.
fn left_by_others(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
    since: u64,
    witness: &mut ChangeHistory,
) -> Result<(), RestoreError> {
    let locations = Locations::default();
    for other in store.catalog().restored_since(since)? {
        if other.id == instance.id {
            continue;
        }
        for mount in &other.mounts {
            let Some((own, theirs)) = coverage.common(mount, &locations) else {
                continue;
            };
            // Without its secrets nothing of the mount can be compared.
            let Ok(mut reveal) = PrivateOverlay::of(store, mount, Show::Whole) else {
                continue;
            };
            let found = left(store, &other.id, &mount.label, since, true, &mut reveal)?;
            witness.unreadable.extend(found.unreadable);
            for (path, states) in found.states {
                let place = path.on_host(&theirs);
                let Some(path) = place
                    .strip_prefix(&own)
                    .ok()
                    .and_then(|below| RelPath::new(below.as_os_str().as_bytes()).ok())
                else {
                    continue;
                };
                let states = states.into_iter().map(|left| left.state);
                witness.elsewhere.entry(path).or_default().extend(states);
            }
        }
    }
    Ok(())
}

/// The witness for taking back a restore: only the states that our own restores left may be changed.
///
/// # Errors
/// [`RestoreError::Store`] when a snapshot that is needed cannot be read.
pub fn of_restore(
    store: &Store,
    instance: &InstanceId,
    coverage: &Coverage,
) -> Result<ChangeHistory, RestoreError> {
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Whole)?;
    let left = left(store, instance, &coverage.label, 0, true, &mut reveal)?;
    Ok(ChangeHistory {
        left: left.states,
        inexact: left.inexact,
        unreadable: left.unreadable,
        only_left: true,
        ..ChangeHistory::default()
    })
}

/// The witness for taking back one step of a session: what changed from the snapshot `before` to `after`. Also gives the paths that
/// changed in it and in `scope`, both sides of a rename where one is, and the sides that `scope` does not name. What is there must be what
/// the step left: anything else was made later.
///
/// # Errors
/// [`RestoreError::Store`] when a snapshot that is needed cannot be read.
pub fn of_step(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
    (before, after): (&SnapshotRecord, &SnapshotRecord),
    scope: &Scope,
) -> Result<(ChangeHistory, BTreeSet<RelPath>, Vec<RelPath>), RestoreError> {
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Whole)?;
    let earlier = shown(store, before, &coverage.label, &mut reveal)?;
    let later = shown(store, after, &coverage.label, &mut reveal)?;
    let side = |manifest| Side {
        manifest,
        skipped: &[],
    };
    let changed = compare(&side(earlier.as_ref()), &side(later.as_ref())).changes;
    let others = overlapping(store, instance, coverage)?;
    let part = (&before.id, Some(&after.id));
    let witness = ChangeHistory {
        last: later,
        last_snapshot: Some(after.id.clone()),
        excludes: Matcher::new(coverage).ok(),
        timeline: timeline(store, instance, coverage, part, &others)?,
        of_step: true,
        ..ChangeHistory::default()
    };
    let ResolvedScope { scope, also, .. } =
        scope.resolved(&[earlier.as_ref(), witness.last.as_ref()], &changed, &|| {
            moved(&changed)
        })?;
    let paths = changed.into_iter().map(|change| change.path);
    let paths = paths.filter(|path| scope.holds(path)).collect();
    Ok((witness, paths, also))
}

/// Returns the sessions that lived at the same time and whose agents may write the same files. What came from a file ran at none: it changed
/// nothing here.
fn overlapping(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
) -> Result<Vec<InstanceRow>, RestoreError> {
    let locations = Locations::default();
    let overlaps = |other: &Coverage| coverage.reached_from(other, &locations).is_some();
    let mut others: Vec<InstanceRow> = Vec::new();
    for other in store.catalog().instances_beside(&instance.id)? {
        let ran = !other.is_imported();
        let meets = ran && other.writable().any(overlaps);
        if meets && lived_together(store, instance, &other)? {
            others.push(other);
        }
    }
    Ok(others)
}

/// By the order in the chain. Only where that does not tell, by what the clock said: older programs imported sessions one after the other, and
/// recorded their ends without a receipt.
fn lived_together(store: &Store, a: &InstanceRow, b: &InstanceRow) -> Result<bool, RestoreError> {
    let (first, second) = (store.catalog().lifetime(&a.id)?, store.catalog().lifetime(&b.id)?);
    let is_told = |row: &InstanceRow, ended: Option<u64>| ended.is_some() || row.ended_at.is_none();
    if let ((Some(a_begun), a_ended), (Some(b_begun), b_ended)) = (first, second)
        && is_told(a, a_ended)
        && is_told(b, b_ended)
    {
        let before_end = |begun: u64, ended: Option<u64>| ended.is_none_or(|ended| begun <= ended);
        return Ok(before_end(a_begun, b_ended) && before_end(b_begun, a_ended));
    }
    let before_end =
        |start: &InstanceRow, end: &InstanceRow| end.ended_at.is_none_or(|at| start.started_at <= at);
    Ok(before_end(a, b) && before_end(b, a))
}
