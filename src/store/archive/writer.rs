//! Writes an archive, member by member, as a stream. It knows entries, not mounts: what is read comes as `Read`.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::content::Source;
use super::frames::Frames;
use super::header::{Head, HeadKind};
use super::seek::MAX_INDEX_FRAME;
use super::sparse::Map;
use super::{ArchiveError, Blob, BlobKind, INTERNAL, Segment, index, padding};
use crate::model::{Content, Digest, Entry, EntryKind, Name, RelPath};

/// Bytes of a frame before a manifest chunk or list begins another. A snapshot needs few of the chunks that a frame of full size has, where
/// it holds those of many checkpoints.
const CHUNKS_BYTES: usize = 32 << 10;

type Result<T> = std::result::Result<T, ArchiveError>;

/// An archive that is being written to `W`. Entries come first, chunks and lists after them. Memory: a few frames, and
/// about a hundred bytes a blob for the index.
pub struct Writer<W: Write> {
    frames: Frames<W>,
    blobs: BTreeMap<Digest, Blob>,
    buffer: Vec<u8>,
    empty: bool,
}

/// Content that was written, and is found again once [`Writer::index`] knows its digest.
#[derive(Debug)]
pub struct Stored {
    /// Bytes that really came. Less than were asked for when the data ended early or failed; the rest is zeros.
    pub given: u64,
    /// Error that ended the data early, if any. The archive is valid anyway.
    pub error: Option<io::Error>,
    kind: BlobKind,
    frame: u32,
    offset: u32,
    stored: u64,
    logical: u64,
}

/// Size and digests of a finished archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Length of the file in bytes.
    pub size: u64,
    /// BLAKE3 of the whole file.
    pub digest: Digest,
    /// BLAKE3 of the compressed index frame.
    pub index: Digest,
    /// Number of frames before the index frame.
    pub frames: u32,
}

impl<W: Write> Writer<W> {
    /// An archive that is compressed at zstd level `level`. The same calls with the same level give the same bytes.
    pub fn new(out: W, level: i32) -> Self {
        Self {
            frames: Frames::new(out, level),
            blobs: BTreeMap::new(),
            buffer: Vec::new(),
            empty: true,
        }
    }

    /// Writes a member without content: a directory, link, pipe, device or empty file. A socket has no member; nothing
    /// is written for it.
    ///
    /// # Errors
    /// When the archive cannot be written, or the entry is a file that is not empty.
    pub fn member(&mut self, label: &str, path: &RelPath, entry: &Entry) -> Result<()> {
        let name = member_path(label, path, entry.is_dir())?;
        let kind = match &entry.kind {
            EntryKind::Socket => return Ok(()),
            EntryKind::File(Content { size: 0, .. }) => HeadKind::File { size: 0 },
            EntryKind::File(_) => return Err(refused(&name, "a file with content needs its data")),
            EntryKind::Directory => HeadKind::Directory,
            EntryKind::Symlink(target) => HeadKind::Symlink(target),
            EntryKind::Fifo => HeadKind::Fifo,
            EntryKind::CharDevice(major, minor) => HeadKind::CharDevice(*major, *minor),
            EntryKind::BlockDevice(major, minor) => HeadKind::BlockDevice(*major, *minor),
        };
        self.whole(&Head::new(&name, kind, entry))
    }

    /// Writes a hard link to an earlier member of this archive: label and path of that member are `to`.
    ///
    /// # Errors
    /// When the archive cannot be written, or the entry is not a regular file.
    pub fn hard_link(
        &mut self,
        label: &str,
        path: &RelPath,
        entry: &Entry,
        to: (&str, &RelPath),
    ) -> Result<()> {
        let name = member_path(label, path, false)?;
        if entry.content().is_none() {
            return Err(refused(
                &name,
                "only a regular file can be a hard link to content",
            ));
        }
        let target = member_path(to.0, to.1, false)?;
        self.whole(&Head::new(&name, HeadKind::HardLink(&target), entry))
    }

    /// Writes a regular file with the size that the entry's content states; its digest is not looked at. `segments` are the
    /// stretches that hold data, in order and apart; `None` means all of it. `data` supplies their bytes back to back and is not
    /// read beyond them. If it ends early or fails, zeros fill the rest, and [`Stored`] reports it.
    ///
    /// # Errors
    /// When the archive cannot be written, the entry is not a regular file, or the segments do not fit its size. Never
    /// because of `data`.
    pub fn file(
        &mut self,
        label: &str,
        path: &RelPath,
        entry: &Entry,
        segments: Option<&[Segment]>,
        data: &mut dyn Read,
    ) -> Result<Stored> {
        let name = member_path(label, path, false)?;
        let Some(Content { size, .. }) = entry.content().copied() else {
            return Err(refused(&name, "it is not a regular file"));
        };
        if i64::try_from(size).is_err() {
            return Err(refused(&name, "no file is that large"));
        }
        let Some(segments) = segments.filter(|_| size > 0) else {
            let head = Head::new(&name, HeadKind::File { size }, entry);
            return self.content(&head, BlobKind::Content, (size, size), None, data);
        };
        let Some(map) = Map::new(segments, size) else {
            return Err(refused(
                &name,
                "its data segments are empty, out of order or outside the file",
            ));
        };
        let stored = map.length() + map.data();
        let place = [label.as_bytes(), b"/GNUSparseFile.0/", path.as_bytes()].concat();
        let kind = HeadKind::Sparse {
            stored,
            logical: size,
            place: &place,
        };
        self.content(
            &Head::new(&name, kind, entry),
            BlobKind::Sparse,
            (stored, size),
            Some(map),
            data,
        )
    }

    /// Makes stored content known under its digest. The first content of a digest stays; content of no bytes is not
    /// indexed, for there is nothing to find.
    pub fn index(&mut self, stored: Stored, digest: Digest) {
        let Stored {
            kind,
            frame,
            offset,
            stored,
            logical,
            ..
        } = stored;
        if logical > 0 {
            let blob = Blob {
                digest,
                kind,
                frame,
                offset,
                stored,
                logical,
            };
            self.blobs.entry(digest).or_insert(blob);
        }
    }

    /// Writes what is no file of a mount (a manifest chunk or list, say), unless the archive has it.
    ///
    /// # Errors
    /// When the archive cannot be written, or `kind` is another or `bytes` is empty.
    pub fn blob(&mut self, kind: BlobKind, digest: Digest, bytes: &[u8]) -> Result<()> {
        let folder = match kind {
            BlobKind::Chunk => "chunks",
            BlobKind::List => "manifests",
            BlobKind::Settings => "settings",
            BlobKind::Sealed => "sealed",
            BlobKind::Export => "",
            BlobKind::Content | BlobKind::Sparse => {
                return Err(refused(
                    digest.hex().as_bytes(),
                    "content goes into a member of its own path",
                ));
            }
        };
        let ending = if kind == BlobKind::Sealed {
            ".tar.zst.age"
        } else {
            ""
        };
        let name = match kind {
            BlobKind::Export => format!("{INTERNAL}/export.json"),
            _ => format!("{INTERNAL}/{folder}/{digest}{ending}"),
        };
        if bytes.is_empty() {
            return Err(refused(name.as_bytes(), "a chunk or list is never empty"));
        }
        if self.holds(&digest) {
            return Ok(());
        }
        if matches!(kind, BlobKind::Chunk | BlobKind::List) {
            self.frames.part(CHUNKS_BYTES)?;
        }
        let size = bytes.len() as u64;
        let head = Head::internal(name.as_bytes(), size);
        let stored = self.content(&head, kind, (size, size), None, &mut { bytes })?;
        self.index(stored, digest);
        Ok(())
    }

    /// Returns true if this archive has content with `digest`.
    #[must_use]
    pub fn holds(&self, digest: &Digest) -> bool {
        self.blobs.contains_key(digest)
    }

    /// Returns true if no member has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// Writes the index and the seek table, flushes `W` and returns it; the caller makes it durable.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn finish(mut self) -> Result<(W, Finished)> {
        let digests = self.frames.settle()?;
        let frames = u32::try_from(digests.len()).unwrap_or(u32::MAX);
        let index = index::encode(digests, &self.blobs)
            .and_then(|index| match u32::try_from(index.len()) {
                Ok(length) if length <= MAX_INDEX_FRAME => Ok(index),
                _ => Err("its index would be larger than the format allows"),
            })
            .map_err(|why| refused(index::path().as_bytes(), why))?;
        drop(self.blobs);
        let (out, file, index) = self.frames.finish(index)?;
        Ok((
            out,
            Finished {
                size: file.size,
                digest: file.digest,
                index,
                frames,
            },
        ))
    }

    fn whole(&mut self, head: &Head<'_>) -> Result<()> {
        let blocks = head.encode().map_err(|why| refused(head.path, why))?;
        self.empty = false;
        self.frames.begin(&blocks, blocks.len() as u64)?;
        self.frames.end()
    }

    fn content(
        &mut self,
        head: &Head<'_>,
        kind: BlobKind,
        (stored, logical): (u64, u64),
        map: Option<Map<'_>>,
        data: &mut dyn Read,
    ) -> Result<Stored> {
        let blocks = head.encode().map_err(|why| refused(head.path, why))?;
        self.empty = false;
        let total = (blocks.len() as u64)
            .saturating_add(stored)
            .saturating_add(padding(stored));
        self.frames.begin(&blocks, total)?;
        let (frame, offset) = self.frames.place(stored > 0)?;
        let mut source = Source::new(data, &mut self.buffer);
        match map {
            None => source.dense(stored, &mut self.frames)?,
            Some(map) => source.sparse(map, &mut self.frames)?,
        }
        let (given, error) = source.end();
        self.frames.zeros(padding(stored))?;
        self.frames.end()?;
        Ok(Stored {
            given,
            error,
            kind,
            frame,
            offset,
            stored,
            logical,
        })
    }
}

/// `<label>/<path>`, with a slash behind a directory.
fn member_path(label: &str, path: &RelPath, directory: bool) -> Result<Vec<u8>> {
    let mut name = [label.as_bytes(), b"/", path.as_bytes()].concat();
    if label == INTERNAL || Name::new(label.as_bytes()).is_err() {
        return Err(refused(&name, "the mount's label is not a name it may have"));
    }
    if path.is_root() && !directory {
        return Err(refused(&name, "the mount's root is not a directory"));
    }
    if directory && !path.is_root() {
        name.push(b'/');
    }
    Ok(name)
}

fn refused(member: &[u8], why: &'static str) -> ArchiveError {
    ArchiveError::Refused {
        member: member.escape_ascii().to_string(),
        why,
    }
}
