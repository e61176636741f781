//! Renamed directories: one was deleted, one added, and all files of one are in the other.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Extent, Foldable, Folding};
use crate::diff::ChangeKind;
use crate::model::RelPath;

/// Paths in their order, with their positions in the list of changes.
type Sorted<'a> = Vec<(&'a RelPath, usize)>;

/// A change with its position in the list.
type Numbered<'l, 'a> = (usize, &'l Foldable<'a>);

/// Added directories that are no renamed ones. A rename explains all changes below a directory, so no directory above one of these
/// is a renamed one either.
struct Refused<'v> {
    /// The innermost added directory above each change.
    above: &'v [Option<usize>],
    all: HashSet<usize>,
}

impl Refused<'_> {
    /// Adds a directory and those above it. It stops at one that is there, so all calls together take linear time.
    fn add(&mut self, dir: usize) {
        let mut next = Some(dir).filter(|dir| self.all.insert(*dir));
        while let Some(dir) = next {
            let above = self.above.get(dir).copied().flatten();
            next = above.filter(|dir| self.all.insert(*dir));
        }
    }
}

impl Folding<'_, '_> {
    /// Folds the outermost directories that were renamed.
    pub(super) fn renamed(&mut self, unknown: &BTreeSet<RelPath>) {
        let list = self.list;
        let by_from = sorted(
            (0..)
                .zip(list)
                .filter_map(|(at, item)| Some((item.from_path?, at))),
        );
        if by_from.is_empty() {
            return;
        }
        let by_path = sorted((0..).zip(list).map(|(at, item)| (item.path, at)));
        let numbers: HashMap<&[u8], usize> = (by_path.iter())
            .map(|(path, at)| (path.as_bytes(), *at))
            .collect();
        let is_directory = |at: usize, kind| {
            let item = list.get(at).filter(|item| !item.path.is_root());
            item.is_some_and(|item| item.kind == kind && item.is_directory)
        };
        let is_free = |at: usize| self.owner.get(at).is_some_and(Option::is_none);
        let above = self.innermost(&|at| is_directory(at, ChangeKind::Added));
        // Each change with its number and the directory above it, from the top down.
        let numbered = |at: usize| Some((at, list.get(at)?));
        let changes = by_path.iter().filter_map(|(_, at)| {
            let dir = above.get(*at).copied().flatten();
            Some((numbered(*at)?, dir.and_then(numbered)))
        });
        let mut refused = Refused {
            above: &above,
            all: HashSet::new(),
        };
        let old = old_paths(changes.clone().rev(), &mut refused);
        let mut partners: HashMap<usize, Numbered<'_, '_>> = HashMap::new();
        for ((at, item), dir) in changes.clone() {
            if let Some((dir, above)) = dir
                && (!is_free(at) || item.is_marked != above.is_marked)
            {
                refused.add(dir);
            }
            if !is_directory(at, ChangeKind::Added) {
                continue;
            }
            let own = old.get(&at).copied().map(Cow::Borrowed);
            let is_moved = own.is_some();
            // An empty directory has the place in the old directory that it has in the new one.
            let place = own.or_else(|| {
                let (dir, above) = dir?;
                let (_, old) = partners.get(&dir)?;
                let rest = below(item.path, above.path);
                Some([old.path.as_bytes(), rest].concat().into())
            });
            let Some(place) = place else { continue };
            let partner = numbers.get(&*place).and_then(|at| numbered(*at));
            let partner = partner.filter(|(number, old)| {
                // Each file of the new directory was in the old one, and each directory has its partner there. If the old one has as
                // many changes, these are all.
                let is_all = || {
                    let there = within(&by_path, old.path).len() + within(&by_from, old.path).len();
                    within(&by_path, item.path).len() == there
                };
                is_directory(*number, ChangeKind::Deleted)
                    && [at, *number].into_iter().all(is_free)
                    && ![item.path, old.path].into_iter().any(|dir| unknown.contains(dir))
                    && item.from_path.is_none()
                    && item.is_marked == old.is_marked
                    && (!is_moved || is_all())
            });
            match partner {
                Some(partner) => drop(partners.insert(at, partner)),
                None => refused.add(at),
            }
        }
        let mut found = Vec::new();
        for ((at, item), dir) in changes {
            let is_outermost = dir.is_none_or(|(dir, _)| refused.all.contains(&dir));
            if !is_outermost || refused.all.contains(&at) || !old.contains_key(&at) {
                continue;
            }
            if let Some((_, old)) = partners.get(&at) {
                let both = [within(&by_path, item.path), within(&by_path, old.path)];
                let mut items: Vec<usize> = both.into_iter().flatten().map(|(_, at)| *at).collect();
                items.sort_unstable();
                found.push((item.path.clone(), old.path.clone(), items));
            }
        }
        for (new, old, items) in found {
            let (alone, items): (Vec<usize>, Vec<usize>) =
                (items.into_iter()).partition(|at| self.item(*at).is_none_or(|item| item.stands_alone));
            self.add(Extent::Moved, new, Some(old), items, !alone.is_empty());
        }
    }
}

/// Returns the earlier path of each added directory, which is the same for all renamed files in it. Directories with other changes are
/// refused. The changes come from the bottom up, each with the innermost added directory above it.
fn old_paths<'a: 'l, 'l>(
    changes: impl Iterator<Item = (Numbered<'l, 'a>, Option<Numbered<'l, 'a>>)>,
    refused: &mut Refused<'_>,
) -> HashMap<usize, &'l [u8]> {
    let mut old: HashMap<usize, &[u8]> = HashMap::new();
    for ((at, item), dir) in changes {
        let Some((dir, above)) = dir else { continue };
        let earlier = match (item.kind, item.from_path) {
            (ChangeKind::Renamed, Some(from)) if depth(item.path) == depth(from) => from.as_bytes(),
            (ChangeKind::Added, None) if item.is_directory => match old.get(&at) {
                Some(earlier) => earlier,
                None => continue,
            },
            _ => {
                refused.add(dir);
                continue;
            }
        };
        let place = earlier.strip_suffix(below(item.path, above.path));
        if place.is_none_or(|place| *old.entry(dir).or_insert(place) != place) {
            refused.add(dir);
        }
    }
    old
}

/// Returns the part of a path below a directory, with the slash before it.
fn below<'p>(path: &'p RelPath, dir: &RelPath) -> &'p [u8] {
    path.as_bytes().get(dir.as_bytes().len()..).unwrap_or_default()
}

fn depth(path: &RelPath) -> usize {
    path.as_bytes().iter().filter(|byte| **byte == b'/').count()
}

fn sorted<'a>(paths: impl Iterator<Item = (&'a RelPath, usize)>) -> Sorted<'a> {
    let mut sorted: Sorted<'a> = paths.collect();
    sorted.sort_unstable();
    sorted
}

/// Returns the directory and those below it, which follow it.
fn within<'v, 'a>(sorted: &'v Sorted<'a>, dir: &RelPath) -> &'v [(&'a RelPath, usize)] {
    let start = sorted.partition_point(|(path, _)| *path < dir);
    let rest = sorted.get(start..).unwrap_or_default();
    let end = rest.partition_point(|(path, _)| path.is_within(dir));
    rest.get(..end).unwrap_or_default()
}
