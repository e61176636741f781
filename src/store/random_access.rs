//! Content of one file that is read at any place, as a program reads an open file.

use super::archive::BlobParts;
use super::{Blobs, StoreError};
use crate::model::{Content, Hasher};
use handle_fs::File;

/// Content in a snapshot of a file system that is compared with its digest before it is read, in bytes. Of a larger one only the size is
/// compared.
const COMPARED: u64 = 4 << 20;

/// Open content of a file.
pub struct OpenContent {
    content: Content,
    source: Source,
}

/// Place that the bytes come from.
enum Source {
    /// In memory: decrypted content, and an object of a commit.
    Memory(Vec<u8>),
    Archive(BlobParts),
    /// In a snapshot of a file system.
    File(File),
}

impl OpenContent {
    /// Returns the size in bytes, holes included.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.content.size
    }
}

impl Blobs {
    /// Opens content for reading parts of it.
    ///
    /// # Errors
    /// When the content is missing, or its archive is damaged.
    pub fn open_content(&self, content: &Content) -> Result<OpenContent, StoreError> {
        let digest = &content.digest;
        let source = if content.size == 0 {
            Source::Memory(Vec::new())
        } else if let Some(bytes) = self.lent(content) {
            Source::Memory(bytes.to_vec())
        } else {
            match self.direct.archives.place(digest) {
                Ok((archive, blob)) => Source::Archive(archive.parts(blob)?),
                Err(_) if self.direct.kept.shows(digest) => Source::File(self.kept_file(content)?),
                Err(error) => Source::Memory(self.committed(digest, error)?),
            }
        };
        let size = match &source {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::Archive(parts) => parts.size(),
            Source::File(_) => content.size,
        };
        match size == content.size {
            true => Ok(OpenContent {
                content: *content,
                source,
            }),
            false => Err(wrong(content, "it has another size")),
        }
    }

    /// Returns the file of a snapshot of a file system, compared with its digest if it is small.
    fn kept_file(&self, content: &Content) -> Result<File, StoreError> {
        let lost = || {
            let reason = self.absence(&content.digest);
            wrong(content, &reason)
        };
        let file = self.native_file(content).ok_or_else(lost)?;
        if content.size <= COMPARED {
            let mut whole = vec![0; usize::try_from(content.size).unwrap_or(0)];
            let read = file.read_exact_at(&mut whole, 0);
            read.map_err(|error| wrong(content, &error.to_string()))?;
            let mut hasher = Hasher::new(content.method, content.size);
            hasher.update(&whole);
            if hasher.finish() != *content {
                return Err(wrong(content, "its bytes have another digest"));
            }
        }
        Ok(file)
    }

    /// Reads from the byte `at` on, and returns the number of bytes that were read: less than `room` takes only at the end.
    ///
    /// # Errors
    /// When the content is missing, or its archive is damaged.
    pub fn read_at(&self, open: &OpenContent, at: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        let content = &open.content;
        let rest = usize::try_from(content.size.saturating_sub(at)).unwrap_or(usize::MAX);
        let length = rest.min(room.len());
        let Some(room) = room.get_mut(..length).filter(|room| !room.is_empty()) else {
            return Ok(0);
        };
        match &open.source {
            Source::Memory(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let bytes = bytes.get(from..).and_then(|rest| rest.get(..length));
                room.copy_from_slice(bytes.ok_or_else(|| wrong(content, "it is too short"))?);
            }
            Source::Archive(parts) => {
                let (archive, _) = self.direct.archives.place(&content.digest)?;
                archive.read_part(parts, at, room)?;
            }
            Source::File(file) => {
                let read = file.read_exact_at(room, at);
                read.map_err(|error| wrong(content, &error.to_string()))?;
            }
        }
        Ok(length)
    }

    /// Returns begin and end of the first stretch of data that ends behind `at`; `None` if only a hole follows, or nothing.
    ///
    /// # Errors
    /// When the archive is damaged.
    pub fn data_from(&self, open: &OpenContent, at: u64) -> Result<Option<(u64, u64)>, StoreError> {
        let size = open.content.size;
        if at >= size {
            return Ok(None);
        }
        Ok(match &open.source {
            Source::Archive(parts) => {
                let (archive, _) = self.direct.archives.place(&open.content.digest)?;
                let found = archive.data_from(parts, at)?;
                found.map(|found| (found.offset, found.offset + found.length))
            }
            // The whole file is a right answer, too (lseek(2)).
            Source::Memory(_) | Source::File(_) => Some((0, size)),
        })
    }
}

fn wrong(content: &Content, reason: &str) -> StoreError {
    StoreError::Content {
        digest: content.digest,
        reason: reason.to_owned(),
    }
}
