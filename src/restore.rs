//! Restore: a plan that is made, shown, and then carried out. Until the crash journal comes, what is carried out is
//! renames of staged content, taken back in the same process on any surprise; no path is ever torn.

mod apply;
mod aside;
mod attribution;
mod build;
mod execute;
mod history;
mod moves;
mod names;
mod plan;
mod prepare;
mod propose;
mod shared;
mod stage;
mod to_directory;
mod work;

use std::io;
use std::path::PathBuf;

pub use attribution::{Verdict, Witness};
pub use execute::{Acting, Failed, MountReport, Outcome, Report, execute};
pub use history::{of_instance, of_restore};
pub use plan::{Action, Allow, Kept, Plan, Scope, Step, Why, plan};
pub use propose::{MountRequest, Proposal, ProposedMount, Purpose, propose};
pub use stage::Location;
pub use to_directory::{Written, write_to};

use crate::capture::CaptureError;
use crate::snapshot::{Digest, RelPath};
use crate::store::StoreError;

/// Why a restore failed. Unless the text says otherwise, nothing below the mounts has changed.
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
    /// The staging directory cannot be used.
    #[error("{} cannot be used for staging: {source}", path.display())]
    Stage {
        /// The staging directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Not enough room to write the new content beside the old.
    #[error("{} bytes are needed in {} and {free} are free", need, path.display())]
    Space {
        /// Where.
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
        /// What the system says.
        source: io::Error,
    },
    /// Stored content cannot be read.
    #[error("the stored content of {path:?} cannot be read: {source}")]
    Content {
        /// Below the mount root.
        path: RelPath,
        /// What is wrong.
        source: StoreError,
    },
    /// Stored content is not what it was.
    #[error("the stored content of {path:?} is damaged (digest {digest})")]
    Damaged {
        /// Below the mount root.
        path: RelPath,
        /// What it should be.
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
        /// What the system says.
        source: io::Error,
    },
    /// Taking back failed as well.
    #[error(
        "{cause}; taking back what was done failed at {}: {source}; what was moved aside lies in {}",
        path.display(), aside.display()
    )]
    RollBack {
        /// Why the restore stopped.
        cause: Box<RestoreError>,
        /// Where taking back stopped.
        path: PathBuf,
        /// Where the old objects lie.
        aside: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The staging directory cannot be removed.
    #[error("{} cannot be removed: {source}", path.display())]
    Settle {
        /// The staging directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another file system was mounted over the root.
    #[error("another file system is mounted over {}; what was captured lies hidden below it", path.display())]
    MountedOver {
        /// The mount root.
        path: PathBuf,
    },
    /// A restore that stopped left something in a staging directory.
    #[error("{cause}; {left}")]
    Left {
        /// Why it stopped.
        cause: Box<RestoreError>,
        /// What stays, and where.
        left: Box<RestoreError>,
    },
    /// Files were put back, and the receipt could not be written: no `undo` knows of it.
    #[error(
        "the files were put back, but no receipt could be written ({source}); what was there before is in {emergency}"
    )]
    Unrecorded {
        /// The emergency snapshot.
        emergency: crate::snapshot::SnapshotId,
        /// What the store says.
        source: StoreError,
    },
    /// The mount root cannot be opened.
    #[error(transparent)]
    Mount(#[from] crate::mount::MountError),
    /// The snapshot is incomplete and the operator asked for a complete one.
    #[error("snapshot {0} is not complete")]
    Incomplete(crate::snapshot::SnapshotId),
    /// The directory for `--to` is not absent or empty.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
}

#[cfg(test)]
mod tests;
