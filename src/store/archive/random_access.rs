//! Reads parts of a blob, wherever they begin: only the frames that hold them are decompressed.

use super::sparse::SparseIndex;
use super::{Archive, ArchiveError, Blob, BlobKind, Segment};

/// A blob whose parts are read, with what leads to them.
pub struct BlobParts {
    blob: Blob,
    /// `None` for a blob without holes.
    map: Option<SparseIndex>,
}

impl BlobParts {
    /// Returns the number of bytes of the content, holes included.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.blob.logical
    }
}

impl Archive {
    /// Opens a blob of this archive for reading parts of it. Of a file with holes the map is read.
    ///
    /// # Errors
    /// When the archive cannot be read or is not whole.
    pub fn parts(&self, blob: &Blob) -> Result<BlobParts, ArchiveError> {
        let start = self.start_of(blob)?;
        let map = match blob.kind {
            BlobKind::Sparse => Some(SparseIndex::read(&start, blob)?),
            _ => None,
        };
        Ok(BlobParts { blob: *blob, map })
    }

    /// Reads from the byte `at` on, and returns the number of bytes that were read: less than `room` takes only at the end. The digest of
    /// each frame is checked before it is decompressed.
    ///
    /// # Errors
    /// When the archive cannot be read or is not whole.
    pub fn read_part(&self, parts: &BlobParts, at: u64, room: &mut [u8]) -> Result<usize, ArchiveError> {
        let rest = parts.blob.logical.saturating_sub(at);
        let length = usize::try_from(rest).unwrap_or(usize::MAX).min(room.len());
        let Some(room) = room.get_mut(..length).filter(|room| !room.is_empty()) else {
            return Ok(0);
        };
        let mut start = self.start_of(&parts.blob)?;
        match &parts.map {
            Some(map) => map.fill(&start, &parts.blob, at, room)?,
            None => {
                start.skip(at);
                start.fill(room)?;
            }
        }
        Ok(length)
    }

    /// Returns the first stretch of data that ends behind `at`; `None` if only a hole follows, or nothing.
    ///
    /// # Errors
    /// When the archive cannot be read or is not whole.
    pub fn data_from(&self, parts: &BlobParts, at: u64) -> Result<Option<Segment>, ArchiveError> {
        match &parts.map {
            Some(map) => map.segment_from(&self.start_of(&parts.blob)?, &parts.blob, at),
            None if at < parts.blob.logical => Ok(Some(Segment {
                offset: 0,
                length: parts.blob.logical,
            })),
            None => Ok(None),
        }
    }
}
