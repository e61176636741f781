//! Capture: a mount becomes a snapshot in the store. The same walk, without the storing, is what diff and restore see
//! of the live tree.

mod contents;
mod facts;
mod fs_snapshot;
mod limit;
mod listing;
mod live_scan;
mod mounted;
mod pack;
mod parent;
mod pipeline;
mod private;
mod readahead;
mod remote_compare;
mod repositories;
mod source;
mod walk;

use std::io;
use std::path::PathBuf;

pub use contents::HashOnly;
pub(crate) use facts::{entry as entry_of, is_gone, same_moment, words};
pub use fs_snapshot::{Frozen, SnapshotAttempt, freeze};
pub use limit::Big;
pub use live_scan::{LiveScan, ScannedTree, look, observe, read_back};
pub use mounted::{check_mount, check_mounted};
pub(crate) use mounted::{missing as missing_mount, record as mount_record};
pub(crate) use parent::Latest;
pub use pipeline::{Captured, CountChanges, Request, take, take_from, take_with};
pub use private::{Loss, Note, PrivateFile, PrivateOverlay, Show};
pub use remote_compare::{UNCHANGED, answer};
pub use repositories::{repository_summary, tracked_by_git};
pub use source::{ContentSource, LayoutHasher};
pub use walk::{Earlier, Skipped};

use crate::store::StoreError;
use crate::store::archive::ArchiveError;
use handle_fs::MountError;

/// Upper limits for one capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Entries over all mounts.
    pub max_entries: u64,
    /// Bytes of data over all mounts.
    pub max_bytes: u64,
}

impl Limits {
    /// No limit, for scans that store nothing.
    pub const NONE: Self = Self {
        max_entries: u64::MAX,
        max_bytes: u64::MAX,
    };
}

/// Reason for a failed capture. The store keeps nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The operator stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The mount cannot be used.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The mount root cannot be listed.
    #[error("{} cannot be listed: {source}", path.display())]
    Root {
        /// The mount root.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The mount is larger than agreed.
    #[error(
        "{} holds more than the limit of {limit} {}",
        path.display(),
        match (entries, limit) {
            (true, 1) => "entry",
            (true, _) => "entries",
            (false, _) => "bytes",
        }
    )]
    Limit {
        /// The mount root.
        path: PathBuf,
        /// True if the limit counts entries, false if it counts bytes.
        entries: bool,
        /// The limit.
        limit: u64,
        /// The biggest directories so far.
        biggest: Vec<Big>,
    },
    /// The store may lack the room for the content that is not stored yet.
    #[error(
        "{} holds {need} bytes that are not stored yet, and {free} are free where the store lies: {}",
        path.display(), store.display()
    )]
    Room {
        /// The mount root; of several, the one that needs most.
        path: PathBuf,
        /// Bytes that have to be stored, before compression.
        need: u64,
        /// Bytes that are free.
        free: u64,
        /// Directory of the store.
        store: PathBuf,
        /// The biggest directories.
        biggest: Vec<Big>,
    },
    /// The archive cannot be written in the store's directory.
    #[error("the new archive cannot be written in {}: {source}", store.display())]
    Unwritten {
        /// Directory of the store.
        store: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The excludes of the coverage cannot be used.
    #[error("the excludes of {} cannot be used: {reason}", path.display())]
    Excludes {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        reason: String,
    },
    /// A file-system snapshot is required, and cannot be made.
    #[error("{} cannot be frozen by a snapshot of its file system: {why}", path.display())]
    NotFrozen {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Write(io::Error),
    /// Credentials cannot be encrypted.
    #[error("the credentials in {} cannot be encrypted: {reason}", path.display())]
    Seal {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        reason: String,
    },
    /// The archive layer failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Stored content is missing or differs when it is read back.
    #[error("snapshot {snapshot} does not read back: {reason}")]
    ReadBack {
        /// ID of the snapshot.
        snapshot: crate::model::SnapshotId,
        /// Reason, in words.
        reason: String,
    },
}

#[cfg(test)]
pub(crate) mod tests;
