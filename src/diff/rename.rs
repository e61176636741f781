//! Finds moved files: one deleted, one added, the same content.

use std::collections::HashMap;

use super::{Change, ChangeKind};
use crate::snapshot::{Content, RelPath};

/// Replaces each pair of a deleted and an added regular file of the same content by one renamed path.
#[must_use]
pub fn pair_renames(changes: Vec<Change>) -> Vec<Change> {
    let all: Vec<&Change> = changes.iter().collect();
    let partner = renames(&all);
    if partner.is_empty() {
        return changes;
    }
    let moved: HashMap<usize, Change> = partner
        .values()
        .filter_map(|old| Some((*old, changes.get(*old)?.clone())))
        .collect();
    let mut paired = Vec::with_capacity(changes.len());
    for (at, change) in changes.into_iter().enumerate() {
        if moved.contains_key(&at) {
            continue;
        }
        match partner.get(&at).and_then(|old| moved.get(old)) {
            None => paired.push(change),
            Some(old) => paired.push(Change {
                kind: ChangeKind::Renamed,
                from: old.from.clone(),
                from_path: Some(old.path.clone()),
                ..change
            }),
        }
    }
    paired
}

/// Which deleted regular file each added one was, by their numbers. Empty files say nothing about where they came from and are left.
/// A pair that keeps its name is preferred.
#[must_use]
pub fn renames(changes: &[&Change]) -> HashMap<usize, usize> {
    let any = |kind| changes.iter().any(|change| movable(change, kind).is_some());
    if !any(ChangeKind::Added) || !any(ChangeKind::Deleted) {
        return HashMap::new();
    }
    let mut gone: HashMap<Content, Vec<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        if let Some(content) = movable(change, ChangeKind::Deleted) {
            gone.entry(content).or_default().push(at);
        }
    }
    let mut partner: HashMap<usize, usize> = HashMap::new();
    let added = || {
        changes
            .iter()
            .enumerate()
            .filter_map(|(at, c)| Some((at, *c, movable(c, ChangeKind::Added)?)))
    };
    // First those that kept their name, so that a whole moved directory pairs file by file.
    for same_name in [true, false] {
        for (at, change, content) in added() {
            if partner.contains_key(&at) {
                continue;
            }
            let Some(candidates) = gone.get_mut(&content) else {
                continue;
            };
            let fits = |old: &usize| {
                let old = changes.get(*old).map(|c| name(&c.path));
                !same_name || old == Some(name(&change.path))
            };
            if let Some(found) = candidates.iter().position(fits) {
                partner.insert(at, candidates.remove(found));
            }
        }
    }
    partner
}

fn movable(change: &Change, kind: ChangeKind) -> Option<Content> {
    if change.kind != kind {
        return None;
    }
    let entry = if kind == ChangeKind::Deleted {
        &change.from
    } else {
        &change.to
    };
    entry
        .as_ref()?
        .content()
        .filter(|content| content.size > 0)
        .copied()
}

fn name(path: &RelPath) -> Vec<u8> {
    path.split()
        .map(|(_, name)| name.as_bytes().to_vec())
        .unwrap_or_default()
}
