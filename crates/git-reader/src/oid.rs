//! Names of git objects: SHA-1 of a short head and the content.

use std::fmt;
use std::io::{self, Read};

use sha1_checked::{Digest as _, Sha1};

use super::object_kind::ObjectKind;

/// The name of a git object (SHA-1; repositories with SHA-256 are not read).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid([u8; 20]);

impl Oid {
    /// Length of a name in bytes.
    pub const LENGTH: usize = 20;

    /// Makes a name of its bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Parses 40 hexadecimal digits, and nothing else.
    #[must_use]
    pub fn parse(hex: &[u8]) -> Option<Self> {
        let (pairs, []) = hex.as_chunks::<2>() else {
            return None;
        };
        if pairs.len() != Self::LENGTH {
            return None;
        }
        let mut bytes = [0; Self::LENGTH];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns true if all bytes are zero, which means "none" to git.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == [0; Self::LENGTH]
    }

    /// Returns the name of an object with this content; `None` if the content was built to collide with another's.
    #[must_use]
    pub fn of(kind: ObjectKind, content: &[u8]) -> Option<Self> {
        let mut hash = begin(kind, content.len() as u64);
        hash.update(content);
        end(hash)
    }

    /// Returns the checksum at the end of an index of a repository with SHA-1.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let mut hash = Sha1::new();
        hash.update(bytes);
        end(hash)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn digit(hex: u8) -> Option<u8> {
    match hex {
        b'0'..=b'9' => Some(hex - b'0'),
        b'a'..=b'f' => Some(hex - b'a' + 10),
        b'A'..=b'F' => Some(hex - b'A' + 10),
        _ => None,
    }
}

fn begin(kind: ObjectKind, size: u64) -> Sha1 {
    let mut hash = Sha1::new();
    hash.update(format!("{} {size}\0", kind.word()));
    hash
}

fn end(hash: Sha1) -> Option<Oid> {
    let result = hash.try_finalize();
    (!result.has_collision()).then(|| Oid((*result.hash()).into()))
}

/// Returns the name that git gives to a file with this content.
///
/// # Errors
/// Error of the reader; `InvalidData` if there are not exactly `size` bytes, or if they were built to collide.
pub fn blob_id(size: u64, mut reader: impl Read) -> io::Result<Oid> {
    let mut hash = begin(ObjectKind::Blob, size);
    let mut room = vec![0; 64 << 10];
    let mut left = size;
    loop {
        let count = match reader.read(&mut room) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        left = (left.checked_sub(count as u64)).ok_or_else(|| wrong("it is longer than was said"))?;
        hash.update(room.get(..count).unwrap_or_default());
    }
    if left > 0 {
        return Err(wrong("it is shorter than was said"));
    }
    end(hash).ok_or_else(|| wrong("it was built to have the same SHA-1 as other content"))
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
