//! The operator's edits between turns that the session then overwrote or deleted: no restore of an earlier state brings them back.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::authorship::Authors;
use super::git_objects::{DeletedObjects, objects_holding};
use super::git_parts::{is_bookkeeping, is_reference};
use super::moved_work::MIN_RECOGNIZED_SIZE;
use super::plan::{KeptPath, Plan, Why};
use super::states::same;
use crate::git_directories::Repositories;
use crate::model::{Digest, Entry, Manifest, RelPath, SnapshotId};

/// State of a path as the operator left it between two turns, or may have, which the session then changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OperatorState {
    pub(super) path: RelPath,
    pub(super) entry: Entry,
    /// The first snapshot that shows it.
    pub(super) snapshot: SnapshotId,
    /// Position of the look that took it.
    pub(super) look: usize,
    /// True if the session left nothing at the path.
    pub(super) is_gone: bool,
    /// True if an agent may have made it, or the operator may have undone it.
    pub(super) is_doubtful: bool,
}

/// Edits of the operator at one path, while the looks of a session are read in their order.
#[derive(Default)]
pub(super) struct PathEdits {
    /// The edit that is at the path, and whether a snapshot of the session shows it.
    current: Option<(OperatorState, bool)>,
    /// The newest one that was undone.
    undone: Option<OperatorState>,
}

impl PathEdits {
    /// Notes a state that the operator made, or may have made. `is_shown` is true for a snapshot of the session.
    pub(super) fn made(&mut self, state: OperatorState, is_shown: bool) {
        self.current = Some((state, is_shown));
    }

    /// Notes that a snapshot of the session shows the edit that is at the path.
    pub(super) fn shown(&mut self, snapshot: &SnapshotId, look: usize) {
        if let Some((state, is_shown @ false)) = &mut self.current {
            (state.snapshot, state.look) = (snapshot.clone(), look);
            *is_shown = true;
        }
    }

    /// Notes that the path was changed.
    pub(super) fn changed(&mut self, by: &Authors, is_gone: bool) {
        if by.is_operators() {
            // What the operator deletes or replaces again is no loss.
            *self = Self::default();
            return;
        }
        let Some((mut state, is_shown)) = self.current.take() else {
            if let Some(undone) = &mut self.undone {
                undone.is_gone = is_gone;
            }
            return;
        };
        // What may be the operator's, and may have been changed by the operator, is most likely neither.
        let is_undone = !by.operator || by.own && !state.is_doubtful;
        if is_undone && is_shown {
            state.is_doubtful |= by.operator || !by.others.is_empty();
            match &mut self.undone {
                // Most likely the agent's own version, between the operator's and what it left.
                Some(certain) if state.is_doubtful && !certain.is_doubtful => certain.is_gone = is_gone,
                undone => {
                    state.is_gone = is_gone;
                    *undone = Some(state);
                }
            }
        }
    }

    /// Returns true if there is no edit.
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.undone.is_none()
    }

    /// Returns the edit that was undone.
    pub(super) fn into_undone(self) -> Option<OperatorState> {
        self.undone
    }
}

/// Part of the operator's work that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostKind {
    /// A file, or anything else that has no paths below it.
    File,
    /// Mode, owner or attributes of a directory. To restore the directory is to restore all that it holds.
    DirectoryMetadata,
    /// A git directory with all that it holds.
    Repository,
    /// Objects of a repository, which refs and the index need.
    Objects,
}

/// An edit of the operator that a restore does not bring back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostEdit {
    /// Its path.
    pub path: RelPath,
    /// The part of it that is lost.
    pub kind: LostKind,
    /// Snapshot that shows it.
    pub snapshot: SnapshotId,
    /// True if the session left nothing at the path.
    pub is_gone: bool,
    /// True if it may be the operator's edit, and may have been undone by the operator or another session.
    pub is_doubtful: bool,
}

/// Returns the edits that are neither in `target` nor there now, and that `plan` does not list otherwise, or lists as a conflict with the
/// session's own change. `repositories` are those of both and of the states.
pub(super) fn lost_edits<'p>(
    states: &[OperatorState],
    (target, now): (Option<&Manifest>, Option<&Manifest>),
    plan: &'p Plan,
    repositories: &Repositories,
    is_asked: &dyn Fn(&RelPath) -> bool,
) -> Vec<LostEdit> {
    if states.is_empty() {
        return Vec::new();
    }
    let is_shared = |kept: &&KeptPath| matches!(kept.why, Why::Shared(_));
    let kept = plan.conflicts.iter().chain(&plan.kept);
    let (shared, listed): (Vec<&KeptPath>, Vec<&KeptPath>) = kept.partition(is_shared);
    let paths = |all: Vec<&'p KeptPath>| -> HashSet<&'p RelPath> {
        all.into_iter().map(|kept| &kept.change.path).collect()
    };
    let (shared, listed) = (paths(shared), paths(listed));
    let all = now.into_iter().flat_map(|now| &now.directories);
    let all: Vec<&Entry> = all.flat_map(|dir| &dir.entries).collect();
    let contents = all.iter().filter_map(|entry| entry.content());
    let contents: HashSet<Digest> = contents.map(|content| content.digest).collect();
    let inodes: HashMap<u64, &Entry> = all.iter().map(|entry| (entry.ino, *entry)).collect();
    let is_moved = |state: &OperatorState| {
        let now = inodes.get(&state.entry.ino);
        now.is_some_and(|now| now.kind == state.entry.kind)
    };
    // A repository is elsewhere with any of its files.
    let whole = |state: &OperatorState| {
        let own = repositories.holding(&state.path)?;
        let is_there = |side: &&Manifest| side.entry(own).is_some();
        (!state.entry.is_dir() && !target.iter().chain(&now).any(is_there)).then(|| own.clone())
    };
    let moved = states.iter().filter(|state| is_moved(state)).filter_map(whole);
    let moved: HashSet<RelPath> = moved.collect();
    let is_lost = |state: &OperatorState| {
        let has = |side: Option<&Manifest>| {
            let found = side.and_then(|side| side.entry(&state.path));
            same(found, Some(&state.entry))
        };
        let own = repositories.holding(&state.path);
        let is_elsewhere = || {
            // Of an edit of the mode or the owner alone a copy of the content proves nothing.
            let then = target.and_then(|target| target.entry(&state.path));
            let is_of_metadata = then.is_some_and(|then| then.kind == state.entry.kind);
            let is_it = |now: &&Entry| match is_of_metadata {
                true => same(Some(now), Some(&state.entry)),
                false => now.kind == state.entry.kind,
            };
            let is_moved = inodes.get(&state.entry.ino).is_some_and(is_it);
            let content = state.entry.content().filter(|_| !is_of_metadata);
            let content = content.filter(|content| content.size >= MIN_RECOGNIZED_SIZE);
            is_moved || content.is_some_and(|content| contents.contains(&content.digest))
        };
        // A ref is no ref in another file.
        let is_ref = own.is_some_and(|own| is_reference(own, &state.path));
        own.is_none_or(|own| !is_bookkeeping(own, &state.path))
            && is_asked(&state.path)
            && !listed.contains(&state.path)
            // The agent's version of it stays. What may be the agent's own anyway says no more than the conflict.
            && (!state.is_doubtful || !shared.contains(&state.path))
            && !has(target)
            && !has(now)
            && (is_ref || !is_elsewhere())
    };
    let mut found: BTreeMap<&RelPath, (&OperatorState, LostKind)> = BTreeMap::new();
    let is_there = |path: &RelPath| {
        [target, now]
            .iter()
            .flatten()
            .any(|side| side.entry(path).is_some())
    };
    for state in states {
        let whole = repositories.holding(&state.path).filter(|own| !is_there(own));
        if let Some(own) = whole.filter(|own| is_asked(own) && !moved.contains(*own)) {
            let (newest, _) = found.entry(own).or_insert((state, LostKind::Repository));
            if (!newest.is_doubtful, newest.look) < (!state.is_doubtful, state.look) {
                *newest = state;
            }
        } else if is_lost(state) {
            let kind = match state.entry.is_dir() {
                true => LostKind::DirectoryMetadata,
                false => LostKind::File,
            };
            found.insert(&state.path, (state, kind));
        }
    }
    let lost = found.into_iter().map(|(path, (state, kind))| LostEdit {
        path: path.clone(),
        kind,
        is_gone: state.is_gone,
        is_doubtful: state.is_doubtful,
        snapshot: state.snapshot.clone(),
    });
    sorted(lost.collect())
}

/// Those that are certainly the operator's come first.
fn sorted(mut lost: Vec<LostEdit>) -> Vec<LostEdit> {
    lost.sort_by(|a, b| (a.is_doubtful, &a.path).cmp(&(b.is_doubtful, &b.path)));
    lost
}

/// Adds the objects that refs or an index need which are in `lost`, or stay by the `plan`, and that were deleted with no restore bringing them
/// back. `holders` returns the snapshots that have them.
pub(super) fn add_objects(
    lost: &mut Vec<LostEdit>,
    states: &[OperatorState],
    plan: &Plan,
    repositories: &Repositories,
    holders: &dyn Fn(&DeletedObjects<'_>) -> Vec<SnapshotId>,
) {
    let needing = |path: &RelPath| {
        let own = repositories.holding(path)?;
        (is_reference(own, path) || path.as_bytes().ends_with(b"/index")).then(|| own.clone())
    };
    let stay = plan.conflicts.iter().chain(&plan.kept);
    let paths = stay
        .map(|kept| &kept.change.path)
        .chain(lost.iter().map(|edit| &edit.path));
    let needy: HashSet<RelPath> = paths.filter_map(needing).collect();
    let mut all: BTreeMap<RelPath, Vec<&OperatorState>> = BTreeMap::new();
    for state in states {
        let own = repositories
            .holding(&state.path)
            .filter(|own| needy.contains(*own));
        if let Some(objects) = own.and_then(|own| objects_holding(own, &state.path)) {
            all.entry(objects).or_default().push(state);
        }
    }
    for (objects, mut states) in all {
        states.sort_by_key(|state| std::cmp::Reverse(state.look));
        let is_doubtful = states.iter().all(|state| state.is_doubtful);
        let files = states
            .iter()
            .map(|state| (&state.path, &state.snapshot))
            .collect();
        let path = objects.clone();
        let found = holders(&DeletedObjects { objects, files });
        lost.extend(found.into_iter().map(|snapshot| LostEdit {
            path: path.clone(),
            kind: LostKind::Objects,
            snapshot,
            is_gone: true,
            is_doubtful,
        }));
    }
    *lost = sorted(std::mem::take(lost));
}
