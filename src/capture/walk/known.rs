//! Looks at a directory whose names are known: no name in it was added, removed or renamed since the reference, so the reference
//! has its list, and only the facts of its entries are read.

use std::sync::Arc;

use super::Reference;
use super::limits::Share;
use super::scan::{Job, Outcome, Scan, Scanned};
use crate::capture::remote_compare::recorded;
use crate::model::{Directory, Entry, Listing, RelPath};
use handle_fs::{NodeKind, Stat};

/// Entry that differs from the reference, by its index, with its new state.
struct Other {
    index: usize,
    entry: Entry,
    is_pending: bool,
}

impl Scan<'_> {
    /// Looks at the directory number `at` of the reference, which did not change since its parent was read. `None` if it has to
    /// be listed after all.
    pub(super) fn known(&self, path: &RelPath, seen: &Stat, at: usize) -> Option<Outcome> {
        let reference = &self.walk.reference?;
        let before = reference.earlier.manifest.directories.get(at)?;
        if !has_all_names(before) {
            return None;
        }
        if self.unchanged.get(at) == Some(&true)
            && let Some(outcome) = self.told(reference, before, at)
        {
            return Some(outcome);
        }
        let dir = self.walk.root.dir(path).ok()?;
        // The parent was read earlier. Since then a name may have come or gone, or another directory may have taken this
        // path; then the list of the reference is not the list of this directory.
        if !dir.stat().ok()?.same_moment(seen) {
            return None;
        }
        let mut share = Share::default();
        let mut below = Vec::new();
        let mut others = Vec::new();
        // A subtree stands right behind its directory.
        let mut next = at + 1;
        let names = before.entries.iter().map(|old| old.name.as_os_str());
        let stats = dir.look_at(names).ok()?;
        for ((index, old), stat) in before.entries.iter().enumerate().zip(stats) {
            // A name that is gone disproves the list, so the directory is listed.
            let stat = stat.ok()?;
            let at = || before.path.join(&old.name);
            if !stat.is_on(self.walk.root.place()) || self.guarded(&stat, at).is_some() {
                return None;
            }
            share.count(&stat, self.tally);
            let known = self.unchanged(reference, old, &stat);
            if stat.kind == NodeKind::Directory {
                let path = before.path.join(&old.name);
                let place = find_from(&reference.earlier.manifest.directories, next, &path);
                next = place.map_or(next, |place| place + 1);
                below.push(Job {
                    path,
                    seen: stat,
                    known: known.and(place),
                });
            }
            if known.is_none() {
                let is_link = stat.kind == NodeKind::Symlink;
                let object = (!self.is_read(&stat)).then(|| dir.object(old.name.as_os_str(), is_link));
                let (entry, is_pending) = self.entry(object, old.name.clone(), &stat, None).ok()?;
                others.push(Other {
                    index,
                    entry,
                    is_pending,
                });
            }
        }
        // Two names that change places while they are looked at both show something else than before.
        if !others.is_empty() && !dir.stat().ok()?.same_moment(seen) {
            return None;
        }
        self.tally.add(share, &self.walk.limits);
        self.walk.observer.advance(before.entries.len() as u64, 0);
        Some(Outcome {
            scanned: Some(with(at, before, others)),
            skipped: Vec::new(),
            below,
        })
    }
}

impl Scan<'_> {
    /// Returns the outcome of a directory that its machine reported unchanged. `None` if some of it was too fresh then.
    fn told(&self, reference: &Reference<'_>, before: &Arc<Directory>, at: usize) -> Option<Outcome> {
        let mut share = Share::default();
        let mut below = Vec::new();
        let mut next = at + 1;
        for old in &before.entries {
            let stat = recorded(old, self.walk.root.place());
            share.count(&stat, self.tally);
            self.unchanged(reference, old, &stat)?;
            if old.is_dir() {
                let path = before.path.join(&old.name);
                let known = find_from(&reference.earlier.manifest.directories, next, &path);
                next = known.map_or(next, |place| place + 1);
                let seen = stat;
                below.push(Job { path, seen, known });
            }
        }
        self.tally.add(share, &self.walk.limits);
        self.walk.observer.advance(before.entries.len() as u64, 0);
        Some(Outcome {
            scanned: Some(with(at, before, Vec::new())),
            skipped: Vec::new(),
            below,
        })
    }
}

/// Returns true if the directory lists all its names, and none of them is in doubt.
pub(super) fn has_all_names(directory: &Directory) -> bool {
    directory.all_named && directory.listing == Listing::Proven && directory.gaps.is_empty()
}

/// Returns the directory with some entries replaced; the same one if there are none.
fn with(at: usize, before: &Arc<Directory>, others: Vec<Other>) -> Scanned {
    let mut directory = Arc::clone(before);
    let mut pending = Vec::new();
    for other in others {
        if let Some(entry) = Arc::make_mut(&mut directory).entries.get_mut(other.index) {
            *entry = other.entry;
        }
        if other.is_pending {
            pending.push(other.index);
        }
    }
    Scanned {
        place: Some(at),
        directory,
        pending,
    }
}

/// Returns the index of `path` among sorted directories, not before `start`. A near one is found fast.
fn find_from(directories: &[Arc<Directory>], start: usize, path: &RelPath) -> Option<usize> {
    let rest = directories.get(start..)?;
    let mut reach = 1;
    while rest.get(reach).is_some_and(|dir| dir.path < *path) {
        reach *= 2;
    }
    let near = rest.get(..=reach).unwrap_or(rest);
    let found = near.binary_search_by(|dir| dir.path.cmp(path)).ok()?;
    Some(start + found)
}
