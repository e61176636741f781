//! A place in the decompressed tar stream of an archive; moves on through its frames, one decompressed at a time.

use std::sync::Arc;

use super::frame_cache::FrameCache;
use super::source::Source;
use super::{ArchiveError, Damage, Piece};

/// A stretch of the stream, read from its front.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    source: &'a Source,
    kept: &'a FrameCache,
    at: u64,
    end: u64,
    /// The frame that was used last, and where in the stream it begins.
    held: Option<(u64, Arc<Vec<u8>>)>,
}

impl<'a> Cursor<'a> {
    /// The stream from `at` up to `end`, in bytes.
    pub(super) fn new(source: &'a Source, kept: &'a FrameCache, at: u64, end: u64) -> Self {
        Self {
            source,
            kept,
            at,
            end,
            held: None,
        }
    }

    /// Returns the position in the stream, in bytes.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns the number of bytes up to the end.
    pub(super) fn left(&self) -> u64 {
        self.end - self.at
    }

    /// The next bytes, at most `most`, as many as lie in one frame; none only at the end.
    pub(super) fn next(&mut self, most: u64) -> Result<&[u8], ArchiveError> {
        let most = self.left().min(most);
        if most == 0 {
            return Ok(&[]);
        }
        let covers = |(start, bytes): &(u64, Arc<Vec<u8>>)| {
            self.at
                .checked_sub(*start)
                .is_some_and(|offset| offset < bytes.len() as u64)
        };
        if !self.held.as_ref().is_some_and(covers) {
            // First it is let go: its memory may take the next one.
            self.held = None;
            self.held = Some(self.source.frame_at(self.at, self.kept)?);
        }
        let outside = Damage::SeekTable("a frame ends before the stream does");
        let Some((start, bytes)) = &self.held else {
            return Err(self.damaged(outside));
        };
        let length = usize::try_from(most).unwrap_or(usize::MAX);
        let rest = usize::try_from(self.at - start)
            .ok()
            .and_then(|offset| bytes.get(offset..));
        let found = rest
            .map(|rest| rest.get(..length).unwrap_or(rest))
            .unwrap_or_default();
        if found.is_empty() {
            return Err(self.damaged(outside));
        }
        self.at += found.len() as u64;
        Ok(found)
    }

    /// Moves on by `count` bytes, at most to the end; frames that lie between are not read.
    pub(super) fn skip(&mut self, count: u64) {
        self.at += self.left().min(count);
    }

    /// Fills `room` with the next bytes.
    pub(super) fn fill(&mut self, mut room: &mut [u8]) -> Result<(), ArchiveError> {
        while !room.is_empty() {
            let bytes = self.next(room.len() as u64)?;
            let Some((head, tail)) = room
                .split_at_mut_checked(bytes.len())
                .filter(|_| !bytes.is_empty())
            else {
                return Err(self.damaged(Damage::SeekTable("a blob ends behind the stream")));
            };
            head.copy_from_slice(bytes);
            room = tail;
        }
        Ok(())
    }

    /// Fills `block`; `None` when the stream ends first.
    pub(super) fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, ArchiveError> {
        let mut block = [0; N];
        let mut room = block.as_mut_slice();
        while !room.is_empty() {
            let bytes = self.next(room.len() as u64)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let Some((head, tail)) = room.split_at_mut_checked(bytes.len()) else {
                return Ok(None);
            };
            head.copy_from_slice(bytes);
            room = tail;
        }
        Ok(Some(block))
    }

    /// Hands on the next `count` bytes.
    pub(super) fn pieces(
        &mut self,
        count: u64,
        each: &mut dyn FnMut(Piece<'_>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let mut left = count;
        while left > 0 {
            let bytes = self.next(left)?;
            let length = bytes.len() as u64;
            if length == 0 {
                return Err(self.damaged(Damage::SeekTable("a blob ends behind the stream")));
            }
            each(Piece::Data(bytes))?;
            left -= length;
        }
        Ok(())
    }

    /// An error that names the archive.
    pub(super) fn damaged(&self, what: Damage) -> ArchiveError {
        self.source.damaged(what)
    }
}
