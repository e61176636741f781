//! Object formats of repositories, and names of objects in each of them.

use std::fmt;

use sha2::Digest as _;

use super::reading::Cursor;
use super::{Config, Oid};

/// Hash function that names the objects of a repository (`extensions.objectFormat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectFormat {
    /// SHA-1, which git uses unless the configuration says otherwise.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl ObjectFormat {
    /// Returns the format that the configuration of a repository names; `None` if it is unknown.
    #[must_use]
    pub fn of(config: &Config) -> Option<Self> {
        match config.last("extensions", None, "objectformat") {
            None => Some(Self::Sha1),
            Some(Some(b"sha1")) => Some(Self::Sha1),
            Some(Some(b"sha256")) => Some(Self::Sha256),
            Some(_) => None,
        }
    }
}

/// Name of an object in one of the formats, as files of git contain it.
pub(super) trait Id: Copy + Eq + fmt::Display {
    /// Length in bytes.
    const LENGTH: usize;

    /// Reads a name; `None` if the bytes end too early.
    fn read(rest: &mut Cursor<'_>) -> Option<Self>;

    /// Returns the checksum that git writes after this content; `None` if the content was built to collide with another's.
    fn checksum(content: &[u8]) -> Option<Self>;

    /// Returns true if all bytes are zero, which means "none" to git.
    fn is_null(&self) -> bool;
}

impl Id for Oid {
    const LENGTH: usize = Self::LENGTH;

    fn read(rest: &mut Cursor<'_>) -> Option<Self> {
        Some(Self::from_bytes(rest.array()?))
    }

    fn checksum(content: &[u8]) -> Option<Self> {
        Self::of_bytes(content)
    }

    fn is_null(&self) -> bool {
        Self::is_null(self)
    }
}

/// Name of an object in a repository with SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Sha256([u8; 32]);

impl Id for Sha256 {
    const LENGTH: usize = 32;

    fn read(rest: &mut Cursor<'_>) -> Option<Self> {
        rest.array().map(Self)
    }

    fn checksum(content: &[u8]) -> Option<Self> {
        Some(Self(sha2::Sha256::digest(content).into()))
    }

    fn is_null(&self) -> bool {
        self.0 == [0; Self::LENGTH]
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
