//! Files that the session moved from a path that stays: where they are now they may be the only copies.

use std::collections::{HashMap, HashSet};

use super::moved_work::MIN_RECOGNIZED_SIZE;
use super::plan::{Action, KeptPath, Step, Why};
use super::scope::within;
use super::states::same;
use crate::diff::{Change, moved};
use crate::model::{Digest, Entry, EntryKind, RelPath};

/// Returns the pairs of an earlier and a later path of one object, among what changed. An undo brings the same states back as other objects:
/// where a path is in its state `last` at the end of the session, the object of that time shows the move.
pub(super) fn session_moves<'a>(
    changes: &[Change],
    last: &dyn Fn(&RelPath) -> Option<&'a Entry>,
) -> Vec<(RelPath, RelPath)> {
    let mut pairs = moved(changes);
    let left = as_left(changes, last);
    if !left.is_empty() {
        let replaced = |change: &Change| Change {
            to: left
                .get(&change.path)
                .copied()
                .cloned()
                .or_else(|| change.to.clone()),
            ..change.clone()
        };
        let changes: Vec<Change> = changes.iter().map(replaced).collect();
        let known: HashSet<(RelPath, RelPath)> = pairs.iter().cloned().collect();
        pairs.extend(moved(&changes).into_iter().filter(|pair| !known.contains(pair)));
    }
    pairs
}

/// Returns the objects that the session left, of the paths that are in the same state as other objects.
fn as_left<'a>(
    changes: &[Change],
    last: &dyn Fn(&RelPath) -> Option<&'a Entry>,
) -> HashMap<RelPath, &'a Entry> {
    let left = |change: &Change| {
        let (now, last) = (change.to.as_ref()?, last(&change.path)?);
        let is_other = now.ino != last.ino && same(Some(last), Some(now));
        is_other.then(|| (change.path.clone(), last))
    };
    changes.iter().filter_map(left).collect()
}

/// Moves between the two states that a plan compares: the later paths of each earlier one.
pub(super) struct Moves<'a> {
    to: HashMap<RelPath, Vec<RelPath>>,
    /// Objects that the session left, where an undo brought the same states back.
    left: HashMap<RelPath, &'a Entry>,
    /// A path of each content, now or at the end of the session.
    contents: HashMap<Digest, RelPath>,
}

impl<'a> Moves<'a> {
    /// Finds the moves among all changes of a plan; `last` is the state of a path at the end of the session.
    pub(super) fn among<'c>(
        changes: impl Iterator<Item = &'c Change>,
        last: &dyn Fn(&RelPath) -> Option<&'a Entry>,
    ) -> Self {
        let changes: Vec<Change> = changes.cloned().collect();
        let mut contents = HashMap::new();
        for change in &changes {
            for entry in change.to.as_ref().into_iter().chain(last(&change.path)) {
                if let Some(content) = entry.content() {
                    contents
                        .entry(content.digest)
                        .or_insert_with(|| change.path.clone());
                }
            }
        }
        let mut to: HashMap<RelPath, Vec<RelPath>> = HashMap::new();
        for (old, new) in session_moves(&changes, last) {
            to.entry(old).or_default().push(new);
        }
        let left = as_left(&changes, last);
        Self { to, left, contents }
    }

    /// Returns the steps that would remove what was at the path of `kept` before, by path.
    pub(super) fn lost_by<'s>(
        &self,
        kept: &KeptPath,
        step: &dyn Fn(&RelPath) -> Option<&'s Step>,
    ) -> Vec<RelPath> {
        let path = &kept.change.path;
        let Some(was) = kept.change.from.as_ref().filter(|was| holds_something(was)) else {
            return Vec::new();
        };
        let is_there = |now: &Entry| has_content(was, now) || was.ino == now.ino;
        if kept.why == Why::Socket || kept.change.to.as_ref().is_some_and(is_there) {
            return Vec::new();
        }
        // What lies in a directory that was moved has the same path in the other one.
        let above = path.ancestors().chain([path.clone()]);
        let places = above.flat_map(|old| {
            let new = self.to.get(&old).into_iter().flatten();
            new.filter_map(|new| within(new, &old, path)).collect::<Vec<_>>()
        });
        let removes = |new: &RelPath| {
            let is_lost = |found: &&Step| match found.action {
                Action::Delete => true,
                Action::Replace => self.remains(found, step),
                Action::Create | Action::Metadata => false,
            };
            let now = step(new).filter(is_lost).and_then(|step| step.change.to.as_ref());
            now.is_some_and(|now| {
                let mut states = [now].into_iter().chain(self.left.get(new).copied());
                states.any(|state| is_object((path, was), (new, state)))
            })
        };
        places.filter(removes).collect()
    }

    /// Returns true if what a step brings back is at another path that stays, or would stay with it: both were exchanged, or several in turn.
    /// Otherwise the path of the step has a claim of its own.
    fn remains<'s>(&self, first: &Step, step: &dyn Fn(&RelPath) -> Option<&'s Step>) -> bool {
        let mut from = first.change.from.as_ref();
        // No chain is longer than all of them.
        for _ in 0..=self.contents.len() {
            let content = from.and_then(Entry::content);
            let Some(path) = content.and_then(|content| self.contents.get(&content.digest)) else {
                return false;
            };
            match step(path) {
                Some(next) if next.action == Action::Replace => from = next.change.from.as_ref(),
                _ => return true,
            }
        }
        false
    }
}

fn holds_something(entry: &Entry) -> bool {
    entry.content().is_some() || matches!(entry.kind, EntryKind::Directory | EntryKind::Symlink(_))
}

/// Returns true if a later object has the content of the earlier one, or is that object. An inode number may be given again, so an edited file must
/// have kept its name. A ref is none in another file.
fn is_object((old, was): (&RelPath, &Entry), (new, now): (&RelPath, &Entry)) -> bool {
    let name = |path: &RelPath| path.split().map(|(_, name)| name);
    let is_ref = |path: &RelPath| path.parts().any(|part| part == b"refs");
    let is_kind = std::mem::discriminant(&was.kind) == std::mem::discriminant(&now.kind);
    let is_inode = is_kind && was.ino == now.ino;
    let is_large = was
        .content()
        .is_some_and(|content| content.size >= MIN_RECOGNIZED_SIZE);
    let is_same = has_content(was, now);
    is_same && is_large && is_ref(old) == is_ref(new)
        || is_inode && (is_same || was.mtime == now.mtime || name(old) == name(new))
}

fn has_content(was: &Entry, now: &Entry) -> bool {
    let content = was.content().filter(|content| content.size > 0);
    content.is_some_and(|content| now.content().is_some_and(|now| now.digest == content.digest))
}
