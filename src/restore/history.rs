//! Changes that the sessions and restores of jackin made to a path, and those of sessions that ran at the same time.

use std::collections::hash_map::Entry as Place;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::RestoreError;
use super::attribution::{ChangeHistory, RolledBack};
use super::scope::{ResolvedScope, Scope};
use super::states::manifest;
use super::timeline::timeline;
use crate::capture::{PrivateOverlay, Show};
use crate::contract::Matcher;
use crate::diff::{Side, compare};
use crate::model::{
    AsideAct, Coverage, Entry, InstanceId, Manifest, PathAct, RelPath, RestoreKind, SnapshotId, SnapshotKind,
    SnapshotRecord, Time,
};
use crate::store::{InstanceRow, RestoreRow, Store, StoreError};

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
    let mut witness = ChangeHistory {
        excludes: Matcher::new(coverage).ok(),
        ..ChangeHistory::default()
    };
    for row in store.catalog().snapshots(&instance.id)? {
        let vouches = match row.kind {
            SnapshotKind::Closing => !row.late,
            SnapshotKind::Baseline | SnapshotKind::Checkpoint => true,
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
    let own = left(
        store,
        &instance.id,
        &coverage.label,
        instance.started_at,
        false,
        &mut reveal,
    )?;
    (witness.left, witness.inexact) = (own.states, own.inexact);
    // What was restored before this session ended shows in its own closing snapshot.
    let since = instance.ended_at.unwrap_or(instance.started_at);
    for other in store.catalog().instances_on_root(&coverage.root.0)? {
        let mount = other.mounts.iter().find(|mount| mount.root == coverage.root);
        if let Some(mount) = mount.filter(|_| other.id != instance.id) {
            for (path, states) in left(store, &other.id, &mount.label, since, true, &mut reveal)?.states {
                witness.elsewhere.entry(path).or_default().extend(states);
            }
        }
    }
    let others = overlapping(store, instance, coverage)?;
    witness.timeline = timeline(store, instance, coverage, (target, None), &others)?;
    Ok(witness)
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
    let left = left(
        store,
        instance,
        &coverage.label,
        Time::default(),
        true,
        &mut reveal,
    )?;
    Ok(ChangeHistory {
        left: left.states,
        inexact: left.inexact,
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
    let ResolvedScope { scope, also } =
        scope.resolved(&[earlier.as_ref(), witness.last.as_ref()], &changed)?;
    let paths = changed.into_iter().map(|change| change.path);
    let paths = paths.filter(|path| scope.holds(path)).collect();
    Ok((witness, paths, also))
}

/// Returns a snapshot's manifest. Private files that the given keys do not open are gaps in it, as without keys: recipients may have changed
/// between two snapshots, and what cannot be read proves nothing.
fn shown(
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

/// States that restores left.
#[derive(Default)]
struct Left {
    states: HashMap<RelPath, Vec<Option<Entry>>>,
    /// Paths where at least one of the states could not be made exact.
    inexact: HashSet<RelPath>,
}

/// The snapshot that a restore went back to.
enum Target {
    There(Option<Manifest>),
    /// The snapshot has been pruned.
    Pruned,
}

/// The states that restores of this instance left since `since`. `all` also counts what an undo brought back
/// although the restore had overridden a later edit there: for undoing the undo it is jackin's, for a new
/// restore it is a later edit again.
fn left(
    store: &Store,
    instance: &InstanceId,
    label: &str,
    since: Time,
    all: bool,
    reveal: &mut PrivateOverlay,
) -> Result<Left, RestoreError> {
    let rows = store.catalog().restores(instance)?;
    let mut left = Left::default();
    // Most restores of an instance go back to one and the same snapshot.
    let mut targets: HashMap<&SnapshotId, Target> = HashMap::new();
    let mut locked: HashMap<&SnapshotId, Option<Manifest>> = HashMap::new();
    for row in rows.iter().filter(|row| row.at >= since) {
        // What we set aside is not there because of us.
        let aside = row.aside.iter().filter(|change| change.mount == label);
        for change in aside.filter(|change| change.act == AsideAct::Away) {
            left.states.entry(change.path.clone()).or_default().push(None);
        }
        let mut changed = row
            .changed
            .iter()
            .filter(|change| change.mount == label)
            .peekable();
        if changed.peek().is_none() {
            continue;
        }
        let target = match targets.entry(&row.target) {
            Place::Occupied(known) => known.into_mut(),
            Place::Vacant(place) => match store.record(&row.target) {
                Ok(record) => {
                    if let Some(mut other) = reveal.locked() {
                        locked.insert(&row.target, manifest(store, &record, label, &mut other)?);
                    }
                    place.insert(Target::There(shown(store, &record, label, reveal)?))
                }
                Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => {
                    place.insert(Target::Pruned)
                }
                Err(error) => return Err(error.into()),
            },
        };
        let later = match all {
            true => HashSet::new(),
            false => later_edits(&rows, row, label),
        };
        for change in changed {
            if later.contains(&change.path) {
                continue;
            }
            let state = match target {
                _ if change.composed.is_some() => change.composed.as_ref().map(|entry| (*entry.0).clone()),
                Target::There(manifest) => manifest
                    .as_ref()
                    .and_then(|manifest| manifest.entry(&change.path))
                    .cloned(),
                Target::Pruned if change.act == PathAct::Deleted => None,
                // The state that it was restored to is unknown, so the current one counts as a later edit.
                Target::Pruned => continue,
            };
            let states = left.states.entry(change.path.clone()).or_default();
            states.push(state);
            // With the operator's key another content may have been put back than without.
            if let Some(locked) = locked.get(&row.target).filter(|_| change.composed.is_none()) {
                let state = locked.as_ref().and_then(|manifest| manifest.entry(&change.path));
                states.push(state.cloned());
            }
            if change.inexact {
                left.inexact.insert(change.path.clone());
            }
        }
    }
    Ok(left)
}

/// Returns the paths at which a restore, or an undo, left a later edit: it was merged, or came back.
///
/// An undo of an undo leaves what the restore before both left, and so on.
fn later_edits<'a>(rows: &'a [RestoreRow], row: &'a RestoreRow, label: &str) -> HashSet<&'a RelPath> {
    // What a row undoes is older; anything else is no chain.
    let undone = |row: &RestoreRow| {
        let mut older = rows.iter().filter(|older| older.number < row.number);
        older.find(|older| Some(older.number) == row.undoes)
    };
    let mut found = HashSet::new();
    let mut at = Some(row);
    while let Some(row) = at {
        let is_undo = row.kind == RestoreKind::Undo;
        let Some(from) = (if is_undo { undone(row) } else { Some(row) }) else {
            break;
        };
        let changed = from.changed.iter().filter(|change| change.mount == label);
        let left = changed.filter(|change| change.overrode && (is_undo || change.composed.is_some()));
        found.extend(left.map(|change| &change.path));
        at = undone(from).filter(|_| is_undo && from.kind == RestoreKind::Undo);
    }
    found
}

/// Returns the sessions on the same files that lived at the same time. What came from a file ran at none: it changed nothing here.
fn overlapping(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
) -> Result<Vec<InstanceRow>, RestoreError> {
    let overlaps = |other: &Coverage| coverage.meeting(other).is_some();
    let mut others: Vec<InstanceRow> = Vec::new();
    for other in store.catalog().instances()? {
        let ran = other.id != instance.id && !other.is_imported();
        let meets = ran && other.mounts.iter().any(overlaps);
        if meets && lived_together(store, instance, &other)? {
            others.push(other);
        }
    }
    Ok(others)
}

/// By the order in the chain. Only where that does not tell, by what the clock said.
fn lived_together(store: &Store, a: &InstanceRow, b: &InstanceRow) -> Result<bool, RestoreError> {
    let (first, second) = (store.catalog().lifetime(&a.id)?, store.catalog().lifetime(&b.id)?);
    if let ((Some(a_begun), a_ended), (Some(b_begun), b_ended)) = (first, second) {
        let before_end = |begun: u64, ended: Option<u64>| ended.is_none_or(|ended| begun <= ended);
        return Ok(before_end(a_begun, b_ended) && before_end(b_begun, a_ended));
    }
    let before_end =
        |start: &InstanceRow, end: &InstanceRow| end.ended_at.is_none_or(|at| start.started_at <= at);
    Ok(before_end(a, b) && before_end(b, a))
}
