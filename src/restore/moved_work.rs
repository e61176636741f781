//! Finds what others than a session made and the session then moved: where it lies now it may be the only copy.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::states::same;
use crate::model::{Content, Entry, Manifest, Name, RelPath};

/// Two looks at a mount, one after the other.
pub(super) struct MoveStep<'a> {
    pub(super) before: &'a Manifest,
    pub(super) after: &'a Manifest,
    /// True if only the session itself can have changed anything.
    pub(super) is_own: bool,
}

/// Maximum bytes of a file whose lines are compared with those of another one.
pub(super) const MOST_COMPARED: u64 = 1 << 20;
/// Maximum number of new files that a missing one is compared with.
const MOST_CANDIDATES: usize = 20;
/// Maximum number of contents that are read for that, of all looks at a mount.
const MOST_COMPARISONS: usize = 1000;

/// Smallest content, in bytes, that is recognized where it lies: a smaller one is found anywhere.
pub(super) const MIN_RECOGNIZED_SIZE: u64 = 16;

/// Reads a content that the end of the step with this number has.
pub(super) type ReadAt<'a> = dyn Fn(usize, &Content) -> Option<Vec<u8>> + 'a;

/// Something that others than the session made, with the number of the step at whose end it was as they left it.
struct Work {
    entry: Entry,
    at: usize,
}

/// Returns the last paths of such objects. `authors` returns who may have changed a path in the step with this number.
pub(super) fn moved_work(
    steps: &[MoveStep<'_>],
    authors: &dyn Fn(usize, &RelPath, &Entry) -> Possible,
    read: &ReadAt<'_>,
) -> HashSet<RelPath> {
    // What others made, by its path now.
    let mut works: BTreeMap<RelPath, Work> = BTreeMap::new();
    let mut moved = HashSet::new();
    let mut left = MOST_COMPARISONS;
    for (at, step) in steps.iter().enumerate() {
        let is_gone = |path: &RelPath, work: &mut Work| {
            let found = step.after.entry(path);
            found.is_none_or(|found| !is_alike(found, &work.entry))
        };
        let gone: Vec<(RelPath, Work)> = works.extract_if(.., is_gone).collect();
        if !gone.is_empty() {
            let new = NewObjects::of(step);
            for (path, work) in gone {
                let was_moved = moved.remove(&path);
                let Some((path, found)) = new.where_is(&work, &path, at, &mut left, read) else {
                    continue;
                };
                if was_moved || authors(at, path, found).own {
                    moved.insert(path.clone());
                }
                works.insert(path.clone(), work);
            }
        }
        // A file that is written by renaming a new one over it has another inode.
        for (path, work) in &mut works {
            if let Some(found) = step.after.entry(path) {
                work.entry.ino = found.ino;
            }
        }
        if step.is_own {
            continue;
        }
        for (path, entry) in changed(step) {
            if authors(at, &path, entry).others {
                let entry = entry.clone();
                works.insert(path, Work { entry, at });
            }
        }
    }
    moved
}

/// Possible authors of a change.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Possible {
    /// The session.
    pub(super) own: bool,
    /// Anybody else.
    pub(super) others: bool,
}

/// Returns the objects that are others, or have another state, at the end of a step. A directory counts only if it is new.
fn changed<'a>(step: &MoveStep<'a>) -> Vec<(RelPath, &'a Entry)> {
    differing(step, |was, entry| {
        was.is_none_or(|was| !is_alike(was, entry) || !entry.is_dir() && !same(Some(was), Some(entry)))
    })
}

/// Returns the objects at the end of a step for which `counts` is true; it gets what is at their path in the beginning as well.
fn differing<'a>(
    step: &MoveStep<'a>,
    counts: impl Fn(Option<&Entry>, &Entry) -> bool,
) -> Vec<(RelPath, &'a Entry)> {
    let mut found = Vec::new();
    for dir in &step.after.directories {
        let was = step.before.directory(&dir.path);
        if was.is_some_and(|was| Arc::ptr_eq(was, dir)) {
            continue;
        }
        let differ = dir
            .entries
            .iter()
            .filter(|entry| counts(was.and_then(|was| was.entry(&entry.name)), entry));
        found.extend(differ.map(|entry| (dir.path.join(&entry.name), entry)));
    }
    found
}

/// Returns true for objects of the same type.
fn is_alike(a: &Entry, b: &Entry) -> bool {
    std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
}

/// The objects that the end of a step has at paths where its beginning has none of their type.
struct NewObjects<'a> {
    all: Vec<(RelPath, &'a Entry)>,
    by_ino: HashMap<u64, Vec<usize>>,
    by_name: HashMap<Name, Vec<usize>>,
}

impl<'a> NewObjects<'a> {
    fn of(step: &MoveStep<'a>) -> Self {
        let all = differing(step, |was, entry| was.is_none_or(|was| !is_alike(was, entry)));
        let mut by_ino: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut by_name: HashMap<Name, Vec<usize>> = HashMap::new();
        for (at, (_, entry)) in all.iter().enumerate() {
            by_ino.entry(entry.ino).or_default().push(at);
            by_name.entry(entry.name.clone()).or_default().push(at);
        }
        Self { all, by_ino, by_name }
    }

    /// Finds an object that was at `path`: by its inode, which a rename keeps, else by its lines.
    fn where_is(
        &self,
        Work { entry: work, at }: &Work,
        path: &RelPath,
        step: usize,
        left: &mut usize,
        read: &ReadAt<'_>,
    ) -> Option<(&RelPath, &'a Entry)> {
        let numbers = self.by_ino.get(&work.ino).map(Vec::as_slice).unwrap_or_default();
        let same_ino = || numbers.iter().filter_map(|at| self.all.get(*at));
        let is_full = work.content().is_some_and(|content| content.size > 0);
        // A number may be given again once its object is gone. What a rename leaves alone is the time of the content.
        let is_it = |entry: &Entry| entry.kind == work.kind && (is_full || entry.mtime == work.mtime);
        if let Some((path, entry)) = same_ino().find(|(_, entry)| is_it(entry)) {
            return Some((path, entry));
        }
        let content = work
            .content()
            .filter(|content| (1..=MOST_COMPARED).contains(&content.size))?;
        if *left == 0 {
            return None;
        }
        let others: &[(RelPath, &Entry)] = match content.size >= MIN_RECOGNIZED_SIZE {
            true => &self.all,
            false => &[],
        };
        let name = path.split().map(|(_, name)| name);
        let named = name
            .and_then(|name| self.by_name.get(&name))
            .filter(|_| !others.is_empty());
        let named = named.map(Vec::as_slice).unwrap_or_default().iter();
        let named = named.filter_map(|at| self.all.get(*at));
        let candidates = same_ino().chain(named).chain(others);
        let mut text = None;
        for (path, entry) in candidates.take(MOST_CANDIDATES) {
            let Some(other) = entry.content().filter(|other| other.size <= 4 * MOST_COMPARED) else {
                continue;
            };
            *left = left.checked_sub(1)?;
            if text.is_none() {
                text = Some(read(*at, content)?);
            }
            if read(step, other)
                .zip(text.as_ref())
                .is_some_and(|(other, text)| holds_most(&other, text))
            {
                return Some((path, entry));
            }
        }
        None
    }
}

/// Returns true if at least half of the lines of `work` are in `text`.
fn holds_most(text: &[u8], work: &[u8]) -> bool {
    let mut there: HashMap<&[u8], usize> = HashMap::new();
    for line in lines(text) {
        *there.entry(line).or_default() += 1;
    }
    let (mut all, mut found) = (0, 0);
    for line in lines(work) {
        all += 1;
        if let Some(left) = there.get_mut(line).filter(|left| **left > 0) {
            *left -= 1;
            found += 1;
        }
    }
    all > 0 && 2 * found >= all
}

/// Returns the lines that say anything.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| line.iter().any(u8::is_ascii_alphanumeric))
}
