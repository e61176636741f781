//! Cuts the tar stream into frames, writes them in order, and the seek table behind them.

use std::io::{self, Write};

use super::frame::Packed;
use super::pool::Pool;
use super::seek::{MAX_FRAMES, Sizes, encode};
use super::{ArchiveError, FRAME_BYTES, ZEROS};
use crate::model::{Content, Digest, DigestMethod, Hasher};

/// The frames of an archive that is being written.
pub(super) struct Frames<W: Write> {
    out: W,
    /// Over the whole file; counts its bytes, too.
    hasher: Hasher,
    pool: Pool,
    current: Vec<u8>,
    /// True if the data of the current member may be split.
    spanning: bool,
    /// Frames closed, written or not.
    closed: u32,
    sizes: Vec<Sizes>,
    digests: Vec<Digest>,
    /// Set while bytes are on their way out; stays set when that fails, for what is there then is not a whole archive.
    broken: bool,
}

impl<W: Write> Frames<W> {
    pub(super) fn new(out: W, level: i32) -> Self {
        Self {
            out,
            hasher: Hasher::new(DigestMethod::Plain, 0),
            pool: Pool::new(level),
            current: Vec::new(),
            spanning: false,
            closed: 0,
            sizes: Vec::new(),
            digests: Vec::new(),
            broken: false,
        }
    }

    /// Begins a member of `total` bytes, padding included, with its header blocks. They are never cut.
    pub(super) fn begin(&mut self, head: &[u8], total: u64) -> Result<(), ArchiveError> {
        self.sound()?;
        self.spanning = total > FRAME_BYTES as u64;
        self.current.extend_from_slice(head);
        Ok(())
    }

    /// Frame and offset of the byte that is put next; `more` says that there will be one.
    pub(super) fn place(&mut self, more: bool) -> Result<(u32, u32), ArchiveError> {
        if more {
            self.cut()?;
        }
        // A frame holds less than a mebibyte, a member of a mebibyte, and the bounded records of one more.
        let offset = u32::try_from(self.current.len()).map_err(|_| failure(too_large("a frame")))?;
        Ok((self.closed, offset))
    }

    /// Puts the next bytes of the member.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.cut()?;
            let room = if self.spanning {
                FRAME_BYTES.saturating_sub(self.current.len())
            } else {
                rest.len()
            };
            let (head, tail) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            self.current.extend_from_slice(head);
            rest = tail;
        }
        Ok(())
    }

    /// Puts so many zeros.
    pub(super) fn zeros(&mut self, count: u64) -> Result<(), ArchiveError> {
        let mut left = count;
        while left > 0 {
            let zeros = usize::try_from(left)
                .ok()
                .and_then(|left| ZEROS.get(..left))
                .unwrap_or(&ZEROS);
            self.put(zeros)?;
            left -= zeros.len() as u64;
        }
        Ok(())
    }

    /// Ends the member. A member that spans frames ends its last one.
    pub(super) fn end(&mut self) -> Result<(), ArchiveError> {
        if self.spanning || self.current.len() >= FRAME_BYTES {
            self.close()?;
        }
        self.spanning = false;
        Ok(())
    }

    /// Ends the frame under way if it has so many bytes, so that the next member is read without them.
    pub(super) fn part(&mut self, least: usize) -> Result<(), ArchiveError> {
        self.sound()?;
        if self.current.len() >= least {
            self.close()?;
        }
        Ok(())
    }

    /// Closes the last frame with members of trees, and returns the digests of all frames so far.
    pub(super) fn settle(&mut self) -> Result<&[Digest], ArchiveError> {
        self.sound()?;
        self.close()?;
        self.drain(true)?;
        Ok(&self.digests)
    }

    /// Writes the index frame, alone, and the seek table.
    pub(super) fn finish(mut self, index: Vec<u8>) -> Result<(W, Content, Digest), ArchiveError> {
        self.current = index;
        self.close()?;
        self.drain(true)?;
        let table = encode(&self.sizes).ok_or_else(|| failure(too_large("the seek table")))?;
        self.write(&table)?;
        self.out.flush().map_err(failure)?;
        let index = self
            .digests
            .pop()
            .ok_or_else(|| failure(io::Error::other("no index was written")))?;
        Ok((self.out, self.hasher.finish(), index))
    }

    /// Returns an error if a write has failed: continuing would make an archive that only looks complete.
    fn sound(&self) -> Result<(), ArchiveError> {
        if self.broken {
            Err(failure(io::Error::other("an earlier write failed")))
        } else {
            Ok(())
        }
    }

    /// Closes a full frame when more data of a spanning member follows.
    fn cut(&mut self) -> Result<(), ArchiveError> {
        if self.spanning && self.current.len() >= FRAME_BYTES {
            self.close()
        } else {
            Ok(())
        }
    }

    fn close(&mut self) -> Result<(), ArchiveError> {
        if self.current.is_empty() {
            return Ok(());
        }
        if self.closed >= MAX_FRAMES {
            return Err(failure(too_large("the seek table")));
        }
        let next = Vec::with_capacity(FRAME_BYTES);
        self.pool.submit(std::mem::replace(&mut self.current, next));
        self.closed += 1;
        self.drain(false)
    }

    /// Writes finished frames: all of them, or as many as the pool needs to take more.
    fn drain(&mut self, all: bool) -> Result<(), ArchiveError> {
        while all || self.pool.is_full() {
            let Some(packed) = self.pool.oldest() else { break };
            self.broken = true;
            let Packed { bytes, digest, raw } = packed.map_err(failure)?;
            let sizes = u32::try_from(bytes.len()).ok().zip(u32::try_from(raw).ok());
            let (packed, raw) = sizes.ok_or_else(|| failure(too_large("a frame")))?;
            self.write(&bytes)?;
            self.sizes.push(Sizes { packed, raw });
            self.digests.push(digest);
            self.broken = false;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.hasher.update(bytes);
        self.out.write_all(bytes).map_err(failure)
    }
}

fn failure(source: io::Error) -> ArchiveError {
    ArchiveError::Write { source }
}

fn too_large(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("{what} would be larger than the format allows"),
    )
}
