//! Bounded reads: of whole small files, of a part, of a compressed stream; and the steps through bytes in memory.

use std::io::{self, BufReader, Read};

use flate2::bufread::ZlibDecoder;

use super::{Files, Found, GitError, error::shown};
use handle_fs::{Name, RelPath};

/// Maximum bytes of a file with one name or a few lines (HEAD, `gitdir`, MERGE_HEAD).
pub(super) const SMALL: u64 = 64 << 10;

/// Returns a path in a directory, from trusted parts.
#[must_use]
pub fn below(dir: &RelPath, parts: &str) -> RelPath {
    let names = parts
        .split('/')
        .filter_map(|part| Name::new(part.as_bytes()).ok());
    names.fold(dir.clone(), |path, name| path.join(&name))
}

/// Returns a path in a directory, from untrusted bytes; `None` if they name nothing below it.
pub(super) fn below_foreign(dir: &RelPath, bytes: &[u8]) -> Option<RelPath> {
    let rest = RelPath::new(bytes).ok()?;
    let names = rest.parts().filter_map(|part| Name::new(part).ok());
    Some(names.fold(dir.clone(), |path, name| path.join(&name)))
}

/// Returns the object at a path; `None` if there is none.
pub(super) fn look(files: &dyn Files, path: &RelPath) -> Result<Option<Found>, GitError> {
    files.look(path).map_err(|source| GitError::io(path, source))
}

/// Returns the length of a regular file; `None` if there is none.
pub(super) fn size(files: &dyn Files, path: &RelPath) -> Result<Option<u64>, GitError> {
    match look(files, path)? {
        None => Ok(None),
        Some(Found::File { size, .. }) => Ok(Some(size)),
        Some(_) => Err(GitError::NotAFile {
            path: shown(path.as_bytes()),
        }),
    }
}

/// Reads a whole file of at most `most` bytes; `None` if there is none.
///
/// # Errors
/// [`GitError`] if the file cannot be read, or is larger.
pub fn whole(files: &dyn Files, path: &RelPath, most: u64) -> Result<Option<Vec<u8>>, GitError> {
    let Some(size) = size(files, path)? else {
        return Ok(None);
    };
    if size > most {
        return Err(GitError::too_large(path, most));
    }
    // One byte more, for it may grow meanwhile.
    let mut bytes = Vec::new();
    Stream::new(files, path, 0, most + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| GitError::io(path, source))?;
    if bytes.len() as u64 > most {
        return Err(GitError::too_large(path, most));
    }
    Ok(Some(bytes))
}

/// Fills the buffer from a part of a file.
pub(super) fn exact(files: &dyn Files, path: &RelPath, room: &mut [u8], at: u64) -> Result<(), GitError> {
    let length = room.len() as u64;
    Stream::new(files, path, at, length)
        .read_exact(room)
        .map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => GitError::damaged(path, "it ends too early"),
            _ => GitError::io(path, source),
        })
}

/// Part of a file as a stream that ends after `left` bytes.
pub(super) struct Stream<'a> {
    files: &'a dyn Files,
    path: &'a RelPath,
    at: u64,
    left: u64,
}

impl<'a> Stream<'a> {
    pub(super) fn new(files: &'a dyn Files, path: &'a RelPath, at: u64, left: u64) -> Self {
        Self {
            files,
            path,
            at,
            left,
        }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(room.len(), |left| left.min(room.len()));
        let Some(room) = room.get_mut(..most).filter(|room| !room.is_empty()) else {
            return Ok(0);
        };
        let count = self.files.read_at(self.path, room, self.at)?.min(most);
        self.at = self.at.saturating_add(count as u64);
        self.left -= count as u64;
        Ok(count)
    }
}

/// Returns the content of a zlib stream in a file. `size` is the expected length. A compressor needs little more for it, so a
/// stream of empty blocks ends soon.
pub(super) fn inflater<'a>(files: &'a dyn Files, path: &'a RelPath, at: u64, size: u64) -> impl Read + 'a {
    let most = size.saturating_mul(2).saturating_add(1024);
    let stream = Stream::new(files, path, at, most);
    ZlibDecoder::new(BufReader::with_capacity(4096, stream))
}

/// Reads exactly `size` bytes, and then the end of the stream (which carries its checksum).
pub(super) fn rest_of(mut stream: impl Read, path: &RelPath, size: u64) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::new();
    (&mut stream)
        .take(size.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| broken_stream(path, source))?;
    if bytes.len() as u64 == size {
        Ok(bytes)
    } else {
        Err(GitError::damaged(
            path,
            "an object has not the length that it claims",
        ))
    }
}

/// Converts an error so that an invalid stream differs from a failing disk.
pub(super) fn broken_stream(path: &RelPath, source: io::Error) -> GitError {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    match source.kind() {
        InvalidData | InvalidInput | UnexpectedEof if source.raw_os_error().is_none() => {
            GitError::damaged(path, "compressed data is invalid")
        }
        _ => GitError::io(path, source),
    }
}

/// Steps through bytes; every step may find that there are too few.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads up to the next `end`, and skips that.
    pub(super) fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = self.0.iter().position(|byte| *byte == end)?;
        let taken = self.take(at)?;
        self.byte()?;
        Some(taken)
    }

    /// Reads a number in groups of seven bits, each next one plus one (offsets in packs, lengths in index version 4).
    pub(super) fn offset(&mut self) -> Option<u64> {
        let mut byte = self.byte()?;
        let mut value = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            value = value.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
        }
        Some(value)
    }

    /// Reads a number in groups of seven bits, the lowest first, after a first group that was read already.
    pub(super) fn size(&mut self, first: u64, bits: u32, more: bool) -> Option<u64> {
        let (mut value, mut shift, mut more) = (first, bits, more);
        while more {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            let shifted = part.checked_shl(shift).filter(|up| up >> shift == part)?;
            value |= shifted;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        Some(value)
    }
}
