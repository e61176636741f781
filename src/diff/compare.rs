//! Compares two manifests path by path. Compared are type, bytes, mode, owner, target, attributes, flags and link group;
//! never times. Inodes tell only which paths are names of the same file as before. What one side does not know is neither added nor
//! deleted: it is not covered.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::change::{Change, ChangeKind};
use super::rename::pair_renames;
use crate::capture::Skipped;
use crate::model::{Directory, Entry, EntryKind, GapReason, Listing, Manifest, Name, PathCounts, RelPath};

/// One of the two states.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Manifest of that state; `None` if the mount root did not exist.
    pub manifest: Option<&'a Manifest>,
    /// Excluded paths, sorted; a stored manifest has none.
    pub skipped: &'a [Skipped],
}

/// A path that one side does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotCovered {
    /// Below the mount root.
    pub path: RelPath,
    /// Reason, in words.
    pub reason: String,
    /// True if the other side knows it, or knows that it does not exist: it may have changed, or did.
    pub is_one_sided: bool,
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Paths that differ, sorted.
    pub changes: Vec<Change>,
    /// Paths that cannot be compared, sorted.
    pub not_covered: Vec<NotCovered>,
}

enum Found<'a> {
    Here(&'a Entry),
    Absent,
    /// With the reason.
    Unknown(String, Doubt),
}

/// Difference between something unknown and what the other side knows.
#[derive(Clone, Copy)]
struct Doubt {
    /// It may differ from an object.
    of_object: bool,
    /// It differs from nothing.
    of_absence: bool,
}

impl Doubt {
    const ANY: Self = Self {
        of_object: true,
        of_absence: true,
    };
    const NONE: Self = Self {
        of_object: false,
        of_absence: false,
    };
}

/// Finds directories; the caller must ask for them in path order.
struct Ahead<'a>(&'a [Arc<Directory>]);

impl<'a> Ahead<'a> {
    fn new(side: &Side<'a>) -> Self {
        Self(side.manifest.map_or(&[], |manifest| &manifest.directories))
    }

    fn find(&mut self, path: &RelPath) -> Option<&'a Arc<Directory>> {
        while let Some((first, rest)) = self.0.split_first() {
            match first.path.cmp(path) {
                Ordering::Less => self.0 = rest,
                Ordering::Equal => return Some(first),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

/// Counts the differences between two manifests; `None` stands for a mount root that did not exist.
#[must_use]
pub fn count_changes(from: Option<&Manifest>, to: Option<&Manifest>) -> PathCounts {
    let side = |manifest| Side {
        manifest,
        skipped: &[],
    };
    let Comparison { changes, not_covered } = compare(&side(from), &side(to));
    PathCounts {
        unknown: count_unknown(&not_covered),
        ..count(&pair_renames(changes))
    }
}

/// Counts the paths that one side alone knows.
#[must_use]
pub fn count_unknown(not_covered: &[NotCovered]) -> u64 {
    not_covered.iter().filter(|gap| gap.is_one_sided).count() as u64
}

/// Counts changes for every command; a renamed path counts once.
pub fn count<'a>(changes: impl IntoIterator<Item = &'a Change>) -> PathCounts {
    let mut counts = PathCounts::default();
    for change in changes {
        match change.kind {
            ChangeKind::Added => counts.added += 1,
            ChangeKind::Deleted => counts.deleted += 1,
            ChangeKind::Renamed => counts.renamed += 1,
            ChangeKind::Modified | ChangeKind::Type | ChangeKind::Mode | ChangeKind::Metadata => {
                counts.changed += 1;
            }
        }
    }
    counts
}

/// Compares `from` with `to`.
#[must_use]
pub fn compare(from: &Side<'_>, to: &Side<'_>) -> Comparison {
    let mut changes = Vec::new();
    let mut unknown = BTreeSet::new();
    let mut one_sided = BTreeSet::new();
    for side in [from, to] {
        let gaps = side.manifest.into_iter().flat_map(Manifest::gaps);
        unknown.extend(gaps.map(|(path, gap)| (path, gap.reason.words())));
        unknown.extend(side.manifest.into_iter().flat_map(|manifest| manifest.lacks(&[])));
    }
    let roots = (from.manifest.map(|m| &m.root), to.manifest.map(|m| &m.root));
    let mut links = Links::default();
    push(&mut changes, &RelPath::root(), roots.0, roots.1);
    let (mut from_ahead, mut to_ahead) = (Ahead::new(from), Ahead::new(to));
    let mut stack = vec![RelPath::root()];
    while let Some(path) = stack.pop() {
        let dirs = (from_ahead.find(&path), to_ahead.find(&path));
        let mut below = Vec::new();
        // Nothing differs in a directory that both share, and nothing is left out of it.
        let shared = matches!(dirs, (Some(from), Some(to)) if Arc::ptr_eq(from, to));
        if let Some(dir) = dirs.0.filter(|_| shared) {
            links.keep(dir);
            let children = dir.entries.iter().rev().filter(|entry| entry.is_dir());
            stack.extend(children.map(|entry| path.join(&entry.name)));
            continue;
        }
        let dirs = (dirs.0.map(|dir| &**dir), dirs.1.map(|dir| &**dir));
        for name in names(dirs) {
            let at = path.join(name);
            match (
                find(from, dirs.0, &path, &at, name),
                find(to, dirs.1, &path, &at, name),
            ) {
                (Found::Unknown(..), Found::Unknown(..)) => {}
                (Found::Unknown(_, doubt), Found::Absent) | (Found::Absent, Found::Unknown(_, doubt)) => {
                    one_sided.extend(doubt.of_absence.then_some(at));
                }
                (Found::Unknown(reason, doubt), Found::Here(now)) => {
                    one_sided.extend(doubt.of_object.then(|| at.clone()));
                    let gap = dirs.0.and_then(|dir| dir.gap(name));
                    let reason = match gap.map(|gap| &gap.reason) {
                        // That it cannot be read is not true any more.
                        Some(GapReason::Unreadable(_)) => {
                            unknown.remove(&(at.clone(), reason));
                            opened(now)
                        }
                        _ => reason,
                    };
                    unknown.insert((at, reason));
                }
                (Found::Here(_), Found::Unknown(reason, doubt)) => {
                    one_sided.extend(doubt.of_object.then(|| at.clone()));
                    unknown.insert((at, reason));
                }
                (old, new) => {
                    let (old, new) = (old.entry(), new.entry());
                    if !links.take(&at, old, new) {
                        push(&mut changes, &at, old, new);
                    }
                    if old.is_some_and(Entry::is_dir) || new.is_some_and(Entry::is_dir) {
                        below.push(at);
                    }
                }
            }
        }
        stack.extend(below.into_iter().rev());
    }
    links.push(&mut changes);
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    // A path with two reasons keeps the first.
    let told = unknown.into_iter().map(|(path, reason)| NotCovered {
        is_one_sided: one_sided.contains(&path),
        path,
        reason,
    });
    let mut not_covered: Vec<NotCovered> = told.collect();
    not_covered.dedup_by(|later, first| later.path == first.path);
    Comparison { changes, not_covered }
}

/// Paths of files with several names on either side that differ at most in their names. A path that is a name of the same file as before did not
/// change, whatever other names that file got or lost: these are changes of their own.
#[derive(Default)]
struct Links<'a> {
    /// Files that kept one of their names, by inode.
    kept: HashSet<u64>,
    paths: Vec<(RelPath, &'a Entry, &'a Entry)>,
}

impl<'a> Links<'a> {
    /// Adds the files of a directory that both sides share.
    fn keep(&mut self, dir: &Directory) {
        let several = dir.entries.iter().filter(|entry| entry.has_several_names());
        self.kept.extend(several.map(|entry| entry.ino));
    }

    /// Takes a path if only its names can differ; returns true if so.
    fn take(&mut self, path: &RelPath, old: Option<&'a Entry>, new: Option<&'a Entry>) -> bool {
        let Some((old, new)) = old.zip(new) else {
            return false;
        };
        if !old.has_several_names() && !new.has_several_names() {
            return false;
        }
        if old.ino == new.ino {
            self.kept.insert(old.ino);
        }
        let is_alike = old.kind == new.kind && old.same_metadata(new);
        if is_alike && old.ino != new.ino {
            self.paths.push((path.clone(), old, new));
        }
        is_alike
    }

    /// Adds the paths that became names of other files.
    fn push(self, changes: &mut Vec<Change>) {
        for (path, old, new) in self.paths {
            let was_another = |entry: &Entry| entry.has_several_names() && self.kept.contains(&entry.ino);
            // Where no name is left to compare with, as in a copy of the tree, what counts is which paths are names of one file.
            if was_another(old) || was_another(new) || old.link != new.link {
                changes.push(Change {
                    path,
                    kind: ChangeKind::Metadata,
                    from: Some(old.clone()),
                    to: Some(new.clone()),
                    from_path: None,
                    has_secret_name: false,
                });
            }
        }
    }
}

impl<'a> Found<'a> {
    fn entry(self) -> Option<&'a Entry> {
        match self {
            Self::Here(entry) => Some(entry),
            Self::Absent | Self::Unknown(..) => None,
        }
    }
}

/// Describes an object that could not be read before.
fn opened(now: &Entry) -> String {
    match now.kind {
        // It may be the same file.
        EntryKind::File(_) => "was unreadable, can be read now".to_owned(),
        _ => format!("was unreadable, is a {} now", now.kind.words()),
    }
}

/// Returns every name that either side has in a directory, sorted.
fn names<'a>(dirs: (Option<&'a Directory>, Option<&'a Directory>)) -> BTreeSet<&'a Name> {
    let both = [dirs.0, dirs.1].into_iter().flatten();
    both.flat_map(|dir| {
        let entries = dir.entries.iter().map(|entry| &entry.name);
        entries.chain(dir.gaps.iter().map(|gap| &gap.name))
    })
    .collect()
}

fn find<'a>(
    side: &Side<'a>,
    dir: Option<&'a Directory>,
    parent: &RelPath,
    path: &RelPath,
    name: &Name,
) -> Found<'a> {
    let Some(manifest) = side.manifest else {
        return Found::Absent;
    };
    let Some(dir) = dir else {
        // The directory itself was not entered: it is not there, unless something above is unknown.
        let known = manifest.entry(parent).is_none_or(|entry| !entry.is_dir());
        return if known {
            Found::Absent
        } else {
            Found::Unknown("its directory could not be listed".to_owned(), Doubt::ANY)
        };
    };
    if let Some(entry) = dir.entry(name) {
        return Found::Here(entry);
    }
    if let Some(gap) = dir.gap(name) {
        let doubt = Doubt {
            of_object: gap.reason.may_hide_change(),
            of_absence: gap.reason.is_there(),
        };
        return Found::Unknown(gap.reason.words(), doubt);
    }
    if side
        .skipped
        .binary_search_by(|skipped| skipped.path.cmp(path))
        .is_ok()
    {
        return Found::Unknown("excluded".to_owned(), Doubt::NONE);
    }
    match dir.listing {
        // A partial list is whole for what it was asked for, and both sides were asked for the same.
        Listing::Proven | Listing::Partial => Found::Absent,
        Listing::Unsettled => Found::Unknown(
            "its directory kept changing while it was listed".to_owned(),
            Doubt::ANY,
        ),
        Listing::Unreadable => Found::Unknown("its directory could not be listed".to_owned(), Doubt::ANY),
    }
}

fn push(changes: &mut Vec<Change>, path: &RelPath, from: Option<&Entry>, to: Option<&Entry>) {
    let kind = match (from, to) {
        (None, None) => return,
        (None, Some(_)) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(old), Some(new)) => match difference(old, new) {
            Some(kind) => kind,
            None => return,
        },
    };
    changes.push(Change {
        path: path.clone(),
        kind,
        from: from.cloned(),
        to: to.cloned(),
        from_path: None,
        has_secret_name: false,
    });
}

/// Returns the difference between two states of one path, if any.
fn difference(old: &Entry, new: &Entry) -> Option<ChangeKind> {
    if std::mem::discriminant(&old.kind) != std::mem::discriminant(&new.kind) {
        return Some(ChangeKind::Type);
    }
    if old.kind != new.kind {
        return Some(ChangeKind::Modified);
    }
    if old.same_state(new) {
        return None;
    }
    let same_mode = Entry {
        mode: new.mode,
        ..old.clone()
    };
    let only_mode = !matches!(old.kind, EntryKind::Symlink(_)) && same_mode.same_state(new);
    Some(if only_mode {
        ChangeKind::Mode
    } else {
        ChangeKind::Metadata
    })
}
