//! Result of a restore, as data.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::plan::{Plan, Step};
use super::problem::Problem;
use crate::model::{AsideStep, Entry, RelPath, SnapshotId};

/// Outcome of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was planned was done, and nothing stood against it.
    Done,
    /// There was no difference that the restore may change, and nothing stood against it.
    Nothing,
    /// A conflict was kept, a path could not be changed, or a staging directory stays.
    Partial,
}

/// A path that could not be made what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Below the mount root.
    pub path: RelPath,
    /// Reason.
    pub problem: Problem,
}

/// State in which a restore left a path that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftThere {
    /// That of the target snapshot: what differs now, another process changed.
    Target,
    /// Its content, with these owner, mode, attributes and flags: others could not be set.
    Metadata(Box<Entry>),
    /// It could not be read.
    Unknown,
}

/// Result for one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountReport {
    /// Paths that could not be changed, or not exactly.
    pub failed: Vec<Failed>,
    /// Steps of failed paths that do not have their old state either, with what the restore left there.
    pub inexact: Vec<(Step, LeftThere)>,
    /// Excluded directories that went aside or came back.
    pub aside: Vec<AsideStep>,
}

impl MountReport {
    /// Returns the steps that were done: all steps of the plan except the failed ones.
    #[must_use]
    pub fn applied<'a>(&self, plan: &'a Plan) -> Cow<'a, [Step]> {
        if self.failed.is_empty() {
            return Cow::Borrowed(&plan.steps);
        }
        let failed: BTreeSet<&RelPath> = self.failed.iter().map(|failed| &failed.path).collect();
        let done = plan
            .steps
            .iter()
            .filter(|step| !failed.contains(&step.change.path));
        done.cloned().collect()
    }
}

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// In one word.
    pub outcome: Outcome,
    /// The snapshot of what was there before, when anything was changed.
    pub emergency: Option<SnapshotId>,
    /// Number of the receipt, when anything was changed.
    pub receipt: Option<u64>,
    /// The mounts, in the proposal's order.
    pub mounts: Vec<MountReport>,
    /// What could not be removed, with the reason, and after an interruption that the plan left something as it was.
    pub left: Vec<String>,
    /// True if a later command may still clean up some of that. The journal is kept for it.
    pub unsettled: bool,
    /// Mount roots whose file system cannot exchange names: each path that was replaced was missing for a moment.
    pub in_steps: Vec<std::path::PathBuf>,
    /// Number of restored files that share their blocks with another file.
    pub shared: u64,
}
