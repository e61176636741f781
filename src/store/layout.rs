//! Where each thing lies in the store (`docs/format.md`). Only names; nothing is opened here.

use std::path::{Path, PathBuf};

use crate::snapshot::{ArchiveId, RestoreId, SnapshotId};

/// The names below one store directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout of the store at `root`. Slashes at the end are dropped: with them a symbolic link would be
    /// followed when the directory is checked.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root: root.components().collect(),
        }
    }

    /// The store directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of archives.
    #[must_use]
    pub fn archives(&self) -> PathBuf {
        self.root.join("archives")
    }

    /// An archive: `archives/<id>.tar.zst`.
    #[must_use]
    pub fn archive(&self, id: &ArchiveId) -> PathBuf {
        self.archives().join(format!("{id}.tar.zst"))
    }

    /// The directory of snapshot records.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// A record: `snapshots/<id>.json`.
    #[must_use]
    pub fn record(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}.json"))
    }

    /// The chain of receipts.
    #[must_use]
    pub fn receipts(&self) -> PathBuf {
        self.root.join("receipts.log")
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> PathBuf {
        self.root.join("catalog.sqlite3")
    }

    /// Where a catalog that could not be read is laid aside when it is made anew.
    #[must_use]
    pub fn damaged_catalog(&self) -> PathBuf {
        self.root.join("catalog.sqlite3.damaged")
    }

    /// The directory of locks.
    #[must_use]
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The file that stands for a lock. `name` is one of ours, never text from outside.
    #[must_use]
    pub fn lock(&self, name: &str) -> PathBuf {
        self.locks().join(name)
    }

    /// The directory of restores that are under way or were interrupted.
    #[must_use]
    pub fn restores(&self) -> PathBuf {
        self.root.join("restores")
    }

    /// What a restore wrote down: `restores/<id>/`.
    #[must_use]
    pub fn restore(&self, id: &RestoreId) -> PathBuf {
        self.restores().join(id.as_str())
    }

    /// The directory of drafts.
    #[must_use]
    pub fn drafts(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The draft of a snapshot: `tmp/<id>/`.
    #[must_use]
    pub fn draft(&self, id: &SnapshotId) -> PathBuf {
        self.drafts().join(id.as_str())
    }
}
