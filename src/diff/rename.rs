//! Finds moved files: one deleted, one added, the same content.

use std::collections::{BTreeSet, HashMap};

use super::change::{Change, ChangeKind};
use crate::model::{Content, Entry, RelPath};

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

/// Returns the index of the deleted regular file that each added one was. Empty files prove no origin and are not paired. The
/// same inode is preferred, then a pair that keeps its name.
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
    let ino = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.ino);
    // First the inode, which a rename keeps. Then those that kept their name, so that a whole moved directory pairs file by file.
    for alike in [Alike::Inode, Alike::Name, Alike::Content] {
        for (at, change, content) in added() {
            if partner.contains_key(&at) {
                continue;
            }
            let Some(candidates) = gone.get_mut(&content) else {
                continue;
            };
            let fits = |old: &usize| {
                changes.get(*old).is_some_and(|old| match alike {
                    Alike::Inode => ino(&old.from) == ino(&change.to),
                    Alike::Name => name(&old.path) == name(&change.path),
                    Alike::Content => true,
                })
            };
            if let Some(found) = candidates.iter().position(fits) {
                partner.insert(at, candidates.remove(found));
            }
        }
    }
    partner
}

/// Criteria that match a deleted file with an added one.
#[derive(Clone, Copy)]
enum Alike {
    Inode,
    Name,
    Content,
}

/// Returns every pair of an earlier and a later path of one object. Besides [`renames`], it finds moves that appear as other
/// changes, because a path was taken, or the object is empty or no regular file. Directories come first.
#[must_use]
pub fn moved(changes: &[Change]) -> Vec<(RelPath, RelPath)> {
    let all: Vec<&Change> = changes.iter().collect();
    let shown = renames(&all).into_iter();
    let mut pairs: BTreeSet<(RelPath, RelPath)> = shown
        .filter_map(|(new, old)| Some((changes.get(old)?.path.clone(), changes.get(new)?.path.clone())))
        .collect();
    let paired: BTreeSet<RelPath> = pairs.iter().map(|(_, new)| new.clone()).collect();
    let mut gone: HashMap<u64, Vec<(&RelPath, &Entry)>> = HashMap::new();
    let ino = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.ino);
    let stays = |change: &&Change| ino(&change.from) == ino(&change.to);
    for change in changes.iter().filter(|change| !stays(change)) {
        if let Some(from) = &change.from {
            gone.entry(from.ino).or_default().push((&change.path, from));
        }
    }
    let mut directories = Vec::new();
    for change in changes.iter().filter(|change| !stays(change)) {
        let Some(to) = change.to.as_ref().filter(|_| !paired.contains(&change.path)) else {
            continue;
        };
        let candidates = gone.get(&to.ino).map(Vec::as_slice).unwrap_or_default();
        let alike = candidates.iter().filter(|(_, from)| from.kind == to.kind);
        let same_name = alike.clone().find(|(path, _)| name(path) == name(&change.path));
        let Some((old, from)) = same_name.or_else(|| alike.clone().next()) else {
            continue;
        };
        let pair = ((*old).clone(), change.path.clone());
        // A number may be given again once its object is gone. What a rename leaves alone is the time of the content.
        let is_full = to.content().is_some_and(|content| content.size > 0);
        if is_full || from.mtime == to.mtime {
            pairs.insert(pair);
        } else if to.is_dir() {
            directories.push(pair);
        }
    }
    // A directory in which something changed has another time: something that moved with it is the proof.
    let mut carried: BTreeSet<(RelPath, RelPath)> = BTreeSet::new();
    for (old, new) in &pairs {
        let (mut old, mut new) = (old.clone(), new.clone());
        while let (Some((above_old, a)), Some((above_new, b))) = (old.split(), new.split()) {
            if a != b || !carried.insert((above_old.clone(), above_new.clone())) {
                break;
            }
            (old, new) = (above_old, above_new);
        }
    }
    pairs.extend(directories.into_iter().filter(|pair| carried.contains(pair)));
    let is_dir: BTreeSet<&RelPath> = changes
        .iter()
        .filter(|change| change.to.as_ref().is_some_and(Entry::is_dir))
        .map(|change| &change.path)
        .collect();
    let (mut first, rest): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(_, new)| is_dir.contains(new));
    first.extend(rest);
    first
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
