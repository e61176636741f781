//! Reasons that a node of the tree of snapshots cannot be looked at.

use crate::store::StoreError;

/// Reason that a node cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum BrowseError {
    /// There is no such name.
    #[error("there is no such file")]
    Missing,
    /// Its snapshot, or a path of it, was deleted.
    #[error("the snapshot was deleted")]
    Stale,
    /// It is no directory.
    #[error("it is not a directory")]
    NotDirectory,
    /// It is no regular file, or no symbolic link.
    #[error("it is not a file")]
    NotFile,
    /// The content is likely to hold secrets.
    #[error("it is likely to hold secrets")]
    Hidden,
    /// The names in the directory are not recorded.
    #[error("the directory could not be read when the snapshot was taken")]
    Unlisted,
    /// The store cannot be read, or stored data is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}
