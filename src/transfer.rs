//! A snapshot in a file of its own, which needs no store: written from one store, and read into another as untrusted data.

mod export;
mod import;
mod pack;
mod sanitize;
mod snapshot_reader;
mod stream;

use std::io;
use std::path::{Path, PathBuf};

pub use export::{ExportRequest, Exported, export};
pub use import::Incoming;
pub use sanitize::{Dropped, DroppedWhat};
pub use snapshot_reader::{IncomingSnapshot, StoredContents, StoredSnapshot};

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::size;
use crate::model::{DecodeError, RelPath};
use crate::store::StoreError;
use crate::store::archive::ArchiveError;

/// Error of writing or reading an export. No part of the file is kept.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The operator stopped it.
    #[error("interrupted; nothing of it was kept")]
    Interrupted,
    /// The file is there already.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is no export.
    #[error("{} is no file that `export` wrote: {why}", path.display())]
    NoExport {
        /// The file.
        path: PathBuf,
        /// Reason why it is not an export.
        why: String,
    },
    /// A newer version wrote the file.
    #[error(
        "{} has format {found}, written by a newer version of jackin recovery; this one knows formats up to {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
    /// The file contains something inconsistent.
    #[error("{} is damaged or malicious: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// Content is not what the manifest says.
    #[error("the content of {}/{} is not what the snapshot says: {why}", label, path.as_path().display())]
    Content {
        /// Label of the mount.
        label: String,
        /// Below its root.
        path: RelPath,
        /// Description of the problem.
        why: String,
    },
    /// The content does not fit on the file system of the store.
    #[error("{} has {}, and the store's file system has {} free", path.display(), size::bytes(*need), size::bytes(*free))]
    Room {
        /// The file.
        path: PathBuf,
        /// Bytes that have to be stored, before compression.
        need: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// The archive layer failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnostic for TransferError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Archive(error) => error.kind(),
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Exists(_) => ErrorKind::Usage,
            Self::Write { .. } | Self::Room { .. } => ErrorKind::Io,
            Self::NoExport { .. } | Self::Damaged { .. } | Self::Content { .. } => ErrorKind::Integrity,
            Self::Newer { .. } => ErrorKind::NewerStore,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        const COPY_AGAIN: &str =
            "nothing was stored; import reads a file that `export` wrote: if it is one, copy it again";
        let hint = match self {
            Self::Store(error) => return error.hints(),
            Self::Exists(_) => "choose another file: export never overwrites",
            Self::Write { .. } => "nothing was written; name a place that you may write to and that has room",
            Self::Room { .. } => {
                "nothing was changed; make room, or name a jackin home elsewhere in JACKIN_HOME_DIR"
            }
            Self::Archive(error) if error.is_damage() => COPY_AGAIN,
            Self::NoExport { .. } | Self::Damaged { .. } => COPY_AGAIN,
            Self::Newer { .. } => "nothing was changed; use the newer version that wrote it",
            Self::Interrupted | Self::Archive(_) | Self::Content { .. } => return Vec::new(),
        };
        vec![Hint::text(hint)]
    }
}

impl TransferError {
    fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_path_buf(),
            why: why.into(),
        }
    }

    fn undecoded(path: &Path) -> impl Fn(DecodeError) -> Self + '_ {
        |error| Self::damaged(path, error.to_string())
    }
}

#[cfg(test)]
mod tests;
