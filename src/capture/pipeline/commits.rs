//! Work trees recorded as commits instead of files, and the recorded facts of repositories.

use std::collections::{BTreeMap, BTreeSet};

use super::Capture;
use crate::capture::repositories::{Settled, is_stale, settle, survey};
use crate::capture::walk::{Skipped, Walked};
use crate::model::{Coverage, Manifest, MountRecord, RelPath, RepositoryFacts, SnapshotKind};
use handle_fs::Root;

/// A mount that was read.
pub(super) struct Read<'a> {
    /// Its number among the mounts.
    pub(super) at: usize,
    pub(super) root: &'a Root,
    pub(super) manifest: &'a Manifest,
    pub(super) left_out: &'a [Skipped],
    /// Clean work trees found before anything was read.
    pub(super) settled: Option<&'a Settled>,
    /// Repositories that were walked again, each with its doubt, if any.
    pub(super) again: &'a BTreeMap<RelPath, Option<String>>,
}

impl Capture<'_> {
    /// Returns true if the commits of a mount's clean work trees may be recorded instead of their files.
    pub(super) fn by_commit(&self, coverage: &Coverage) -> bool {
        self.by_commit && coverage.by_commit && !self.is_kept(coverage)
    }

    /// Returns the content of each mount that its commits hold; `None` for a mount that records files or did not change. Returns
    /// `None` if the capture must start again: a snapshot that relied on a commit is followed by one that does not.
    pub(super) fn settled(&self, walks: &[Option<(Root, Walked)>]) -> Option<Vec<Option<Settled>>> {
        let mounts = (0..).zip(self.request.coverages).zip(walks);
        let mut all = Vec::new();
        for ((at, coverage), walked) in mounts {
            let settled = walked
                .as_ref()
                .and_then(|(root, walked)| self.settle(at, coverage, root, walked));
            if self.known.is_by_commit(at) && settled.as_ref().is_some_and(Settled::is_nothing) {
                return None;
            }
            all.push(settled);
        }
        Some(all)
    }

    fn settle(&self, at: usize, coverage: &Coverage, root: &Root, walked: &Walked) -> Option<Settled> {
        if !self.by_commit(coverage) {
            return None;
        }
        let skipped = paths(&walked.skipped);
        let same = || {
            self.known
                .same(at, coverage, walked.started_at, &walked.manifest, (true, false))
        };
        let is_known = |record: MountRecord| !is_stale(record.git.as_deref(), &skipped);
        if walked.pending.is_empty() && same().is_some_and(|(record, _)| is_known(record)) {
            return None;
        }
        Some(settle(root, &walked.manifest, &skipped, self.known.before(at)))
    }

    /// Returns the facts of a mount's repositories. `before` holds those of an exactly equal state of the mount.
    pub(super) fn repositories(
        &self,
        read: &Read<'_>,
        is_same: bool,
        before: Option<Vec<RepositoryFacts>>,
    ) -> Option<Vec<RepositoryFacts>> {
        let skipped = paths(read.left_out);
        let surveyed = read.settled.filter(|_| read.again.is_empty());
        let mut found = if let Some(settled) = surveyed {
            let mut facts = settled.facts.clone();
            // Archives have all of it already.
            facts.iter_mut().for_each(|facts| facts.by_commit &= !is_same);
            Some(facts)
        } else if read.settled.is_some() || is_stale(before.as_deref(), &skipped) {
            // An emergency snapshot is there to be gone back to.
            let wanted = self.request.kind != SnapshotKind::Emergency;
            wanted.then(|| {
                survey(
                    read.root,
                    read.manifest,
                    &skipped,
                    self.known.before(read.at),
                    true,
                )
            })
        } else {
            // What is exactly as it was has the repositories that it had.
            before
        };
        for facts in found.iter_mut().flatten() {
            if let Some(Some(why)) = read.again.get(&facts.own) {
                facts.unsteady = Some(why.clone());
                facts.doubt(why.clone());
            }
        }
        found
    }
}

fn paths(skipped: &[Skipped]) -> BTreeSet<&RelPath> {
    skipped.iter().map(|skipped| &skipped.path).collect()
}
