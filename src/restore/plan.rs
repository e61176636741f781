//! The plan: what a restore will do to one mount, as data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::problem::Problem;
use crate::diff::{Change, NotCovered};
use crate::model::{RelPath, StepRef};

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is missing and is made again.
    Create,
    /// Something else is there and is replaced.
    Replace,
    /// It is there and is removed.
    Delete,
    /// Only mode, owner or attributes are restored, in place.
    Metadata,
}

/// One path that will change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Action on the path.
    pub action: Action,
    /// Difference at the path: `from` is the state to restore, `to` the current one.
    pub change: Change,
    /// A later edit is replaced or removed because the operator said so.
    pub overrode: bool,
    /// The other names of the file that is there, as far as the step concerns them.
    pub others: Others,
}

/// The other names of a file that a step changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Names inside the snapshot that stay with the file that is there, while the path of the step gets another one.
    pub parted_from: Arc<[RelPath]>,
    /// Number of names in no snapshot: excluded, or outside the mount. Replacing the file unlinks it from them; metadata set in place
    /// changes for them as well.
    pub outside: u32,
    /// Number of further such names that the file had in the target: it is made without them.
    pub unlinked: u32,
}

/// Point after which a later edit was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// The session: all that it did was seen.
    Session,
    /// The reverted step. It is unknown whether the session made the edit or something else.
    Step,
    /// The restore that is undone.
    Restore,
    /// The step that is reverted, by this step of the same session.
    LaterStep(StepRef),
}

/// Reason why a path that differs stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Changed afterwards, also a path that the session created.
    LaterEdit(After),
    /// Created afterwards.
    LaterFile(After),
    /// Deleted afterwards.
    LaterDeletion(After),
    /// No snapshot was taken when the session ended, with the reason when one is recorded.
    Unvouched(Option<String>),
    /// The snapshot that was taken when the session ended could not see it.
    Unseen,
    /// Two sessions changed it while both lived, or one of them did; without any other session, the operator changed it between turns
    /// as well.
    Shared(Vec<crate::model::InstanceId>),
    /// Other sessions changed it, or without any the operator between turns; this session did not.
    Others(Vec<crate::model::InstanceId>),
    /// A directory whose list is not complete.
    Closed,
    /// A directory that holds something which stays.
    Holds(RelPath),
    /// The directory it lies in stays what it is now.
    Parent(RelPath),
    /// An object or another part of a repository of which this path stays, which may need it.
    Needed(RelPath),
    /// A file of a database of which this one stays.
    Database(RelPath),
    /// A file of a repository of git that has another format now, and of which this path stays.
    Format(RelPath),
    /// A file of a repository of Mercurial or Jujutsu of which this one stays; or of a ref of git, of which this list stays.
    Repository(RelPath),
    /// HEAD, of which this branch stays.
    Names(RelPath),
    /// It has what was at this path, which is not restored, so it may be the only copy.
    Moved(RelPath),
    /// It is older than the snapshot, which lacks it: it was moved here, and may be the only copy.
    Older,
    /// It cannot be created beside this path: the directory takes both names for one.
    OneName(RelPath),
    /// It cannot be created: the file system takes no such name.
    Encoding,
    /// Only the program that listens on a socket can make it.
    Socket,
    /// The root of a mount is never removed.
    Root,
    /// Something of another type that the excludes name may have been there.
    Excluded,
    /// Its bytes are right; it was another name of a path that stays what it is now.
    Linked(RelPath),
    /// A directory that was set aside or restored has changed since.
    Aside(AsideWhy),
    /// Git stores what was there in another file, or has added to its storage: no object and no ref that the target has is missing.
    Stored,
    /// Another session's restore left it so, and this session never touched it: there is nothing to revert.
    Settled,
    /// Changed afterwards, and a merge would not change it: nothing that the session did to it is left.
    NothingToMerge(After),
}

/// Reason why an undo does not restore what was set aside, or does not set aside again what was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsideWhy {
    /// Something is at its path again. It lies here.
    Taken(PathBuf),
    /// The directory is no longer at this path.
    Gone(PathBuf),
    /// The directory that it was in is gone. It lies here.
    NoParent(PathBuf),
    /// The directory was restored and no longer exists.
    Missing,
    /// Something else is there than what was restored.
    Other,
    /// A mount begins in it.
    Holds(PathBuf),
    /// This path cannot be examined, for this reason.
    Unseen(PathBuf, Problem),
}

impl Why {
    /// Returns true if the operator decides what becomes of the path; false if it could only stay.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Socket
            | Self::Root
            | Self::Excluded
            | Self::Closed
            | Self::Holds(_)
            | Self::Settled
            | Self::Stored
            | Self::NothingToMerge(_)
            | Self::Linked(_)
            | Self::Needed(_)
            | Self::Database(_)
            | Self::Moved(_)
            | Self::Format(_)
            | Self::Repository(_)
            | Self::Names(_) => false,
            Self::Others(others) => others.is_empty(),
            _ => true,
        }
    }
}

/// A path that differs and stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPath {
    /// Difference at the path.
    pub change: Change,
    /// Reason why the path stays.
    pub why: Why,
}

/// The plan for one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Steps to perform, sorted by path.
    pub steps: Vec<Step>,
    /// Later edits that stay.
    pub conflicts: Vec<KeptPath>,
    /// Paths that stay for another reason.
    pub kept: Vec<KeptPath>,
    /// Paths whose state then or now is unknown, and which are therefore not touched.
    pub not_covered: Vec<NotCovered>,
    /// Git's own data, skipped as a whole, with the number of paths in it that differ.
    pub left_out: BTreeMap<RelPath, u64>,
}

impl Plan {
    /// Returns the changes of the steps and of the paths that stay.
    pub(super) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Change> {
        let steps = self.steps.iter_mut().map(|step| &mut step.change);
        let kept = self.conflicts.iter_mut().chain(&mut self.kept);
        steps.chain(kept.map(|kept| &mut kept.change))
    }
}
