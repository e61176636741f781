//! The proposal: the plans of all mounts, with what they were made from.

use std::collections::{BTreeMap, BTreeSet};

use super::attribution::ChangeHistory;
use super::head_move::HeadMove;
use super::lost_edits::LostEdit;
use super::merging::Unmerged;
use super::plan::{KeptPath, Plan, Why};
use super::scope::{Allow, Scope};
use super::stage::Location;
use crate::capture::{Note, PrivateOverlay, ScannedTree, Skipped};
use crate::contract::{PrivateFiles, Verdict};
use crate::diff::{NotCovered, WithheldChange, WithheldKind};
use crate::model::{AsideStep, Coverage, GapReason, Listing, Manifest, RelPath, SnapshotRecord, StepRef};
use crate::store::{Blobs, Store};
use handle_fs::remote::Transports;

/// Purpose of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `restore`.
    Restore,
    /// `restore` of this step alone.
    Step(StepRef),
    /// `undo` of the receipt with this number.
    Undo(u64),
}

/// Request for one mount of the target snapshot.
pub struct MountRequest {
    /// Its coverage, as the snapshot froze it.
    pub coverage: Coverage,
    /// Paths to restore.
    pub scope: Scope,
    /// Evidence about who changed each path.
    pub witness: ChangeHistory,
}

/// One mount with its plan and everything that the plan was made from.
pub struct ProposedMount {
    /// Request that the plan was made for.
    pub request: MountRequest,
    /// State to restore; `None` if the root did not exist.
    pub target: Option<Manifest>,
    /// Current state.
    pub now: ScannedTree,
    /// True if the mount root is another directory than the one in the target.
    pub is_recreated: bool,
    /// Changes to make.
    pub plan: Plan,
    /// Changes that the plan makes to HEAD of each repository.
    pub heads: Vec<HeadMove>,
    /// Location of the staging directory.
    pub location: Location,
    /// Connections to the machine of the mount.
    pub transports: Transports,
    /// Excluded paths that changed since the snapshot: they are not touched, and what they hold is not vouched for.
    pub not_checked: Vec<Skipped>,
    /// Excluded directories that go aside or come back.
    pub aside: Vec<AsideStep>,
    /// Paths that were not asked for and belong to one that was: the other side of a rename, or a file of the same database.
    pub also: Vec<RelPath>,
    /// Paths that stay because another one was excluded from the restore, each with that: the other side of a rename.
    pub parted: Vec<(RelPath, RelPath)>,
    /// Credentials that changed since the snapshot: no snapshot holds them, and none is touched.
    pub withheld: Vec<WithheldChange>,
    /// Paths among them that a snapshot of the session has encrypted, and that the missing key would open.
    pub encrypted: BTreeSet<RelPath>,
    /// Paths that the operator named.
    pub named: Vec<RelPath>,
    /// Secrets in settings files that do not come back, or go.
    pub notes: Vec<Note>,
    /// Content that is in no archive as it is restored.
    pub reveal: PrivateOverlay,
    /// Files that the plan replaces or deletes and that a process has open for writing.
    pub open_files: Vec<OpenFile>,
    /// The operator's edits between turns that the session overwrote or deleted, and that do not come back.
    pub lost_edits: Vec<LostEdit>,
    /// True if a merge was not asked for, and would resolve a conflict, as far as that is known without merging.
    pub may_merge: bool,
    /// Files with later edits that could not be merged.
    pub unmerged: BTreeMap<RelPath, Unmerged>,
}

impl ProposedMount {
    /// Returns the number of files in which a later edit and the session's change are in conflict: those that stay, and those that
    /// get conflict markers.
    pub(super) fn conflicts(&self) -> u64 {
        let composed = self.request.witness.composed.values();
        let marked = composed.filter(|file| file.marked() > 0).count();
        (self.plan.conflicts.len() + marked) as u64
    }

    /// Returns true if there is anything to do on this mount.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.plan.steps.is_empty() || !self.aside.is_empty()
    }

    /// Returns true for a path that was to be restored, and was forgotten: one that an undone restore changed, or one that is asked for by
    /// its name.
    fn is_forgotten(&self, gap: &NotCovered, is_undo: bool) -> bool {
        let mut named = self.request.scope.named().iter();
        let mut left = self.request.witness.left.keys();
        // The path may be a directory of which the restore changed something.
        gap.reason == GapReason::Forgotten.words()
            && (is_undo && left.any(|path| path.is_within(&gap.path))
                || named.any(|path| path.is_within(&gap.path)))
    }

    /// Settings that stay although they are not what they were: they cannot be put together.
    pub fn left_alone(&self) -> impl Iterator<Item = &WithheldChange> {
        let whole = self
            .withheld
            .iter()
            .filter(|change| change.kind != WithheldKind::Secret);
        let goes = |path: &RelPath| self.aside.iter().any(|step| step.path == *path);
        let private = PrivateFiles::of(&self.request.coverage);
        whole.filter(move |change| private.is_by_key(&change.path) && !goes(&change.path))
    }

    /// The paths that are not what they were, or may not be, and that cannot be restored: those that cannot be examined now, and those that
    /// the snapshot could not read and that are gone, or that the session replaced or made readable.
    pub fn hidden(&self) -> impl Iterator<Item = &NotCovered> {
        let gaps = self.plan.not_covered.iter();
        gaps.filter(|gap| self.is_hidden(gap))
    }

    fn is_hidden(&self, gap: &NotCovered) -> bool {
        let path = &gap.path;
        let Some(entry) = self.target.as_ref().and_then(|target| target.entry(path)) else {
            // What was opened since the session is named with the gaps of the snapshot. A mount that came since is another tree.
            if self.was_unreadable(path) {
                return self.request.witness.may_have_opened(path);
            }
            let now = self.now.manifest.as_ref();
            let is_there = now.is_some_and(|now| now.entry(path).is_some());
            let is_new = !self.target.iter().any(|target| target.gap(path).is_some());
            let listing = now.and_then(|now| now.directory(path));
            let is_closed = listing.is_some_and(|dir| dir.listing == Listing::Unreadable);
            return is_new && is_closed
                || gap.is_one_sided && !is_there && gap.reason != GapReason::MountPoint.words();
        };
        let listing = self.target.as_ref().and_then(|target| target.directory(path));
        let is_listed = listing.is_some_and(|dir| dir.listing == Listing::Proven);
        let now = self.now.manifest.as_ref().and_then(|now| now.entry(path));
        let is_other = now.is_some_and(|now| !now.is_dir());
        !entry.is_dir() || is_listed || is_other || self.is_gone(path)
    }

    /// Returns true if nothing is at a path now.
    #[must_use]
    pub fn is_gone(&self, path: &RelPath) -> bool {
        let now = self.now.manifest.as_ref();
        now.is_none_or(|now| now.entry(path).is_none() && now.gap(path).is_none())
    }

    /// Returns true if the snapshot could not read a path, and it can be read now.
    #[must_use]
    pub fn was_unreadable(&self, path: &RelPath) -> bool {
        let now = self.now.manifest.as_ref();
        let gap = self.target.as_ref().and_then(|target| target.gap(path));
        gap.is_some_and(|gap| matches!(gap.reason, GapReason::Unreadable(_)))
            && now.is_some_and(|now| now.entry(path).is_some())
    }

    /// The paths of the target at which a directory stays, each with what this directory holds that the excludes of the target match.
    pub fn barred(&self) -> impl Iterator<Item = (&KeptPath, &RelPath)> {
        let excludes = self.request.witness.excludes.as_ref();
        let is_excluded = move |held: &RelPath| {
            let verdicts = [true, false].map(|is_dir| excludes.map(|all| all.verdict(held, is_dir)));
            verdicts
                .iter()
                .any(|verdict| matches!(verdict, Some(Verdict::Excluded(_))))
        };
        self.plan.kept.iter().filter_map(move |kept| match &kept.why {
            Why::Holds(held) if kept.change.from.is_some() && is_excluded(held) => Some((kept, held)),
            _ => None,
        })
    }
}

/// File that a process has open for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFile {
    /// The file; one of its names.
    pub path: RelPath,
    /// Number of the process.
    pub pid: u32,
    /// Name that the process gives itself.
    pub program: String,
}

/// The proposal for all mounts.
pub struct Proposal {
    /// The snapshot whose state comes back.
    pub target: SnapshotRecord,
    /// Purpose of the restore.
    pub purpose: Purpose,
    /// Permissions that the operator gave.
    pub allow: Allow,
    /// True if a private file that stays encrypted makes the restore incomplete, also if its path was not named.
    pub requires_key: bool,
    /// The mounts.
    pub mounts: Vec<ProposedMount>,
}

impl Proposal {
    /// Returns the contents of the target, with those that no archive holds in the form that is shown.
    #[must_use]
    pub fn contents(&self, store: &Store) -> Blobs {
        let lent = self.mounts.iter().map(|mount| mount.reveal.lent());
        lent.fold(store.contents(&self.target), Blobs::lending)
    }

    /// Returns true if there is nothing to do on any mount.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.mounts.iter().any(ProposedMount::is_busy)
    }

    /// Returns true if a path stays in any case, or gets conflict markers: it has a later edit, or jackin cannot examine or restore it.
    #[must_use]
    pub fn is_in_part(&self) -> bool {
        let stays = |mount: &ProposedMount| mount.conflicts() > 0 || self.untouched(mount) > 0;
        self.mounts.iter().any(stays)
    }

    /// Returns the number of paths that stay for another reason than a later edit.
    ///
    /// jackin cannot examine them or put them together, or the undo would need the key that the restore had. An undo also counts
    /// the paths that it cannot change: it promises the state before the restore. A restore leaves those to rules that it states, but for
    /// a forgotten or encrypted path that is asked for, and one where a directory is in the way that holds something excluded.
    pub(super) fn untouched(&self, mount: &ProposedMount) -> u64 {
        let is_undo = matches!(self.purpose, Purpose::Undo(_));
        let whole = mount
            .withheld
            .iter()
            .filter(|change| change.kind != WithheldKind::Secret);
        let private = match is_undo {
            true => whole.count(),
            false => {
                let alone: BTreeSet<&RelPath> = mount.left_alone().map(|change| &change.path).collect();
                let is_wanted = |path: &RelPath| self.requires_key || mount.named.contains(path);
                let is_missed = |path: &RelPath| mount.encrypted.contains(path) && is_wanted(path);
                let lacks = whole.filter(|change| alone.contains(&change.path) || is_missed(&change.path));
                lacks.count()
            }
        };
        let is_stuck = |why: &Why| {
            matches!(
                why,
                Why::Closed | Why::Holds(_) | Why::Socket | Why::Root | Why::Excluded
            )
        };
        let is_parted = |why: &Why| {
            matches!(
                why,
                Why::Database(_) | Why::Format(_) | Why::Moved(_) | Why::Repository(_)
            )
        };
        let kept = mount.plan.kept.iter();
        let stuck = match is_undo {
            true => kept.clone().filter(|kept| is_stuck(&kept.why)).count(),
            false => mount.barred().count(),
        };
        let stuck = stuck + kept.filter(|kept| is_parted(&kept.why)).count();
        let lost = mount.plan.not_covered.iter();
        let lost = lost.filter(|gap| mount.is_forgotten(gap, is_undo)).count();
        (mount.hidden().count() + private + stuck + lost + mount.lost_edits.len()) as u64
    }
}
