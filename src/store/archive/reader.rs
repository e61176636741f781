//! Reads blobs from an archive by the places that its index says, which are checked when it is opened.

use std::io;
use std::path::Path;

use super::cursor::Cursor;
use super::frame_cache::{FrameCache, SharedFrames};
use super::members::Members;
use super::source::Source;
use super::{ArchiveError, Blob, BlobKind, Damage, Piece, frame, index, sparse};
use crate::model::{ArchiveId, ArchiveRef, Digest, DigestMethod, Hasher};
use handle_fs::File;

/// An archive that is open for reading; can be used from several threads at once.
pub struct Archive {
    pub(super) source: Source,
    blobs: Vec<Blob>,
    kept: FrameCache,
}

/// Frames that one thread decompressed last in one archive. Threads that read in order, each in its own frames, thus do not evict
/// each other's.
pub struct DecodeBuffers(FrameCache);

impl Default for DecodeBuffers {
    fn default() -> Self {
        // The data of a file with holes, and its map.
        Self(FrameCache::new(2))
    }
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Archive").field(&self.source.path()).finish()
    }
}

impl Archive {
    /// Opens an archive and reads its seek table and index, never its content. With `expect`, size and index must be
    /// those that a record names.
    ///
    /// # Errors
    /// When it cannot be read, is not whole, or was written by a newer version.
    pub fn open(path: &Path, expect: Option<&ArchiveRef>) -> Result<Self, ArchiveError> {
        Self::read(Source::open(path, expect.map(|expect| expect.size))?, expect)
    }

    /// Reads the index of an open file, which errors name by `path`.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of(file: File, path: &Path, expect: &ArchiveRef) -> Result<Self, ArchiveError> {
        Self::read(Source::of(file, path, Some(expect.size))?, Some(expect))
    }

    fn read(mut source: Source, expect: Option<&ArchiveRef>) -> Result<Self, ArchiveError> {
        let number = source.last();
        let (sizes, packed) = source.packed(number)?;
        let digest = Digest::of(&packed);
        let wrong = |why| source.damaged(Damage::Index(why));
        if expect.is_some_and(|expect| expect.index != digest) {
            return Err(wrong("it is not the one that was written"));
        }
        if u64::from(sizes.raw) > index::most(sizes.packed, number) {
            return Err(wrong("it is compressed more than an index can be"));
        }
        let content = frame::unpack(&packed, sizes.raw).map_err(wrong)?;
        drop(packed);
        let index = index::decode(&content, source.starts()).map_err(|refusal| match refusal {
            index::Refusal::Wrong(why) => wrong(why),
            index::Refusal::Newer(found) => ArchiveError::Newer {
                path: source.path().to_owned(),
                found,
                known: index::VERSION,
            },
        })?;
        source.set_digests(index.frames.into_iter().chain([digest]));
        Ok(Self {
            source,
            blobs: index.blobs,
            kept: FrameCache::new(4),
        })
    }

    /// Keeps decompressed frames within a bound for several archives.
    #[must_use]
    pub fn keeping_frames_in(self, frames: &SharedFrames) -> Self {
        Self {
            kept: frames.of_archive(),
            ..self
        }
    }

    /// Returns the location of the content with `digest`; `None` if it is not in this archive.
    #[must_use]
    pub fn locate(&self, digest: &Digest) -> Option<&Blob> {
        let at = self.blobs.binary_search_by(|blob| blob.digest.cmp(digest)).ok()?;
        self.blobs.get(at)
    }

    /// Every blob, sorted by digest.
    #[must_use]
    pub fn blobs(&self) -> &[Blob] {
        &self.blobs
    }

    /// Number of frames before the index frame.
    #[must_use]
    pub fn frames(&self) -> u32 {
        u32::try_from(self.source.last()).unwrap_or(u32::MAX)
    }

    /// The content of a blob of at most `limit` bytes.
    ///
    /// # Errors
    /// When it is larger, or as [`Archive::stream`].
    pub fn bytes(&self, blob: &Blob, limit: u64) -> Result<Vec<u8>, ArchiveError> {
        if blob.logical > limit {
            let (path, digest, size) = (self.source.path().to_owned(), blob.digest, blob.logical);
            return Err(ArchiveError::TooLarge {
                path,
                digest,
                size,
                limit,
            });
        }
        let mut content = Vec::new();
        self.stream(blob, &mut |piece| {
            match piece {
                Piece::Data(bytes) => content.extend_from_slice(bytes),
                Piece::Hole(count) => {
                    // The pieces add up to `logical`, which is at most `limit`.
                    let end = usize::try_from(count)
                        .ok()
                        .and_then(|count| content.len().checked_add(count));
                    content.resize(end.ok_or(io::ErrorKind::OutOfMemory)?, 0);
                }
            }
            Ok(())
        })?;
        Ok(content)
    }

    /// Passes the content of a blob to `each`, piece by piece, in order; together the pieces have `logical` bytes. The digest of
    /// each frame is checked before it is decompressed; the caller checks the digest of the content.
    ///
    /// # Errors
    /// When the archive cannot be read or is not whole, or `each` fails.
    pub fn stream(
        &self,
        blob: &Blob,
        each: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
    ) -> Result<(), ArchiveError> {
        self.stream_by(&self.kept, blob, each)
    }

    /// Streams like [`Archive::stream`], for a thread that reads many blobs. Each `desk` serves one archive.
    ///
    /// # Errors
    /// As [`Archive::stream`].
    pub fn stream_at(
        &self,
        desk: &DecodeBuffers,
        blob: &Blob,
        each: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
    ) -> Result<(), ArchiveError> {
        self.stream_by(&desk.0, blob, each)
    }

    fn stream_by(
        &self,
        kept: &FrameCache,
        blob: &Blob,
        each: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
    ) -> Result<(), ArchiveError> {
        let path = self.source.path();
        let mut hand_on = |piece: Piece<'_>| {
            each(piece).map_err(|source| ArchiveError::Receiver {
                path: path.to_owned(),
                source,
            })
        };
        let mut cursor = self.cursor(kept, blob)?;
        match blob.kind {
            BlobKind::Sparse => sparse::stream(&cursor, blob, &mut hand_on),
            _ => cursor.pieces(blob.stored, &mut hand_on),
        }
    }

    /// Returns the stretch of the stream that a blob lies in.
    fn cursor<'a>(&'a self, kept: &'a FrameCache, blob: &Blob) -> Result<Cursor<'a>, ArchiveError> {
        // Places were checked when the archive was opened; a blob of another archive may still come here.
        let wrong = |why| {
            self.source.damaged(Damage::Blob {
                digest: blob.digest,
                why,
            })
        };
        let starts = self.source.starts();
        let frame = usize::try_from(blob.frame).unwrap_or(usize::MAX);
        let start = starts
            .get(frame)
            .and_then(|start| start.checked_add(u64::from(blob.offset)));
        let end = start.and_then(|start| start.checked_add(blob.stored));
        let (Some(start), Some(end)) = (start, end.filter(|end| Some(end) <= starts.last())) else {
            return Err(wrong("it lies outside the archive"));
        };
        if blob.kind != BlobKind::Sparse && blob.stored != blob.logical {
            return Err(wrong("its stored length is not its length"));
        }
        Ok(Cursor::new(&self.source, kept, start, end))
    }

    /// Returns the same for a reader of parts, which uses the frames that all of the archive's readers keep.
    pub(super) fn start_of(&self, blob: &Blob) -> Result<Cursor<'_>, ArchiveError> {
        self.cursor(&self.kept, blob)
    }

    /// Reads the whole file and compares it with what a record says of it.
    ///
    /// # Errors
    /// When it cannot be read, or size, digest or index differ.
    pub fn check_file(&self, expect: &ArchiveRef) -> Result<(), ArchiveError> {
        self.source.check_size(Some(expect.size))?;
        let mut hasher = Hasher::new(DigestMethod::Plain, expect.size);
        self.source.whole(&mut |bytes| hasher.update(bytes))?;
        let index = self.source.digest(self.source.last());
        if hasher.finish().digest == expect.digest && index == Some(expect.index) {
            return Ok(());
        }
        Err(self.source.damaged(Damage::Digest))
    }

    /// Reads the whole file, and says what it is under the name of `id`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn describe(&self, id: ArchiveId) -> Result<ArchiveRef, ArchiveError> {
        let size = self.source.size();
        let mut hasher = Hasher::new(DigestMethod::Plain, size);
        self.source.whole(&mut |bytes| hasher.update(bytes))?;
        let index = self.source.digest(self.source.last());
        Ok(ArchiveRef {
            id,
            size,
            digest: hasher.finish().digest,
            index: index.ok_or_else(|| self.source.damaged(Damage::Digest))?,
        })
    }

    /// Reads one frame (the index frame has the number [`Archive::frames`]) and checks that it is the one the index
    /// names and that it can be decompressed.
    ///
    /// # Errors
    /// When it cannot be read or is not whole.
    pub fn check_frame(&self, frame: u32) -> Result<(), ArchiveError> {
        self.source
            .unpacked(usize::try_from(frame).unwrap_or(usize::MAX))
            .map(drop)
    }

    /// Every member of the tar stream in order, read from the headers alone, the index and the chunks among them.
    #[must_use]
    pub fn members(&self) -> Members<'_> {
        Members::new(Cursor::new(&self.source, &self.kept, 0, self.source.end()))
    }
}
