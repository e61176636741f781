//! Sources of the content of a snapshot.

use super::{Blobs, Store, StoreError};
use crate::model::{ArchiveRef, Manifest, MountRecord, SnapshotRecord};

impl Store {
    /// Opens archives for reading their content. One that does not open is named by [`Blobs::damaged`].
    #[must_use]
    pub fn blobs(&self, archives: &[ArchiveRef]) -> Blobs {
        Blobs::open(self, archives)
    }

    /// Opens everything that a snapshot's content is read from: its archives, the objects of the commits that it recorded instead of
    /// files, and the snapshots of file systems that keep it.
    #[must_use]
    pub fn contents(&self, record: &SnapshotRecord) -> Blobs {
        Blobs::open(self, &record.archives).with_all_of(record)
    }

    /// The manifest of one mount of a snapshot; `None` when the mount root did not exist.
    ///
    /// # Errors
    /// When a part is missing or damaged.
    pub fn manifest(
        &self,
        record: &SnapshotRecord,
        mount: &MountRecord,
    ) -> Result<Option<Manifest>, StoreError> {
        match &mount.manifest {
            Some(digest) => self.blobs(&record.archives).manifest(digest).map(Some),
            None => Ok(None),
        }
    }
}
