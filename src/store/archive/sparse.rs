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

/// Number of segments between two marks of an index.
const EVERY: u64 = 256;

/// Place in a map at which reading can begin.
struct Mark {
    /// Offset in the file of the segment that comes next.
    offset: u64,
    /// Bytes of data before that of the segment.
    data: u64,
    /// Bytes of the map before the segment's numbers.
    map: u64,
    /// Number of segments from there on.
    left: u64,
    /// End of the segment before it.
    end: u64,
}

/// Marks in a map, so that a part of a file with millions of segments is found without reading all of them. It holds one mark for
/// [`EVERY`] segments.
pub(super) struct SparseIndex {
    marks: Vec<Mark>,
    /// Bytes before the data: the map with its padding.
    data: u64,
}

impl SparseIndex {
    /// Reads the map that lies from `start` on, and checks it whole.
    pub(super) fn read(start: &Cursor<'_>, blob: &Blob) -> Result<Self, ArchiveError> {
        let mut map = MapReader::open(start.clone(), *blob)?;
        let (mut marks, mut total, mut count) = (Vec::new(), 0_u64, 0_u64);
        loop {
            let (place, left, end) = (start.left() - map.cursor.left(), map.left, map.end);
            let Some(segment) = map.next()? else { break };
            if count.is_multiple_of(EVERY) {
                marks.push(Mark {
                    offset: segment.offset,
                    data: total,
                    map: place,
                    left,
                    end,
                });
            }
            // Segments do not overlap and lie inside the file, so the sum cannot overflow.
            total += segment.length;
            count += 1;
        }
        let data = end_of_map(start, &mut map, total)?;
        Ok(Self { marks, data })
    }

    /// Returns the segments from the last mark before `at` on, each with the offset of its data behind `start`.
    fn segments_near<'a>(
        &self,
        start: &Cursor<'a>,
        blob: &Blob,
        at: u64,
    ) -> impl FnMut() -> Result<Option<(Segment, u64)>, ArchiveError> + use<'a> {
        let before = self.marks.partition_point(|mark| mark.offset <= at);
        let mark = self.marks.get(before.saturating_sub(1));
        let (place, left, end) = mark.map_or((0, 0, 0), |mark| (mark.map, mark.left, mark.end));
        let mut cursor = start.clone();
        cursor.skip(place);
        let mut map = MapReader {
            cursor,
            blob: *blob,
            left,
            end,
        };
        let mut data = self.data + mark.map_or(0, |mark| mark.data);
        move || {
            Ok(map.next()?.map(|segment| {
                let begin = data;
                data += segment.length;
                (segment, begin)
            }))
        }
    }

    /// Returns the first segment that ends behind `at`; `None` if only a hole follows.
    pub(super) fn segment_from(
        &self,
        start: &Cursor<'_>,
        blob: &Blob,
        at: u64,
    ) -> Result<Option<Segment>, ArchiveError> {
        let mut next = self.segments_near(start, blob, at);
        while let Some((segment, _)) = next()? {
            if segment.length > 0 && segment.offset + segment.length > at {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }

    /// Fills `room`, whose end lies within the file, with the bytes from `at` on.
    pub(super) fn fill(
        &self,
        start: &Cursor<'_>,
        blob: &Blob,
        at: u64,
        room: &mut [u8],
    ) -> Result<(), ArchiveError> {
        room.fill(0);
        let end = at + room.len() as u64;
        let mut next = self.segments_near(start, blob, at);
        while let Some((segment, data)) = next()? {
            if segment.offset >= end {
                break;
            }
            let (from, to) = (segment.offset.max(at), (segment.offset + segment.length).min(end));
            if from >= to {
                continue;
            }
            let place = |offset: u64| usize::try_from(offset - at).unwrap_or(usize::MAX);
            let mut cursor = start.clone();
            cursor.skip(data + (from - segment.offset));
            cursor.fill(room.get_mut(place(from)..place(to)).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Checks that the map, which was read to its end, and `total` bytes of data are the blob, and returns the length of the map with its
/// padding.
fn end_of_map(start: &Cursor<'_>, map: &mut MapReader<'_>, total: u64) -> Result<u64, ArchiveError> {
    let length = start.left() - map.cursor.left();
    let whole = length + padding(length);
    if whole.checked_add(total) != Some(map.blob.stored) {
        return Err(map.damage("its sparse map does not agree with its length"));
    }
    skip_padding(map, padding(length))?;
    Ok(whole)
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
    let map = end_of_map(start, &mut check, total)?;
    let mut data = start.clone();
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
