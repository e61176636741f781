//! Finds what others than a session made and the session then moved: where it lies now it may be the only copy.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::states::same;
use crate::model::{Content, Digest, Entry, Manifest, Name, RelPath};

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

/// Smallest content, in bytes, that is recognized wherever it lies: a smaller one is found anywhere.
pub(super) const MIN_RECOGNIZED_SIZE: u64 = 16;

/// Reads a content that the end of the step with this number has.
pub(super) type ReadAt<'a> = dyn Fn(usize, &Content) -> Option<Vec<u8>> + 'a;

/// Something that others than the session made.
struct Work {
    /// The object as they left it, at the end of the step with the number `at`.
    entry: Entry,
    at: usize,
    /// The object at the last look.
    last: Entry,
    /// True if the session moved it.
    is_moved: bool,
}

/// Returns what others made and the session moved: each state that a look found of it, by its path then. `authors` returns who may have changed
/// a path in the step with this number.
pub(super) fn moved_work(
    steps: &[MoveStep<'_>],
    authors: &dyn Fn(usize, &RelPath, &Entry) -> Possible,
    read: &ReadAt<'_>,
) -> HashMap<RelPath, Vec<Entry>> {
    // What others made, by its path now.
    let mut works: BTreeMap<RelPath, Work> = BTreeMap::new();
    let mut moved: HashMap<RelPath, Vec<Entry>> = HashMap::new();
    let mut left = MOST_COMPARISONS;
    for (at, step) in steps.iter().enumerate() {
        let is_other = |path: &RelPath, work: &mut Work| {
            let found = step.after.entry(path);
            found.is_none_or(|found| found.ino != work.last.ino || found.kind != work.last.kind)
        };
        let others: Vec<(RelPath, Work)> = works.extract_if(.., is_other).collect();
        if !others.is_empty() {
            let new = NewObjects::of(step);
            for (path, work) in others {
                let still = step
                    .after
                    .entry(&path)
                    .filter(|found| is_alike(found, &work.last));
                // What is at its path now may be its next version, unless it lies elsewhere.
                let found = match still {
                    Some(_) => new.renamed(&work).or_else(|| new.copied(&work)),
                    None => new.where_is(&work, &path, at, &mut left, read),
                };
                let (path, last, is_moved) = match (found, still) {
                    (Some((new, found)), _) => {
                        // To move is to change both: equal contents alone are no move. The same file is.
                        let is_left = || found.ino == work.last.ino || authors(at, &path, &work.last).own;
                        let is_own = || authors(at, new, found).own && is_left();
                        (new.clone(), found, work.is_moved || is_own())
                    }
                    // Another one may have been moved there.
                    (None, Some(still)) if !works.contains_key(&path) => (path, still, work.is_moved),
                    (None, _) => continue,
                };
                let last = last.clone();
                works.insert(
                    path,
                    Work {
                        last,
                        is_moved,
                        ..work
                    },
                );
            }
        }
        for (path, work) in &mut works {
            let Some(found) = step.after.entry(path) else {
                continue;
            };
            work.last = found.clone();
            if work.is_moved {
                let states = moved.entry(path.clone()).or_default();
                if !states.iter().any(|state| same(Some(state), Some(found))) {
                    states.push(found.clone());
                }
            }
        }
        if step.is_own {
            continue;
        }
        for (path, entry) in changed(step) {
            if authors(at, &path, entry).others {
                let (entry, last) = (entry.clone(), entry.clone());
                let is_moved = false;
                works.insert(
                    path,
                    Work {
                        entry,
                        at,
                        last,
                        is_moved,
                    },
                );
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

/// The objects that the end of a step has at paths where its beginning has others.
struct NewObjects<'a> {
    /// At paths where nothing of their type was.
    all: Vec<(RelPath, &'a Entry)>,
    /// Those, and what took the place of something of the same type: by their inodes.
    by_ino: HashMap<u64, Vec<(RelPath, &'a Entry)>>,
    /// The same, and files that got another content: by the digest of it.
    by_content: HashMap<Digest, Vec<(RelPath, &'a Entry)>>,
    by_name: HashMap<Name, Vec<usize>>,
}

impl<'a> NewObjects<'a> {
    fn of(step: &MoveStep<'a>) -> Self {
        let mut new = Self {
            all: Vec::new(),
            by_ino: HashMap::new(),
            by_content: HashMap::new(),
            by_name: HashMap::new(),
        };
        let is_other = |was: &Entry, entry: &Entry| was.ino != entry.ino || was.kind != entry.kind;
        for (path, entry) in differing(step, |was, entry| was.is_none_or(|was| is_other(was, entry))) {
            let was = step.before.entry(&path);
            if let Some(content) = entry.content() {
                let alike = new.by_content.entry(content.digest).or_default();
                alike.push((path.clone(), entry));
            }
            if was.is_none_or(|was| was.ino != entry.ino || !is_alike(was, entry)) {
                let alike = new.by_ino.entry(entry.ino).or_default();
                alike.push((path.clone(), entry));
            }
            if was.is_none_or(|was| !is_alike(was, entry)) {
                let named = new.by_name.entry(entry.name.clone()).or_default();
                named.push(new.all.len());
                new.all.push((path, entry));
            }
        }
        new
    }

    fn with_ino(&self, work: &Work) -> &[(RelPath, &'a Entry)] {
        let found = self.by_ino.get(&work.last.ino);
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// Finds an object by its inode, which a rename keeps.
    fn renamed(&self, work: &Work) -> Option<(&RelPath, &'a Entry)> {
        let last = &work.last;
        let is_full = last.content().is_some_and(|content| content.size > 0);
        // A number may be given again once its object is gone. What a rename leaves alone is the time of the content.
        let is_it = |entry: &Entry| entry.kind == last.kind && (is_full || entry.mtime == last.mtime);
        let mut found = self.with_ino(work).iter();
        found
            .find(|(_, entry)| is_it(entry))
            .map(|(path, entry)| (path, *entry))
    }

    /// Finds a file by its content. A small one is found anywhere, so only one that is alone or has the same name counts.
    fn copied(&self, work: &Work) -> Option<(&RelPath, &'a Entry)> {
        let content = work.last.content().filter(|content| content.size > 0)?;
        let all = self.by_content.get(&content.digest)?;
        let named = all.iter().find(|(_, entry)| entry.name == work.last.name);
        let (path, entry) = match all.as_slice() {
            [only] => Some(only),
            several if content.size >= MIN_RECOGNIZED_SIZE => named.or(several.first()),
            _ => named,
        }?;
        Some((path, *entry))
    }

    /// Finds an object that was at `path` and is no longer there: by its inode, its content, else by its lines.
    fn where_is(
        &self,
        work: &Work,
        path: &RelPath,
        step: usize,
        left: &mut usize,
        read: &ReadAt<'_>,
    ) -> Option<(&RelPath, &'a Entry)> {
        if let Some(found) = self.renamed(work).or_else(|| self.copied(work)) {
            return Some(found);
        }
        let content = work.entry.content().filter(|content| content.size > 0)?;
        if *left == 0 || content.size > MOST_COMPARED {
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
        let candidates = self.with_ino(work).iter().chain(named).chain(others);
        let mut text = None;
        for (path, entry) in candidates.take(MOST_CANDIDATES) {
            let Some(other) = entry.content().filter(|other| other.size <= 4 * MOST_COMPARED) else {
                continue;
            };
            *left = left.checked_sub(1)?;
            if text.is_none() {
                text = Some(read(work.at, content)?);
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
