//! Restore: a plan that is made, shown, and then carried out: staged, journaled, moved, decided. Whoever comes after a crash
//! finishes it or takes it back (`docs/internals/architecture.md` has the steps).

mod apply;
mod attribution;
mod build;
mod build_moves;
mod commit;
mod concurrent_changes;
mod execute;
mod export_tree;
mod file_identity;
mod fingerprint;
mod flags;
mod hard_links;
mod hidden;
mod history;
mod holding_dir;
mod identity;
mod intent;
mod io_error;
mod journal;
mod later_steps;
mod metadata;
mod mount_task;
mod move_executor;
mod move_state;
mod output_dir;
mod overlayfs;
mod plan;
mod planner;
mod proposal;
mod propose;
mod recovery;
mod reflink;
mod reopen;
mod report;
mod repositories;
mod rollback;
mod scope;
mod set_aside;
mod slot;
mod snapshot_manifest;
mod stage;
mod staging_cleanup;
mod temp_writable;
mod tree_writer;
mod verify;
mod workers;

use std::io;
use std::path::PathBuf;

pub use attribution::{ChangeHistory, Verdict};
pub use execute::execute;
pub use export_tree::{Written, take_away, write_to, write_verified};
pub use history::{of_instance, of_restore, of_step};
pub use output_dir::{OutputDir, is_empty};
pub use plan::{Action, After, AsideWhy, KeptPath, Others, Plan, Step, Why};
pub use planner::plan;
pub use proposal::{MountRequest, Proposal, ProposedMount, Purpose};
pub use propose::propose;
pub use recovery::{
    Cleared, TakenBack, abort, clear_up, damaged_journals, leave, pending, proposal, resume, settle,
};
pub use report::{Failed, MountReport, Outcome, Report};
pub use repositories::{Locked, refuse_locked};
pub use scope::{Allow, Scope};
pub use set_aside::{AsideError, bring_back, set_aside};
pub use stage::Location;

use crate::capture::CaptureError;
use crate::clock::Entropy;
use crate::model::{Digest, RelPath, Time};
use crate::observer::Observer;
use crate::store::StoreError;

/// Observer, user, time and options of a restore.
pub struct RestoreContext<'a> {
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// For names and ids.
    pub entropy: &'a dyn Entropy,
    /// Wall clock now.
    pub now: Time,
    /// Numeric user.
    pub uid: u32,
    /// The session itself asks, from within.
    pub inside: bool,
    /// Put recorded modification times back instead of new ones.
    pub exact_mtimes: bool,
}

/// Error of a restore. Unless its text says otherwise, nothing below the mounts has changed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The operator stopped it.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// Looking, or the emergency snapshot, failed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The emergency snapshot could not be taken or does not read back.
    #[error("the emergency snapshot failed, so nothing was changed: {0}")]
    Emergency(CaptureError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A process works on a repository that would change.
    #[error("{0}; nothing was changed")]
    Locked(Box<Locked>),
    /// The staging directory cannot be used.
    #[error("{} cannot be used for staging: {source}", path.display())]
    Stage {
        /// The staging directory.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// Not enough room to write the new content beside the old.
    #[error("{} bytes are needed in {} and {free} are free", need, path.display())]
    Space {
        /// Directory that will hold the staging directory.
        path: PathBuf,
        /// Bytes needed.
        need: u64,
        /// Bytes free.
        free: u64,
    },
    /// New content cannot be written.
    #[error("{path:?} cannot be staged: {source}")]
    Build {
        /// Below the mount root.
        path: RelPath,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// Stored content cannot be read.
    #[error("the stored content of {path:?} cannot be read: {source}")]
    Content {
        /// Below the mount root.
        path: RelPath,
        /// Error from the store.
        source: StoreError,
    },
    /// Stored content is not what it was.
    #[error("the stored content of {path:?} is damaged (digest {digest})")]
    Damaged {
        /// Below the mount root.
        path: RelPath,
        /// Digest that the content should have.
        digest: Digest,
    },
    /// The tree changed between plan and act.
    #[error("{} changed while the restore was under way; everything is as it was", path.display())]
    Drift {
        /// The host path.
        path: PathBuf,
    },
    /// A move failed for a reason that the next one would meet too.
    #[error("{} cannot be changed: {source}; everything is as it was", path.display())]
    Apply {
        /// The host path.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// The rollback failed as well, so the restore stays pending.
    #[error(
        "{}taking back what was done failed at {}: {source}; what was moved aside lies in {}",
        cause.as_ref().map(|cause| format!("{cause}; ")).unwrap_or_default(), path.display(), aside.display()
    )]
    RollBack {
        /// Reason for the rollback; `None` if the operator asked for it.
        cause: Option<String>,
        /// Path at which the rollback stopped.
        path: PathBuf,
        /// Directory that holds the old objects.
        aside: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// The restore stopped halfway and can be neither finished nor rolled back for now.
    #[error("{why}; the restore of {instance} waits, and some paths may be old and some new")]
    Waits {
        /// Reason for the stop.
        why: String,
        /// Session that the restore belongs to.
        instance: crate::model::InstanceId,
    },
    /// An interrupted restore waits on these mounts.
    #[error("a restore of {} was interrupted, and some paths may be old and some new", .0.instance)]
    Pending(Box<crate::model::Intent>),
    /// Another process finished an interrupted restore meanwhile.
    #[error("the restore of {} was finished by another process meanwhile", .0.instance)]
    Finished(Box<crate::model::Intent>),
    /// An interrupted restore had not touched anything yet.
    #[error("the restore of {} was interrupted before it changed anything", .0.instance)]
    NotBegun(Box<crate::model::Intent>),
    /// A path that a pending restore would change has changed since.
    #[error("{} changed since the restore of {instance} was interrupted; it waits, as it was", path.display())]
    Changed {
        /// The host path.
        path: PathBuf,
        /// Session that the restore belongs to.
        instance: crate::model::InstanceId,
    },
    /// The old object of a path is nowhere any more.
    #[error("what was at {} before is gone: somebody removed it while the restore waited", path.display())]
    Gone {
        /// The host path.
        path: PathBuf,
    },
    /// The mode or owner of a path was set while the restore waited. It counts as a later edit.
    #[error("the mode or the owner of {} was set while the restore waited, and stays", path.display())]
    Kept {
        /// The host path.
        path: PathBuf,
    },
    /// The staging directory of an interrupted restore is gone, and with it what was to come in.
    #[error("{} is gone, and what was staged in it", path.display())]
    StageGone {
        /// The staging directory.
        path: PathBuf,
    },
    /// The mount root is not the directory that an interrupted restore began in.
    #[error("{} is not the directory that the restore began in", path.display())]
    OtherRoot {
        /// The mount root.
        path: PathBuf,
    },
    /// The staging directory cannot be removed.
    #[error("{} cannot be removed: {source}", path.display())]
    Settle {
        /// The staging directory.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// A flag that was taken off could not be put back.
    #[error("{} had flags (lsattr) that could not be put back: {source}", path.display())]
    Unbound {
        /// The host path.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// Everything is done, and the last of it may not outlast a power loss.
    #[error("times and flags in {} may not outlast a power loss: {source}", path.display())]
    Lasting {
        /// The mount root.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// A restore that stopped left something in a staging directory.
    #[error("{cause}; {left}")]
    Left {
        /// Error that stopped the restore.
        cause: Box<RestoreError>,
        /// Error that names what stays, and its place.
        left: Box<RestoreError>,
    },
    /// Files were put back, and the receipt could not be written: until it is, no `undo` knows of it.
    #[error(
        "the files were put back, but no receipt could be written ({source}); what was there before is in {emergency}"
    )]
    Unrecorded {
        /// The emergency snapshot.
        emergency: crate::model::SnapshotId,
        /// Error from the store.
        source: StoreError,
    },
    /// The mount root cannot be opened.
    #[error(transparent)]
    Mount(#[from] handle_fs::MountError),
    /// The snapshot is incomplete and the operator asked for a complete one.
    #[error("snapshot {0} is not complete")]
    Incomplete(crate::model::SnapshotId),
    /// The directory for `--to` is not absent or empty.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
}

impl RestoreError {
    /// Returns the error text without the statement about the state of the tree.
    fn bare(&self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Drift { path } => format!("{} changed while the restore was under way", path.display()),
            Self::Apply { path, source } => format!("{} cannot be changed: {source}", path.display()),
            other => other.to_string(),
        }
    }

    /// Returns true if each later command tries to clean up what is left, and reports it until that succeeds.
    ///
    /// This includes foreign files in a staging directory. It excludes a directory that should be empty and gained an entry
    /// during its removal.
    fn may_settle_later(&self) -> bool {
        match self {
            Self::Settle { source, .. } => source.kind() != io::ErrorKind::DirectoryNotEmpty,
            Self::Stage { .. } | Self::Unbound { .. } | Self::Lasting { .. } => true,
            Self::Left { cause, left } => left.may_settle_later() || cause.has_left_some(),
            _ => false,
        }
    }

    /// Returns true if the stopped restore left something that the next command may clean up. Its journal is kept for that.
    fn has_left_some(&self) -> bool {
        matches!(self, Self::Left { .. }) && self.may_settle_later()
    }

    /// Returns true if the restore is neither finished nor rolled back. Its journal is kept for `resume` or `abort`.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        match self {
            Self::RollBack { .. }
            | Self::Waits { .. }
            | Self::Changed { .. }
            | Self::Pending(_)
            | Self::Unrecorded { .. } => true,
            Self::Left { cause, .. } => cause.is_pending(),
            _ => false,
        }
    }
}

/// Combines the error that stopped a restore with the error of the cleanup after it.
fn left(cause: RestoreError, settled: Result<(), RestoreError>) -> RestoreError {
    match settled {
        Ok(()) => cause,
        Err(left) => RestoreError::Left {
            cause: Box::new(cause),
            left: Box::new(left),
        },
    }
}

#[cfg(test)]
mod tests;
