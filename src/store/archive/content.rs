//! Copies the data of one file into the frames. The archive stays whole whatever the data does: what does not come is
//! zeros, and is counted.

use std::io::{self, Read, Write};

use super::ArchiveError;
use super::frames::Frames;
use super::padding;
use super::sparse::Map;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// The data of one file, with what became of it.
pub(super) struct Source<'a> {
    data: &'a mut dyn Read,
    buffer: &'a mut Vec<u8>,
    given: u64,
    error: Option<io::Error>,
    ended: bool,
}

impl<'a> Source<'a> {
    /// Reads `data` by way of `buffer`, which can be used again for the next.
    pub(super) fn new(data: &'a mut dyn Read, buffer: &'a mut Vec<u8>) -> Self {
        Self {
            data,
            buffer,
            given: 0,
            error: None,
            ended: false,
        }
    }

    /// Writes `length` bytes: those that come, then zeros.
    pub(super) fn dense<W: Write>(
        &mut self,
        length: u64,
        frames: &mut Frames<W>,
    ) -> Result<(), ArchiveError> {
        let mut left = length;
        while left > 0 && !self.ended {
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER);
            let bytes = self.next(most);
            frames.put(bytes)?;
            left -= bytes.len() as u64;
        }
        frames.zeros(left)
    }

    /// Writes a map and its segments.
    pub(super) fn sparse<W: Write>(
        &mut self,
        map: Map<'_>,
        frames: &mut Frames<W>,
    ) -> Result<(), ArchiveError> {
        let mut lines = 0;
        for number in map.numbers() {
            let line = format!("{number}\n");
            frames.put(line.as_bytes())?;
            lines += line.len() as u64;
        }
        frames.zeros(padding(lines))?;
        for run in map.runs() {
            let mut at = run.offset;
            for segment in run.segments {
                frames.zeros(segment.offset - at)?;
                self.dense(segment.length, frames)?;
                at = segment.offset + segment.length;
            }
            frames.zeros(run.offset + run.length - at)?;
        }
        Ok(())
    }

    /// Returns the number of bytes read, and the error that ended the data early, if any.
    pub(super) fn end(self) -> (u64, Option<io::Error>) {
        (self.given, self.error)
    }

    /// The next bytes, at most `most`; none at the end or behind an error.
    fn next(&mut self, most: usize) -> &[u8] {
        if self.buffer.is_empty() {
            // Memory that comes as zeros is not written to before data come.
            *self.buffer = vec![0; BUFFER];
        }
        let room = self.buffer.get_mut(..most).unwrap_or_default();
        loop {
            match self.data.read(room) {
                Ok(count) => {
                    let bytes = room.get(..count).unwrap_or_default();
                    self.ended = bytes.is_empty();
                    self.given += bytes.len() as u64;
                    return bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    (self.ended, self.error) = (true, Some(error));
                    return &[];
                }
            }
        }
    }
}
