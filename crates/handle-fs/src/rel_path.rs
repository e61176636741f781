//! Paths below a mount: bytes, relative, free of `.`, `..`, NUL and empty parts.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::ByteString;

/// One file name: not empty, no `/`, no NUL, neither `.` nor `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Box<[u8]>);

/// A path relative to a mount root. The empty path is the root itself. Ordered part by part, so a directory's
/// descendants follow it directly.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct RelPath(Box<[u8]>);

/// Reason that bytes are not a name or a path below a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Starts with `/`.
    #[error("it is absolute")]
    Absolute,
    /// Has an empty part, or is an empty name.
    #[error("it has an empty part")]
    Empty,
    /// Has a part `.` or `..`.
    #[error("it has a part `.` or `..`")]
    Dots,
    /// Holds a NUL byte, or a `/` in a name.
    #[error("it holds a byte that no file name can hold")]
    Byte,
}

impl Name {
    /// Checks `bytes` and takes them as a name.
    ///
    /// # Errors
    /// When no directory entry can have this name.
    pub fn new(bytes: &[u8]) -> Result<Self, PathError> {
        check_part(bytes)?;
        Ok(Self(bytes.into()))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the name as the type of the standard library.
    #[must_use]
    pub fn as_os_str(&self) -> &std::ffi::OsStr {
        std::ffi::OsStr::from_bytes(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl RelPath {
    /// The mount root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Checks `bytes` and takes them as a path; a trailing `/` is not accepted.
    ///
    /// # Errors
    /// When they are absolute, hold NUL, or an empty, `.` or `..` part.
    pub fn new(bytes: &[u8]) -> Result<Self, PathError> {
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        if bytes.starts_with(b"/") {
            return Err(PathError::Absolute);
        }
        for part in bytes.split(|b| *b == b'/') {
            check_part(part)?;
        }
        Ok(Self(bytes.into()))
    }

    /// The child `name` of this directory.
    #[must_use]
    pub fn join(&self, name: &Name) -> Self {
        if self.0.is_empty() {
            return Self(name.0.clone());
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.0.len());
        bytes.extend_from_slice(&self.0);
        bytes.push(b'/');
        bytes.extend_from_slice(&name.0);
        Self(bytes.into())
    }

    /// The bytes, without a leading `/`.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path as the type of the standard library (relative; empty for the root).
    #[must_use]
    pub fn as_path(&self) -> &Path {
        Path::new(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// Returns true for the mount root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the parent directory and the name; `None` for the root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, Name)> {
        if self.is_root() {
            return None;
        }
        let (parent, name) = self.halves();
        Some((Self(parent.into()), Name(name.into())))
    }

    /// Returns the bytes of the parent's path and of the name; both empty for the root.
    #[must_use]
    pub fn halves(&self) -> (&[u8], &[u8]) {
        let cut = self.0.iter().rposition(|b| *b == b'/');
        let halves = cut.and_then(|at| Some((self.0.get(..at)?, self.0.get(at + 1..)?)));
        halves.unwrap_or((&[], &self.0))
    }

    /// The parts from the top; none for the root.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|part| !part.is_empty())
    }

    /// Returns true if this is `dir` or lies below it.
    #[must_use]
    pub fn is_within(&self, dir: &Self) -> bool {
        dir.is_root()
            || self
                .0
                .strip_prefix(&*dir.0)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// Returns the directories above this path, from the root down, without the path itself.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        let own = !self.is_root();
        let ends = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(at, _)| at);
        own.then_some(0)
            .into_iter()
            .chain(ends)
            .filter_map(|end| self.0.get(..end))
            .map(|bytes| Self(bytes.into()))
    }

    /// Returns the path on the host for a mount root at `root`.
    #[must_use]
    pub fn on_host(&self, root: &Path) -> PathBuf {
        if self.is_root() {
            root.to_path_buf()
        } else {
            root.join(self.as_path())
        }
    }
}

/// Checks that a directory entry can have this name.
fn check_part(bytes: &[u8]) -> Result<(), PathError> {
    match bytes {
        b"" => Err(PathError::Empty),
        b"." | b".." => Err(PathError::Dots),
        _ if bytes.iter().any(|b| matches!(b, 0 | b'/')) => Err(PathError::Byte),
        _ => Ok(()),
    }
}

/// Returns the sort key of a byte. `/` sorts before every byte a name can hold, so a subtree is contiguous.
fn rank(byte: u8) -> u8 {
    if byte == b'/' { 0 } else { byte }
}

impl Ord for RelPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Paths of one deep tree have long beginnings in common, which are compared as words.
        let ((ours, _), (theirs, _)) = (self.0.as_chunks::<8>(), other.0.as_chunks::<8>());
        let same = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count() * 8;
        let (ours, theirs) = (self.0.get(same..), other.0.get(same..));
        let (ours, theirs) = (ours.unwrap_or_default(), theirs.unwrap_or_default());
        ours.iter().map(|b| rank(*b)).cmp(theirs.iter().map(|b| rank(*b)))
    }
}

impl PartialOrd for RelPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for RelPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ByteString(self.0.to_vec()).serialize(serializer)
    }
}

impl JsonSchema for RelPath {
    fn schema_name() -> Cow<'static, str> {
        "RelPath".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ByteString::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&ByteString::deserialize(deserializer)?.0).map_err(D::Error::custom)
    }
}
