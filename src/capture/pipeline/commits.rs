//! When the commit of a clean work tree is recorded instead of its files, and what is recorded of the repositories.

use std::collections::{BTreeMap, BTreeSet};

use super::Capture;
use crate::capture::repositories::{Settled, is_stale, settle, survey};
use crate::capture::walk::{Skipped, Walked};
use crate::model::{Coverage, Manifest, MountRecord, RelPath, RepositoryFacts, SnapshotKind};
use crate::mount::Root;

/// A mount that was read.
pub(super) struct Read<'a> {
    /// Its number among the mounts.
    pub(super) at: usize,
    pub(super) root: &'a Root,
    pub(super) manifest: &'a Manifest,
    pub(super) left_out: &'a [Skipped],
    /// What was found before anything was read.
    pub(super) settled: Option<&'a Settled>,
    /// The repositories that were walked again, with what is to be said of them.
    pub(super) again: &'a BTreeMap<RelPath, Option<String>>,
}

impl Capture<'_> {
    /// Whether the commits of a mount's clean work trees may be recorded instead of their files.
    pub(super) fn by_commit(&self, coverage: &Coverage) -> bool {
        self.by_commit && coverage.by_commit && !self.is_kept(coverage)
    }

    /// What of each mount its commits have, when that may be recorded instead of files; `None` also when nothing changed since.
    /// Nothing at all: a snapshot that relied on a commit has to be followed by one that does not, so everything begins anew.
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

    /// What is recorded of the repositories of a mount. `before` is what was recorded when the mount was exactly as it is.
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
