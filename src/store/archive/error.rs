//! Errors of archives. "It cannot be read", "it is damaged" and "it is too new" are different to the operator, and so are separate
//! variants.

use std::io;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, ErrorKind};
use crate::model::Digest;

/// Error of writing or reading an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The system refused to open or read it; its bytes may be valid.
    #[error("archive {path:?} cannot be read: {source}")]
    Read {
        /// The archive.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Its bytes are not what was written.
    #[error("archive {path:?} is damaged: {what}")]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// Damage, with its place.
        what: Damage,
    },
    /// A newer version of this program wrote it.
    #[error("archive {path:?} has format version {found}, newer than {known}, the last this program reads")]
    Newer {
        /// The archive.
        path: PathBuf,
        /// Its version.
        found: u8,
        /// The newest version that this program knows.
        known: u8,
    },
    /// A blob does not fit what the caller is ready to hold in memory.
    #[error("archive {path:?}: blob {digest} has {size} bytes, more than the {limit} it may have here")]
    TooLarge {
        /// The archive.
        path: PathBuf,
        /// The blob.
        digest: Digest,
        /// Its size in bytes.
        size: u64,
        /// The bound in bytes.
        limit: u64,
    },
    /// The receiver of streamed content failed; the archive itself was read.
    #[error("content from archive {path:?} could not be handed on: {source}")]
    Receiver {
        /// The archive.
        path: PathBuf,
        /// Error of the receiver.
        source: io::Error,
    },
    /// The archive being written could not be written; what is there is to be thrown away.
    #[error("the new archive cannot be written: {source}")]
    Write {
        /// Error of the system.
        source: io::Error,
    },
    /// The caller asked for a member that an archive cannot hold. Nothing was written.
    #[error("\"{member}\" cannot be put into an archive: {why}")]
    Refused {
        /// The member's path, escaped.
        member: String,
        /// The reason.
        why: &'static str,
    },
}

/// Damage in the bytes of an archive, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The archive is shorter or longer than its record says.
    #[error("it has {found} bytes instead of {expected}")]
    Size {
        /// Bytes the record says.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The digest of the whole file is another.
    #[error("its bytes are not those that were written")]
    Digest,
    /// The seek table at its end.
    #[error("its seek table is wrong: {0}")]
    SeekTable(&'static str),
    /// The index.
    #[error("its index is wrong: {0}")]
    Index(&'static str),
    /// A compressed frame (counted from 0).
    #[error("frame {frame} is wrong: {why}")]
    Frame {
        /// Number of the frame.
        frame: u32,
        /// Description of the problem.
        why: &'static str,
    },
    /// A blob whose frames are whole but whose form is not.
    #[error("blob {digest} is wrong: {why}")]
    Blob {
        /// The blob.
        digest: Digest,
        /// Description of the problem.
        why: &'static str,
    },
    /// A tar member.
    #[error("the tar member at byte {at} is wrong: {why}")]
    Member {
        /// Offset of its header in the decompressed stream, in bytes.
        at: u64,
        /// Description of the problem.
        why: &'static str,
    },
}

impl ArchiveError {
    /// Returns true if the archive's bytes are damaged, or a blob is larger than the caller accepts.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::TooLarge { .. })
    }

    /// Returns true if a newer version wrote the archive.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Newer { .. })
    }
}

impl Diagnostic for ArchiveError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Newer { .. } => ErrorKind::NewerStore,
            Self::Damaged { .. } | Self::TooLarge { .. } => ErrorKind::Integrity,
            Self::Read { .. } | Self::Receiver { .. } | Self::Write { .. } | Self::Refused { .. } => {
                ErrorKind::Io
            }
        }
    }
}
