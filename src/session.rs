//! Sessions: an instance from its beginning to its end, whether it lives, and who may do what while it does.

mod begin;
mod checkpoints;
mod containers;
mod deferred_baseline;
mod end;
mod forks;
mod guard;
mod import;
mod import_replica;
mod liveness;
mod mounts;
mod recovery;
mod select;

pub use begin::{BeginRequest, Begun, begin};
pub use checkpoints::{CheckpointRequest, checkpoint, checkpoint_if_changed};
pub use containers::Docker;
pub use deferred_baseline::{
    DeferredBaseline, LimitsOf, ThawedEnd, awaited, forget_frozen, forgettable, give_up_stuck, is_awaited,
    store_baseline, store_deferred_baselines, stuck,
};
pub use end::{Closed, EndRequest, close_orphaned_sessions, close_orphaned_sessions_on, end};
pub use forks::{check_branch, forked_from};
pub use guard::{
    Allowed, ensure_idle, ensure_no_overlap, ensure_outside_session, is_inside, overlap, refuse_living,
    sessions_of_caller,
};
pub use import::{ImportRequest, import};
pub use import_replica::{AdoptError, AdoptRequest, Adopted, adopt};
pub use liveness::{LivenessProbe, Reason, State, is_active, state, state_by};
pub use mounts::recorded_mounts;
pub use recovery::{is_torn, recover_interrupted_restores, roots};
pub use select::{check_name, find_before, find_called, find_instance, find_snapshot};

use std::path::Path;

use crate::capture::CaptureError;
use crate::clock::{Clock, Entropy};
use crate::model::{InstanceId, PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;
use crate::store::StoreError;

/// Clock, randomness, observer and user of a session operation.
#[derive(Clone, Copy)]
pub struct Services<'a> {
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// Wall clock.
    pub clock: &'a dyn Clock,
    /// Randomness.
    pub entropy: &'a dyn Entropy,
    /// Numeric user.
    pub uid: u32,
}

/// Error of a session operation.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An interrupted restore waits, or could not be cleared up.
    #[error(transparent)]
    Restore(#[from] crate::restore::RestoreError),
    /// The baseline could not be taken, and the contract says to block then.
    #[error("the baseline could not be taken: {source}")]
    Baseline {
        /// The instance that never began.
        instance: InstanceId,
        /// Error of the capture.
        source: Box<CaptureError>,
    },
    /// A snapshot could not be taken.
    #[error("the {kind} snapshot of {instance} could not be taken: {source}")]
    Capture {
        /// Its kind.
        kind: &'static str,
        /// The instance.
        instance: InstanceId,
        /// Error of the capture.
        source: Box<CaptureError>,
    },
    /// An agent of jackin's may be at work on the same paths.
    #[error("jackin's container {container:?} may be at work on the same paths")]
    Container {
        /// Its name.
        container: String,
        /// Reasons, in words.
        reasons: Vec<String>,
        /// The file that tells nothing, when that is the reason.
        unread: Option<std::path::PathBuf>,
    },
    /// No instance goes by this name.
    #[error("there is no instance {wanted:?}")]
    Unknown {
        /// Name that was asked for.
        wanted: String,
        /// Ids that come close, the closest first.
        nearest: Vec<String>,
        /// True if any session is recorded.
        some_recorded: bool,
    },
    /// jackin's container has no session of its own, and its workspace has several containers.
    #[error(
        "no session began for jackin's container {container:?}, and it is not the only one of the workspace {workspace:?}"
    )]
    OfContainer {
        /// Its name.
        container: String,
        /// Its workspace.
        workspace: String,
    },
    /// Several instances go by this name.
    #[error("{wanted:?} stands for several instances")]
    Ambiguous {
        /// Name that was asked for.
        wanted: String,
        /// Their ids, newest first.
        candidates: Vec<String>,
    },
    /// No snapshot of the instance goes by this name.
    #[error("{instance} has no snapshot {wanted:?}")]
    NoSnapshot {
        /// The instance.
        instance: InstanceId,
        /// Name that was asked for.
        wanted: String,
        /// Names of the snapshots that exist.
        known: Vec<String>,
    },
    /// A snapshot that is meant, or may be, has a record that is lost or cannot be read.
    #[error("{instance} has no snapshot {wanted:?} that can be used: {source}")]
    Hurt {
        /// The instance.
        instance: InstanceId,
        /// Name that was asked for.
        wanted: String,
        /// Snapshots of the session with damaged records that the name may stand for, newest first.
        hurt: Vec<SnapshotId>,
        /// Error of the first of these snapshots.
        source: Box<StoreError>,
    },
    /// The snapshot was pruned.
    #[error("{} of {instance} was pruned", snapshot.called())]
    Pruned {
        /// The instance.
        instance: InstanceId,
        /// Data of the pruned snapshot.
        snapshot: Box<PrunedSnapshot>,
        /// The receipt that tells of it.
        receipt: u64,
    },
    /// A checkpoint of the session has this name already.
    #[error("{instance} has a checkpoint {name:?} already")]
    NameTaken {
        /// The instance.
        instance: InstanceId,
        /// The name.
        name: String,
    },
    /// A checkpoint of the session had this name and was pruned.
    #[error(
        "the checkpoint {name:?} of {instance} was given up at {} (receipt {receipt}); its name stands for no other",
        at.rfc3339()
    )]
    NamePruned {
        /// The instance.
        instance: InstanceId,
        /// The name.
        name: String,
        /// The receipt that tells of it.
        receipt: u64,
        /// Time of the pruning.
        at: Time,
    },
    /// The snapshot before a step was pruned.
    #[error("what {snapshot} of {instance} changed is not known any more: the snapshot before it was pruned")]
    StepPruned {
        /// The instance.
        instance: InstanceId,
        /// The snapshot that the step led to.
        snapshot: SnapshotId,
    },
    /// There is nothing before a snapshot.
    #[error("{snapshot} of {instance} is no step: nothing of the session comes before it")]
    NoStep {
        /// The instance.
        instance: InstanceId,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// A session may go back to its own checkpoints, and to nothing else.
    #[error("inside {0} only its own checkpoints can be restored")]
    OnlyCheckpoints(InstanceId),
    /// The instance ended before.
    #[error("{0} has already ended")]
    AlreadyEnded(InstanceId),
    /// The instance, or another one on the same paths, lives.
    #[error("{instance} is active")]
    Active {
        /// Active session.
        instance: InstanceId,
        /// True if it is another session than the one that was asked for.
        other: bool,
        /// Reasons why it counts as active.
        reasons: Vec<Reason>,
    },
    /// The caller is inside a session.
    #[error("this is not allowed from inside the session {0}")]
    Inside(InstanceId),
    /// A checkpoint name that cannot be used.
    #[error("{name:?} cannot be a checkpoint's name: {why}")]
    CheckpointName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
    /// A branch's name that cannot be used.
    #[error("{name:?} cannot be a branch's name: {why}")]
    BranchName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
}

/// Returns true if one path is the other or lies below it, so that a process at one may write at the other.
fn touch(a: &Path, b: &Path) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

#[cfg(test)]
mod tests;
