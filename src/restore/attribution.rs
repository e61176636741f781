//! Attribution of a path's state. A restore may revert a path whose state was left by the session, or by a restore or undo of
//! jackin. Any other state is a later edit.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::composed::ComposedFiles;
use super::folded_names::FoldedNames;
use super::git_index::RefreshedIndexes;
use super::git_links::GitLinks;
use super::left_states::{LeftState, ShownWork};
use super::states::{is_known, same};
use super::timeline::{Author, Moment, Timeline};
use crate::contract::{Matcher, Verdict as Excluded};
use crate::diff::Change;
use crate::model::{Content, Entry, InstanceId, Manifest, RelPath, SnapshotId};

/// Evidence about the states that one mount went through.
#[derive(Default)]
pub struct ChangeHistory {
    /// The last snapshot taken while the session lived, when its end was seen.
    pub last: Option<Manifest>,
    /// The snapshot that shows `last`.
    pub last_snapshot: Option<SnapshotId>,
    /// True if the session's end was seen. `last` is missing even so if the mount was not there then.
    pub is_closed: bool,
    /// Reason for the missing closing snapshot, if the session's end was recorded without one.
    pub missing: Option<String>,
    /// Snapshots taken while it lived, for when its end was not seen: the late closing proves nothing.
    pub live: Vec<(SnapshotId, Manifest)>,
    /// States that our own restores and undos of this instance left, newest first.
    pub left: HashMap<RelPath, Vec<LeftState>>,
    /// Paths where our own restores left the right type and content, but not the right owner, mode or attributes.
    pub inexact: HashSet<RelPath>,
    /// States that restores and undos of other instances on the same files left.
    pub elsewhere: HashMap<RelPath, Vec<Option<Entry>>>,
    /// States since the target, and who made them.
    pub timeline: Timeline,
    /// Restores that the session itself began, and that were rolled back after its end.
    pub rolled_back: Vec<RolledBack>,
    /// Indexes of git that differ from known states only in what git caches.
    pub refreshed: RefreshedIndexes,
    /// Relations between files of git directories.
    pub links: GitLinks,
    /// Names that the live tree takes for one.
    pub folded: FoldedNames,
    /// Snapshots that should vouch and cannot be read, with the reason.
    pub unreadable: Vec<(SnapshotId, String)>,
    /// The snapshot's own excludes. A path that they match as another type was excluded then, whatever it is now.
    pub excludes: Option<Matcher>,
    /// Paths with objects that are older than the target, which lacks them.
    pub older: BTreeSet<RelPath>,
    /// The session itself asks, and lives: whatever is there is its work, but for what it shares with others.
    pub owned: bool,
    /// Everything is the session's: an undo is asked to undo what a restore did, and only `left` is proof.
    pub only_left: bool,
    /// Files that get a content of their own, also if they were edited later: what is there now is a part of it, or the operator decided.
    pub composed: ComposedFiles,
    /// One step is reverted, and `last` is what it left: the session may have gone on.
    pub of_step: bool,
}

/// A restore that the session itself began and that was interrupted. The end of the session was seen in between, so its last snapshot
/// shows some paths as the restore had made them.
pub struct RolledBack {
    /// State that the restore was to bring back.
    pub target: Manifest,
    /// State before it, which is there again.
    pub before: Manifest,
}

/// Attribution of a path's current state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The session's, or our own: it may be changed.
    Ours,
    /// Another session's restore left this state, and this session did not change it: neither its change nor a later edit.
    Settled,
    /// The path was changed after the session.
    Later,
    /// jackin did not observe the session's end, and no earlier snapshot shows this state.
    Unvouched,
    /// Two sessions changed it while both lived, or it is unknown which of them did; without any other session, the operator changed it
    /// between turns as well.
    Shared(Vec<InstanceId>),
    /// The session did not change it: other sessions did, or without any the operator between turns.
    Others(Vec<InstanceId>),
}

impl ChangeHistory {
    /// Returns true if the excludes would match `path` as an object of the other type.
    ///
    /// For example, a directory that they name with a trailing slash may have been there and be a file now.
    #[must_use]
    pub fn may_have_been_excluded(&self, path: &RelPath, now: &Entry) -> bool {
        let verdict = self
            .excludes
            .as_ref()
            .map(|matcher| matcher.verdict(path, !now.is_dir()));
        matches!(verdict, Some(Excluded::Excluded(_)))
    }

    /// Judges the state `now` of `path`, which a restore would bring back to `then`; `None` stands for absent.
    #[must_use]
    pub fn judge(&self, path: &RelPath, then: Option<&Entry>, now: Option<&Entry>) -> Verdict {
        let mut left = self.states_left_like(path, now).peekable();
        if self.only_left {
            // A ref without a file of its own may be packed: what counts is its value.
            let is_missing = then.is_some() && now.is_none();
            let is_left = left.peek().is_some() && !(is_missing && self.links.is_later(path));
            return match is_left || is_missing && self.links.is_same(path) {
                true => Verdict::Ours,
                false => Verdict::Later,
            };
        }
        if let Some(verdict) = self.judge_left(path, then, now, left) {
            return verdict;
        }
        // Its object is in `packed-refs` now, or was deleted there.
        if !self.owned && then.is_some() && now.is_none() && self.links.is_later(path) {
            return match self.last.is_some() || self.at_rest().is_some() {
                true => Verdict::Later,
                false => Verdict::Unvouched,
            };
        }
        match self.timeline.author(path, then, None) {
            // It moved what others made.
            Author::Session if self.moves_foreign(path, then, now) => return Verdict::Shared(Vec::new()),
            Author::Session => {}
            // To revert a step is to revert its changes, also those that were made between turns.
            Author::Others(others) | Author::Both(others) if self.of_step && others.is_empty() => {}
            // Creating what is missing loses nothing.
            Author::Both(others) if now.is_none() && others.is_empty() => {}
            Author::Both(others) => return Verdict::Shared(others),
            Author::Others(others) if self.timeline.ends_with(path, now) => return Verdict::Others(others),
            // Then the session went on, and may have changed it too.
            Author::Others(others) if self.owned => return Verdict::Shared(others),
            Author::Others(_) => return Verdict::Later,
        }
        if self.owned {
            return Verdict::Ours;
        }
        if let Some(rest) = self.at_rest() {
            // Creating what is missing loses nothing.
            return match now.is_none() || self.known(rest, path, now) {
                true => Verdict::Ours,
                false => Verdict::Later,
            };
        }
        // What the last snapshot could not see it proves nothing about.
        if let Some(last) = self.last.as_ref().filter(|last| is_known(last, path)) {
            let mut elsewhere = self.elsewhere.get(path).into_iter().flatten();
            let is_left_elsewhere = elsewhere.any(|state| self.same(path, state.as_ref(), now));
            if is_left_elsewhere && !self.known(last, path, now) && self.known(last, path, then) {
                return Verdict::Settled;
            }
            let is_packed = || then.is_some() && now.is_none() && self.links.is_same(path);
            return if self.known(last, path, now) || self.came_back(last, path, now) || is_packed() {
                Verdict::Ours
            } else {
                Verdict::Later
            };
        }
        // Putting back what is missing loses nothing.
        if now.is_none() || self.live.iter().any(|(_, live)| self.known(live, path, now)) {
            Verdict::Ours
        } else {
            Verdict::Unvouched
        }
    }
}

impl ChangeHistory {
    /// Judges a state that restores left, by the work in it: what they brought back need not be the session's alone. `None` if what that is
    /// cannot be known: then the state is as good as any other.
    fn judge_left<'l>(
        &self,
        path: &RelPath,
        then: Option<&Entry>,
        now: Option<&Entry>,
        left: impl Iterator<Item = &'l ShownWork>,
    ) -> Option<Verdict> {
        let mut found = None;
        for shown in left {
            let moment = match shown {
                ShownWork::Jackins => return Some(Verdict::Ours),
                ShownWork::UntilSnapshot(snapshot) => self.timeline.moment(snapshot),
                ShownWork::UntilRestore(receipt) => self.timeline.moment_before(*receipt),
            };
            let until = match moment {
                // What was done before the target comes back with it.
                Moment::BeforeTarget => return Some(Verdict::Ours),
                Moment::Look(until) => until,
                Moment::Unknown => continue,
            };
            let verdict = match self.timeline.author(path, then, Some(until)) {
                Author::Session if self.moves_foreign(path, then, now) => Verdict::Shared(Vec::new()),
                Author::Session => Verdict::Ours,
                // Creating what is missing loses nothing.
                Author::Both(others) if now.is_none() && others.is_empty() => Verdict::Ours,
                Author::Both(others) => Verdict::Shared(others),
                Author::Others(others) => Verdict::Others(others),
            };
            // The same state can be of an earlier moment as well.
            if verdict == Verdict::Ours {
                return Some(verdict);
            }
            found.get_or_insert(verdict);
        }
        found
    }

    /// Returns the work that is in a state, for each restore that left it.
    fn states_left_like(&self, path: &RelPath, now: Option<&Entry>) -> impl Iterator<Item = &ShownWork> {
        let is_inexact = self.inexact.contains(path);
        let left = self.left.get(path).into_iter().flatten();
        let is_it = move |left: &&LeftState| {
            let is_alike = || match (&left.state, now) {
                // The content, without what could not be made exact and is not recorded. A mode that is another one may be a later edit.
                (Some(state), Some(now)) => state.kind == now.kind && (state.mode ^ now.mode) & 0o777 == 0,
                _ => false,
            };
            self.same(path, left.state.as_ref(), now) || is_inexact && is_alike()
        };
        left.filter(is_it).map(|left| &left.shows)
    }

    /// Returns true if a path only became a name of another file, and the session had left it as it was. `is_there` tells whether a file with an
    /// inode is there: in a copy of the tree all files are others.
    pub(super) fn is_linked_later(&self, change: &Change, is_there: &dyn Fn(u64) -> bool) -> bool {
        let (Some(then), Some(now)) = (&change.from, &change.to) else {
            return false;
        };
        let last = self.last.as_ref().and_then(|last| last.entry(&change.path));
        let was_left = |last: &Entry| match last.ino == now.ino {
            // Only which path is the first name of the file has changed.
            true => now.link.is_some() && last.link == then.link && then.link != now.link,
            false => last.ino == then.ino && is_there(last.ino),
        };
        same(Some(then), Some(now)) && !self.left.contains_key(&change.path) && last.is_some_and(was_left)
    }

    /// Returns the last state of the files that jackin saw while the session may have changed them, with its snapshot.
    pub(super) fn last_seen(&self) -> Option<(&Manifest, &SnapshotId)> {
        if let Some(last) = self.last.as_ref().zip(self.last_snapshot.as_ref()) {
            return Some(last);
        }
        let (id, manifest) = self.shown_at_rest().or(self.live.first())?;
        Some((manifest, id))
    }

    /// Returns the state in which the agent left the files, if it did nothing since, and no closing snapshot shows the end.
    fn at_rest(&self) -> Option<&Manifest> {
        let shown = self.shown_at_rest().filter(|_| self.last.is_none());
        shown.map(|(_, manifest)| manifest)
    }

    /// Returns the snapshot after which the agent did nothing, among those that were taken while the session lived.
    fn shown_at_rest(&self) -> Option<&(SnapshotId, Manifest)> {
        let rest = self.timeline.at_rest.as_ref()?;
        self.live.iter().find(|(live, _)| live == rest)
    }

    /// Returns true if `manifest` shows `path` in the state `now`; false if it does not cover `path`.
    fn known(&self, manifest: &Manifest, path: &RelPath, now: Option<&Entry>) -> bool {
        is_known(manifest, path) && self.same(path, manifest.entry(path), now)
    }

    /// Returns true if the session's last snapshot shows what an interrupted restore had made of the path, and `now` is what was there
    /// before that.
    fn came_back(&self, last: &Manifest, path: &RelPath, now: Option<&Entry>) -> bool {
        let came_back = |restore: &RolledBack| {
            is_known(&restore.target, path)
                && self.known(last, path, restore.target.entry(path))
                && self.known(&restore.before, path, now)
        };
        self.rolled_back.iter().any(came_back)
    }

    /// Returns true if both are the same state, or an index of git that only was refreshed.
    fn same(&self, path: &RelPath, then: Option<&Entry>, now: Option<&Entry>) -> bool {
        let is_refreshed = || match (then, now) {
            (Some(then), Some(now)) => self.refreshed.holds(path, then, now),
            (None, Some(now)) => self.refreshed.made(path, now),
            _ => false,
        };
        same(then, now) || is_refreshed()
    }

    /// Returns true if something would go, or be replaced, that others than the session may have made elsewhere.
    fn moves_foreign(&self, path: &RelPath, then: Option<&Entry>, now: Option<&Entry>) -> bool {
        let content = |entry: &Entry| entry.content().map(|content| content.digest);
        now.is_some_and(|now| {
            let is_foreign = then.and_then(content) != content(now) && self.timeline.is_foreign(now);
            is_foreign || self.timeline.is_moved_work(path, now)
        })
    }

    /// Returns true if the session, or the step that is reverted, made all changes of a path since the target that are in `last`.
    pub(super) fn is_of_session(&self, path: &RelPath, then: Option<&Entry>) -> bool {
        match self.timeline.author(path, then, None) {
            Author::Session => true,
            Author::Others(others) | Author::Both(others) => self.of_step && others.is_empty(),
        }
    }

    /// Returns true unless it is known that the session left a path as unreadable as the target found it: then it was opened later.
    /// An undo reverts a restore, which touches no such path.
    pub(super) fn may_have_opened(&self, path: &RelPath) -> bool {
        let last = self.last.as_ref().or_else(|| self.at_rest());
        !self.only_left && last.is_none_or(|last| last.gap(path).is_none())
    }

    /// Returns true if the last snapshot of the session does not show a path: its state may be a later edit.
    pub(super) fn has_not_seen(&self, path: &RelPath) -> bool {
        let last = self.last.as_ref().or_else(|| self.at_rest());
        !self.only_left && last.is_none_or(|last| !is_known(last, path))
    }

    /// Returns the known contents of a path.
    pub(super) fn contents(&self, path: &RelPath) -> Vec<&Content> {
        let snapshots = self.last.iter().chain(self.live.iter().map(|(_, live)| live));
        let states = snapshots.filter_map(|manifest| manifest.entry(path));
        let left = self.left.get(path).into_iter().flatten();
        let left = left.filter_map(|left| left.state.as_ref());
        states.chain(left).filter_map(Entry::content).collect()
    }
}
