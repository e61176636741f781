//! Content that is read directly: from memory, archives and snapshots of file systems, without the objects of a commit.

use super::StoreError;
use super::archive::Piece;
use super::archive_blobs::ArchiveBlobs;
use super::decrypted_content::DecryptedContent;
use super::fs_snapshot_trees::KeptTrees;
use crate::model::{Content, Digest};

/// Sources of such content.
pub(super) struct DirectBlobs {
    pub(super) archives: ArchiveBlobs,
    /// Content that is deliberately in no archive, in snapshots of file systems.
    pub(super) kept: KeptTrees,
    pub(super) lent: DecryptedContent,
}

impl DirectBlobs {
    /// Returns the content of archives alone.
    pub(super) fn of(archives: ArchiveBlobs) -> Self {
        Self {
            archives,
            kept: KeptTrees::default(),
            lent: DecryptedContent::default(),
        }
    }

    /// Content that lies in memory.
    pub(super) fn lent(&self, content: &Content) -> Option<&[u8]> {
        self.lent.get(&content.digest)
    }

    /// Passes the content to `each`, piece by piece, but not what lies in memory: git's own files are in archives or in a
    /// file-system snapshot.
    pub(super) fn stream_archived(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        if self.kept.shows(digest) && !self.archives.contains(digest) {
            return self.kept.stream(digest, each);
        }
        let (archive, blob) = self.archives.place(digest)?;
        Ok(archive.stream(blob, each)?)
    }
}
