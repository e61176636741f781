//! The file of an archive as frames: the bytes of each, and the content of one frame at a time. Returned content has the digest
//! that the index names.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame_cache::{DecoderPool, FrameCache};
use super::seek::{self, Sizes};
use super::{ArchiveError, Damage};
use crate::model::Digest;
use handle_fs::{File, NodeKind, Opening};

/// One compressed frame.
struct Frame {
    /// Offset in the file, in bytes.
    place: u64,
    sizes: Sizes,
    /// `None` until the index is read.
    digest: Option<Digest>,
}

/// An open archive, before its index is known and after.
pub(super) struct Source {
    path: PathBuf,
    file: File,
    size: u64,
    /// The index frame is the last.
    frames: Vec<Frame>,
    /// Offset of each frame in the decompressed stream; the last entry is the end of the stream.
    starts: Vec<u64>,
}

impl Source {
    /// Opens a file and reads its seek table. With `expected`, it must have so many bytes.
    pub(super) fn open(path: &Path, expected: Option<u64>) -> Result<Self, ArchiveError> {
        // A store may come from elsewhere: a pipe in an archive's place must not make us wait, nor a link lead away.
        let file = handle_fs::open_path(path, Opening::Read).map_err(|source| ArchiveError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::of(file, path, expected)
    }

    /// Reads the seek table of an open file; errors name it by `path`.
    pub(super) fn of(file: File, path: &Path, expected: Option<u64>) -> Result<Self, ArchiveError> {
        let path = path.to_owned();
        let unreadable = |source| ArchiveError::Read {
            path: path.clone(),
            source,
        };
        let stat = file.stat().map_err(unreadable)?;
        if stat.kind != NodeKind::File {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        let (frames, starts) = (Vec::new(), vec![0]);
        let mut source = Self {
            path,
            file,
            size: stat.size,
            frames,
            starts,
        };
        source.check_size(expected)?;
        let (mut place, mut start) = (0, 0);
        for sizes in source.seek_table()? {
            source.frames.push(Frame {
                place,
                sizes,
                digest: None,
            });
            place += u64::from(sizes.packed);
            start += u64::from(sizes.raw);
            source.starts.push(start);
        }
        Ok(source)
    }

    /// Takes the digests that the index names, and the index frame's own behind them.
    pub(super) fn set_digests(&mut self, digests: impl IntoIterator<Item = Digest>) {
        for (frame, digest) in self.frames.iter_mut().zip(digests) {
            frame.digest = Some(digest);
        }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Number of the index frame, the last.
    pub(super) fn last(&self) -> usize {
        self.frames.len().saturating_sub(1)
    }

    /// Digest of a frame.
    pub(super) fn digest(&self, number: usize) -> Option<Digest> {
        self.frames.get(number).and_then(|frame| frame.digest)
    }

    /// Returns the offset of each frame in the decompressed stream, the index frame last.
    pub(super) fn starts(&self) -> &[u64] {
        self.starts.split_last().map_or(&[], |(_, starts)| starts)
    }

    /// Length of the decompressed stream in bytes.
    pub(super) fn end(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The frame that holds byte `at` of the decompressed stream, and where it begins there.
    pub(super) fn frame_at(&self, at: u64, kept: &FrameCache) -> Result<(u64, Arc<Vec<u8>>), ArchiveError> {
        let number = self
            .starts
            .partition_point(|start| *start <= at)
            .saturating_sub(1);
        let start = self.starts.get(number).copied().unwrap_or(0);
        if let Some(content) = kept.find(number) {
            return Ok((start, content));
        }
        let mut tools = kept.tools();
        let content = self.unpack(number, &mut tools)?;
        Ok((start, kept.put(number, content, tools)))
    }

    /// The content of a frame, after its digest was found right.
    pub(super) fn unpacked(&self, number: usize) -> Result<Vec<u8>, ArchiveError> {
        self.unpack(number, &mut DecoderPool::default())
    }

    fn unpack(&self, number: usize, tools: &mut DecoderPool) -> Result<Vec<u8>, ArchiveError> {
        let sizes = self.read(number, &mut tools.packed)?;
        if Some(Digest::of(&tools.packed)) != self.digest(number) {
            return Err(self.wrong(number, "its bytes are not those that were written"));
        }
        let room = std::mem::take(&mut tools.content);
        let content = tools.unpacker.unpack(&tools.packed, sizes.raw, room);
        content.map_err(|why| self.wrong(number, why))
    }

    /// A frame as it is in the file.
    pub(super) fn packed(&self, number: usize) -> Result<(Sizes, Vec<u8>), ArchiveError> {
        let mut packed = Vec::new();
        let sizes = self.read(number, &mut packed)?;
        Ok((sizes, packed))
    }

    fn read(&self, number: usize, packed: &mut Vec<u8>) -> Result<Sizes, ArchiveError> {
        let memory = |_| self.wrong(number, "it does not fit into memory");
        let Some(Frame { place, sizes, .. }) = self.frames.get(number) else {
            return Err(self.wrong(number, "the archive has no such frame"));
        };
        // Not more than the file has: the sizes in the seek table add up to it.
        let length = usize::try_from(sizes.packed).unwrap_or(usize::MAX);
        packed
            .try_reserve_exact(length.saturating_sub(packed.len()))
            .map_err(memory)?;
        packed.resize(length, 0);
        self.read_at(packed, *place)?;
        Ok(*sizes)
    }

    /// Calls `each` with the whole file, piece by piece.
    pub(super) fn whole(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 256 << 10];
        let mut at = 0;
        while at < self.size {
            let most = usize::try_from(self.size - at)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let room = buffer.get_mut(..most).unwrap_or_default();
            self.read_at(room, at)?;
            each(room);
            at += most as u64;
        }
        Ok(())
    }

    /// Compares the file's length with that of a record.
    pub(super) fn check_size(&self, expected: Option<u64>) -> Result<(), ArchiveError> {
        match expected {
            Some(expected) if expected != self.size => Err(self.damaged(Damage::Size {
                expected,
                found: self.size,
            })),
            _ => Ok(()),
        }
    }

    /// An error that names this archive.
    pub(super) fn damaged(&self, what: Damage) -> ArchiveError {
        ArchiveError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    fn wrong(&self, number: usize, why: &'static str) -> ArchiveError {
        self.damaged(Damage::Frame {
            frame: u32::try_from(number).unwrap_or(u32::MAX),
            why,
        })
    }

    fn seek_table(&self) -> Result<Vec<Sizes>, ArchiveError> {
        let wrong = |why| self.damaged(Damage::SeekTable(why));
        let mut footer = [0; seek::FOOTER];
        let at = self.size.checked_sub(seek::FOOTER as u64);
        self.read_at(
            &mut footer,
            at.ok_or_else(|| wrong("the file is too short for one"))?,
        )?;
        let length = seek::length(footer, self.size).map_err(wrong)?;
        let mut table = vec![0; usize::try_from(length).map_err(|_| wrong("it does not fit into memory"))?];
        self.read_at(&mut table, self.size - length)?;
        seek::decode(&table, self.size).map_err(wrong)
    }

    fn read_at(&self, room: &mut [u8], at: u64) -> Result<(), ArchiveError> {
        self.file
            .read_exact_at(room, at)
            .map_err(|source| match source.kind() {
                // It was longer when it was opened.
                io::ErrorKind::UnexpectedEof => {
                    let found = self.file.stat().map_or(at, |stat| stat.size);
                    self.damaged(Damage::Size {
                        expected: self.size,
                        found,
                    })
                }
                _ => ArchiveError::Read {
                    path: self.path.clone(),
                    source,
                },
            })
    }
}
