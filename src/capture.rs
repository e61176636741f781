//! Capture: a mount becomes a snapshot in the store. The same walk, without the storing, is what diff and restore see
//! of the live tree.

mod arrivals;
mod contents;
mod error;
mod excludes;
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

pub use contents::HashOnly;
pub use error::CaptureError;
pub(crate) use error::mount_hint;
pub(crate) use facts::{entry as entry_of, is_gone, same_moment, words};
pub use fs_snapshot::{Frozen, SnapshotAttempt, freeze};
pub use limit::Big;
pub use live_scan::{LiveScan, ScannedTree, look, observe, read_back};
pub use mounted::{check_containers, check_mount, check_mounted, shows_more};
pub(crate) use mounted::{missing as missing_mount, record as mount_record};
pub(crate) use parent::Latest;
pub use pipeline::{
    Captured, CountChanges, Request, has_changed, take, take_from, take_unless_same, take_with,
};
pub use private::{Loss, Note, PrivateFile, PrivateOverlay, Show};
pub use remote_compare::{UNCHANGED, answer};
pub use repositories::{repository_around, repository_summary, tracked_by_git};
pub use source::{ContentSource, LayoutHasher};
pub use walk::{Earlier, Skipped};

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

#[cfg(test)]
pub(crate) mod tests;
