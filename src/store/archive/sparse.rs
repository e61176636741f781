//! The map of a file with holes, GNU tar's PAX sparse format 1.0: the number of segments, then offset and length of
//! each, one decimal number a line, padded to whole blocks; the segments' bytes follow.
//! (<https://www.gnu.org/software/tar/manual/html_section/Sparse-Formats.html>)

use super::cursor::Cursor;
use super::{ArchiveError, BLOCK, Blob, Damage, Piece, Segment, digits, padding};

/// The map as it is written. It is never held as a whole: a file can have millions of segments.
#[derive(Clone, Copy)]
pub(super) struct Map<'a> {
    segments: &'a [Segment],
    size: u64,
}

/// A segment of the map: one or more of the file's, with the zeros between and behind them.
///
/// GNU tar reads every segment from a new block, others read them back to back; so all but the last are whole blocks.
pub(super) struct Run<'a> {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// Segments to read from the file.
    pub(super) segments: &'a [Segment],
}

impl<'a> Map<'a> {
    /// The map of a file of `size` bytes; `None` when the segments are empty, out of order, overlap or lie outside.
    pub(super) fn new(segments: &'a [Segment], size: u64) -> Option<Self> {
        let mut end = 0_u64;
        for segment in segments {
            if segment.length == 0 || segment.offset < end {
                return None;
            }
            end = segment.offset.checked_add(segment.length)?;
        }
        (end <= size).then_some(Self { segments, size })
    }

    /// The segments that are written.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run<'a>> + use<'a> {
        let mut rest = self.segments;
        std::iter::from_fn(move || {
            let first = rest.first()?;
            let (mut count, mut length) = (1, first.length);
            while let Some(next) = rest.get(count) {
                let apart = next.offset - first.offset;
                if length + padding(length) <= apart {
                    length += padding(length);
                    break;
                }
                length = apart + next.length;
                count += 1;
            }
            let (segments, tail) = rest.split_at_checked(count)?;
            rest = tail;
            Some(Run {
                offset: first.offset,
                length,
                segments,
            })
        })
    }

    /// Bytes of data.
    pub(super) fn data(&self) -> u64 {
        self.runs().map(|run| run.length).sum()
    }

    /// Bytes of the map, padding included.
    pub(super) fn length(&self) -> u64 {
        let lines: u64 = self.numbers().map(|number| digits(number) + 1).sum();
        lines + padding(lines)
    }

    /// The map's numbers in order, without the padding.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + use<'a> {
        let end = self.segments.last().map_or(0, |last| last.offset + last.length);
        // GNU tar gives a file its length by an empty segment at its end when it ends in a hole.
        let tail = (end < self.size).then_some((self.size, 0));
        let count = self.runs().count() as u64 + u64::from(tail.is_some());
        let all = self.runs().map(|run| (run.offset, run.length)).chain(tail);
        std::iter::once(count).chain(all.flat_map(|(offset, length)| [offset, length]))
    }
}

/// Reads a map while it checks it; holds one segment at a time, so a hostile map costs no memory.
struct MapReader<'a> {
    cursor: Cursor<'a>,
    blob: Blob,
    left: u64,
    end: u64,
}

impl<'a> MapReader<'a> {
    fn open(cursor: Cursor<'a>, blob: Blob) -> Result<Self, ArchiveError> {
        let mut map = Self {
            cursor,
            blob,
            left: 0,
            end: 0,
        };
        map.left = map.number()?;
        Ok(map)
    }

    fn next(&mut self) -> Result<Option<Segment>, ArchiveError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let segment = Segment {
            offset: self.number()?,
            length: self.number()?,
        };
        let end = segment.offset.checked_add(segment.length);
        let empty_tail = self.left == 0 && segment.offset == self.blob.logical;
        match end {
            Some(end)
                if segment.offset >= self.end
                    && end <= self.blob.logical
                    && (segment.length > 0 || empty_tail) =>
            {
                self.end = end;
                Ok(Some(segment))
            }
            _ => Err(self.damage("a segment of its sparse map overlaps another or lies outside the file")),
        }
    }

    fn number(&mut self) -> Result<u64, ArchiveError> {
        let mut number = None;
        loop {
            let byte = self.cursor.next(1)?.first().copied();
            let digit = match byte {
                Some(digit @ b'0'..=b'9') => u64::from(digit - b'0'),
                Some(b'\n') => return number.ok_or_else(|| self.damage("its sparse map has an empty line")),
                _ => return Err(self.damage("its sparse map is cut off or holds other than numbers")),
            };
            let next = number
                .unwrap_or(0_u64)
                .checked_mul(10)
                .and_then(|n| n.checked_add(digit));
            number = Some(next.ok_or_else(|| self.damage("a number of its sparse map is too large"))?);
        }
    }

    fn damage(&self, why: &'static str) -> ArchiveError {
        self.cursor.damaged(Damage::Blob {
            digest: self.blob.digest,
            why,
        })
    }
}

/// Hands on the content of a sparse blob that lies from `start` on. The map is read twice: once to find where the data
/// begins and whether all of it fits, before anything is handed on, and once beside the data.
pub(super) fn stream(
    start: &Cursor<'_>,
    blob: &Blob,
    each: &mut dyn FnMut(Piece<'_>) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut check = MapReader::open(start.clone(), *blob)?;
    let mut total = 0_u64;
    while let Some(segment) = check.next()? {
        // Segments do not overlap and lie inside the file, so the sum cannot overflow.
        total += segment.length;
    }
    let length = start.left() - check.cursor.left();
    let map = length + padding(length);
    if map.checked_add(total) != Some(blob.stored) {
        return Err(check.damage("its sparse map does not agree with its length"));
    }
    let mut data = start.clone();
    skip_padding(&mut check, padding(length))?;
    data.skip(map);
    let mut map = MapReader::open(start.clone(), *blob)?;
    let mut at = 0;
    while let Some(segment) = map.next()? {
        if segment.offset > at {
            each(Piece::Hole(segment.offset - at))?;
        }
        data.pieces(segment.length, each)?;
        at = segment.offset + segment.length;
    }
    if at < blob.logical {
        each(Piece::Hole(blob.logical - at))?;
    }
    Ok(())
}

fn skip_padding(map: &mut MapReader<'_>, count: u64) -> Result<(), ArchiveError> {
    let mut left = count.min(BLOCK as u64);
    while left > 0 {
        let bytes = map.cursor.next(left)?;
        if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
            return Err(map.damage("its sparse map is not padded with zeros"));
        }
        left -= bytes.len() as u64;
    }
    Ok(())
}
