//! Attribution of a path's state. A restore may revert a path whose state was left by the session, or by a restore or undo of
//! jackin. Any other state is a later edit.

use std::collections::{HashMap, HashSet};

use super::git_index::RefreshedIndexes;
use crate::contract::{Matcher, Verdict as Excluded};
use crate::model::{Content, Entry, InstanceId, Manifest, RelPath, SnapshotId};

/// Evidence about the states that one mount went through.
#[derive(Default)]
pub struct ChangeHistory {
    /// The last snapshot taken while the session lived, when its end was seen.
    pub last: Option<Manifest>,
    /// Reason for the missing closing snapshot, if the session's end was recorded without one.
    pub missing: Option<String>,
    /// Snapshots taken while it lived, for when its end was not seen: the late closing proves nothing.
    pub live: Vec<Manifest>,
    /// States that our own restores and undos of this instance left, newest first; `None`: absent.
    pub left: HashMap<RelPath, Vec<Option<Entry>>>,
    /// Paths where our own restores left the right type and content, but not the right owner, mode or attributes.
    pub inexact: HashSet<RelPath>,
    /// States that restores and undos of other instances on the same files left.
    pub elsewhere: HashMap<RelPath, Vec<Option<Entry>>>,
    /// Paths that changed while another instance on the same files lived as well.
    pub shared: HashMap<RelPath, Vec<InstanceId>>,
    /// Indexes of git that differ from known states only in what git caches.
    pub refreshed: RefreshedIndexes,
    /// Snapshots that should vouch and cannot be read, with the reason.
    pub unreadable: Vec<(SnapshotId, String)>,
    /// The snapshot's own excludes. A path that they match as another type was excluded then, whatever it is now.
    pub excludes: Option<Matcher>,
    /// The session itself asks, and lives: whatever is there is its work, but for what it shares with others.
    pub owned: bool,
    /// Everything is the session's: an undo is asked to undo what a restore did, and only `left` is proof.
    pub only_left: bool,
    /// One step is reverted, and `last` is what it left: the session may have gone on.
    pub of_step: bool,
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
    /// Two sessions changed it while both lived.
    Shared(Vec<InstanceId>),
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
        let is_among = |left: &HashMap<RelPath, Vec<Option<Entry>>>| {
            left.get(path)
                .is_some_and(|states| states.iter().any(|state| self.same(path, state.as_ref(), now)))
        };
        if is_among(&self.left) || self.is_inexact(path, now) {
            return Verdict::Ours;
        }
        if self.only_left {
            return Verdict::Later;
        }
        if let Some(others) = self.shared.get(path) {
            return Verdict::Shared(others.clone());
        }
        if self.owned {
            return Verdict::Ours;
        }
        if let Some(last) = &self.last {
            if is_among(&self.elsewhere) && !self.known(last, path, now) && self.known(last, path, then) {
                return Verdict::Settled;
            }
            return if self.known(last, path, now) {
                Verdict::Ours
            } else {
                Verdict::Later
            };
        }
        // Putting back what is missing loses nothing.
        if now.is_none() || self.live.iter().any(|live| self.known(live, path, now)) {
            Verdict::Ours
        } else {
            Verdict::Unvouched
        }
    }
}

impl ChangeHistory {
    /// Returns true if `manifest` shows `path` in the state `now`; false if it does not cover `path`.
    fn known(&self, manifest: &Manifest, path: &RelPath, now: Option<&Entry>) -> bool {
        let then = manifest.entry(path);
        if then.is_none() && !is_absent(manifest, path) {
            return false;
        }
        self.same(path, then, now)
    }

    /// Returns true if both are the same state, or an index of git that only was refreshed.
    fn same(&self, path: &RelPath, then: Option<&Entry>, now: Option<&Entry>) -> bool {
        let is_refreshed = || match (then, now) {
            (Some(then), Some(now)) => self.refreshed.holds(path, then, now),
            _ => false,
        };
        same(then, now) || is_refreshed()
    }

    /// Returns the known contents of a path.
    pub(super) fn contents(&self, path: &RelPath) -> Vec<&Content> {
        let snapshots = self.last.iter().chain(&self.live);
        let states = snapshots.filter_map(|manifest| manifest.entry(path));
        let left = self.left.get(path).into_iter().flatten().flatten();
        states.chain(left).filter_map(Entry::content).collect()
    }

    /// Returns true if `now` has the content of a state of `path` that a restore left but could not make exact.
    fn is_inexact(&self, path: &RelPath, now: Option<&Entry>) -> bool {
        let alike = |state: &Option<Entry>| match (state, now) {
            (Some(state), Some(now)) => state.kind == now.kind,
            _ => false,
        };
        self.inexact.contains(path) && self.left.get(path).is_some_and(|states| states.iter().any(alike))
    }
}

/// Returns true if `manifest` shows `path` in another state than `then`; false if it does not cover `path`.
pub(super) fn differs(manifest: &Manifest, path: &RelPath, then: Option<&Entry>) -> bool {
    let is_known = manifest.entry(path).is_some() || is_absent(manifest, path);
    is_known && !same(manifest.entry(path), then)
}

/// Returns true if the manifest proves that there was nothing at `path`.
fn is_absent(manifest: &Manifest, path: &RelPath) -> bool {
    use crate::model::Listing;
    let mut on_the_way = path.ancestors().chain([path.clone()]).peekable();
    while let Some(above) = on_the_way.next() {
        let Some(dir) = manifest.directory(&above) else {
            return manifest.entry(&above).is_none_or(|entry| !entry.is_dir());
        };
        let Some((_, name)) = on_the_way.peek().and_then(RelPath::split) else {
            return false;
        };
        if dir.entry(&name).is_none() {
            return dir.gap(&name).is_none() && matches!(dir.listing, Listing::Proven | Listing::Partial);
        }
    }
    false
}

/// The same state, but for the hard link group: that is a matter between paths, not of one.
fn same(then: Option<&Entry>, now: Option<&Entry>) -> bool {
    match (then, now) {
        (None, None) => true,
        (Some(then), Some(now)) => then.kind == now.kind && then.same_metadata(now),
        _ => false,
    }
}
