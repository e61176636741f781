//! States in which restores and undos of jackin left paths, and what each of them shows.

use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, HashSet};

use super::RestoreError;
use super::states::{manifest, same, shown};
use crate::capture::PrivateOverlay;
use crate::model::{AsideAct, Entry, InstanceId, Manifest, PathAct, RelPath, RestoreKind, SnapshotId};
use crate::store::{RestoreRow, Store, StoreError};

/// State in which a restore left a path.
#[derive(Clone, Debug)]
pub struct LeftState {
    /// The state; `None` if nothing was left there.
    pub state: Option<Entry>,
    /// Work that the state shows.
    pub shows: ShownWork,
    /// Number of the receipt of the restore.
    pub receipt: u64,
}

/// Work that is in a state which a restore left. It need not be the session's alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownWork {
    /// Work until this snapshot was taken.
    UntilSnapshot(SnapshotId),
    /// Work until the restore with this receipt began; its undo brought that state back.
    UntilRestore(u64),
    /// None that anybody could lose: jackin made the state.
    Jackins,
}

/// States that restores left.
#[derive(Default)]
pub(super) struct Left {
    /// The states of each path, newest first.
    pub(super) states: HashMap<RelPath, Vec<LeftState>>,
    /// Paths where at least one of the states could not be made exact.
    pub(super) inexact: HashSet<RelPath>,
    /// Snapshots that restores went back to and that cannot be read, with the reason. They prove nothing.
    pub(super) unreadable: Vec<(SnapshotId, String)>,
}

/// The snapshot that a restore went back to.
enum Target {
    There(Option<Manifest>),
    /// The snapshot has been pruned, or cannot be read.
    Gone,
}

/// The states that restores of this instance left since the receipt `since`. `all` also counts what an undo brought back
/// although the restore had overridden a later edit there: for undoing the undo it is jackin's, for a new
/// restore it is a later edit again.
pub(super) fn left(
    store: &Store,
    instance: &InstanceId,
    label: &str,
    since: u64,
    all: bool,
    reveal: &mut PrivateOverlay,
) -> Result<Left, RestoreError> {
    let rows = store.catalog().restores(instance)?;
    let mut left = Left::default();
    // Most restores of an instance go back to one and the same snapshot.
    let mut targets: HashMap<&SnapshotId, Target> = HashMap::new();
    let mut locked: HashMap<&SnapshotId, Option<Manifest>> = HashMap::new();
    // Oldest first: an undo brings back what those before it left.
    for row in rows.iter().rev().filter(|row| row.number >= since) {
        // What we set aside is not there because of us.
        let aside = row.aside.iter().filter(|change| change.mount == label);
        for change in aside.filter(|change| change.act == AsideAct::Away) {
            let states = left.states.entry(change.path.clone()).or_default();
            states.push(LeftState {
                state: None,
                shows: ShownWork::Jackins,
                receipt: row.number,
            });
        }
        let mut changed = row
            .changed
            .iter()
            .filter(|change| change.mount == label)
            .peekable();
        if changed.peek().is_none() {
            continue;
        }
        let target = &*match targets.entry(&row.target) {
            Place::Occupied(known) => known.into_mut(),
            Place::Vacant(place) => {
                let mut load = || -> Result<_, RestoreError> {
                    let record = store.record(&row.target)?;
                    let without_key = match reveal.locked() {
                        Some(mut other) => Some(manifest(store, &record, label, &mut other)?),
                        None => None,
                    };
                    Ok((without_key, shown(store, &record, label, reveal)?))
                };
                place.insert(match load() {
                    Ok((without_key, shown)) => {
                        locked.extend(without_key.map(|manifest| (&row.target, manifest)));
                        Target::There(shown)
                    }
                    Err(RestoreError::Store(
                        StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. },
                    )) => Target::Gone,
                    Err(error) => {
                        left.unreadable.push((row.target.clone(), error.to_string()));
                        Target::Gone
                    }
                })
            }
        };
        let later = match all {
            true => HashSet::new(),
            false => later_edits(&rows, row, label),
        };
        for change in changed {
            if later.contains(&change.path) {
                continue;
            }
            let restored = match target {
                Target::There(manifest) => manifest
                    .as_ref()
                    .and_then(|manifest| manifest.entry(&change.path)),
                Target::Gone => None,
            };
            let state = match (target, &change.composed) {
                (_, Some(composed)) => {
                    let known = restored.map_or(&[][..], |entry| &entry.xattrs);
                    Some((*composed.0).clone().with_attribute_values(known))
                }
                (Target::There(_), None) => restored.cloned(),
                (Target::Gone, None) if change.act == PathAct::Deleted => None,
                // The state that it was restored to is unknown, so the current one counts as a later edit.
                (Target::Gone, None) => continue,
            };
            let as_left = |state: Option<Entry>| match (state, &change.left) {
                (Some(state), Some(left)) => {
                    let left = (*left.0).clone().with_attribute_values(&state.xattrs);
                    Some(state.with_metadata_of(&left))
                }
                (state, _) => state,
            };
            let state = as_left(state);
            let states = left.states.entry(change.path.clone()).or_default();
            let shows = match row.undoes {
                _ if change.composed.is_some() => ShownWork::Jackins,
                None => ShownWork::UntilSnapshot(row.target.clone()),
                Some(undone) => {
                    let was_there = |left: &&LeftState| {
                        left.receipt < undone && same(left.state.as_ref(), state.as_ref())
                    };
                    let before = states.iter().rev().find(was_there);
                    before.map_or(ShownWork::UntilRestore(undone), |before| before.shows.clone())
                }
            };
            let mut push = |state| {
                states.push(LeftState {
                    state,
                    shows: shows.clone(),
                    receipt: row.number,
                });
            };
            push(state);
            // With the operator's key the restore may have written another content than without it.
            if let Some(locked) = locked.get(&row.target).filter(|_| change.composed.is_none()) {
                let state = locked.as_ref().and_then(|manifest| manifest.entry(&change.path));
                push(as_left(state.cloned()));
            }
            match change.inexact && change.left.is_none() {
                true => left.inexact.insert(change.path.clone()),
                false => left.inexact.remove(&change.path),
            };
        }
    }
    for states in left.states.values_mut() {
        states.reverse();
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
