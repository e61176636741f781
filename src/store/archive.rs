//! Archives: POSIX tar in independent zstd frames with a seek table and an index; the only place that knows tar and
//! zstd. The form is stated in docs/format.md, section "Archive".
//!
//! It never restores: nothing here creates, follows or changes a path of a mount.

mod content;
mod cursor;
mod error;
mod frame;
mod frame_cache;
mod frames;
mod header;
mod index;
mod members;
mod pax;
mod pool;
mod random_access;
mod reader;
mod seek;
mod source;
mod sparse;
mod writer;

pub use error::{ArchiveError, Damage};
pub use frame_cache::SharedFrames;
pub use members::{Member, MemberKind, Members};
pub use random_access::BlobParts;
pub use reader::{Archive, DecodeBuffers};
pub use writer::{Finished, Stored, Writer};

use crate::model::Digest;

/// The directory, at the top of the tar stream, whose members belong to no tree. No mount may have this label.
pub const INTERNAL: &str = ".jackin-recovery";

/// zstd level of archives: on source trees level 3 costs twice the time of 1 for a tenth of the size.
pub const LEVEL: i32 = 1;

/// Uncompressed bytes after which a frame is closed, and at which the data of a larger member is cut.
const FRAME_BYTES: usize = 1 << 20;

/// Size of a tar block in bytes.
const BLOCK: usize = 512;

/// Zeros enough to fill a block, or to end a tar stream, and for files that became shorter.
static ZEROS: [u8; 64 * BLOCK] = [0; 64 * BLOCK];

/// A stretch of data in a file with holes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes; never 0.
    pub length: u64,
}

/// Kind of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobKind {
    /// A file's content, byte for byte.
    Content,
    /// A file's content as a sparse map and its segments.
    Sparse,
    /// A manifest chunk.
    Chunk,
    /// A manifest list.
    List,
    /// A settings file of an agent without its secrets.
    Settings,
    /// A bundle of private files, encrypted.
    Sealed,
    /// Export note of an exported archive.
    Export,
}

/// Location of content in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// The content's digest: the blob's name.
    pub digest: Digest,
    /// Kind of the content.
    pub kind: BlobKind,
    /// The frame in which its data begins.
    pub frame: u32,
    /// Offset in that frame, decompressed, in bytes.
    pub offset: u32,
    /// Bytes in the tar stream, without padding.
    pub stored: u64,
    /// Bytes of the content, holes included.
    pub logical: u64,
}

/// A part of a blob's content as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The next bytes; never empty.
    Data(&'a [u8]),
    /// So many zeros that the file did not hold; never 0.
    Hole(u64),
}

impl Piece<'_> {
    /// Appends the piece to the bytes before it.
    pub fn append_to(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Data(data) => bytes.extend_from_slice(data),
            Self::Hole(count) => bytes.resize(bytes.len() + usize::try_from(count).unwrap_or(0), 0),
        }
    }
}

/// The version of the archive's form that is written, and the newest that is read.
pub const FORMAT: u32 = index::VERSION as u32;

/// The version of the zstd library that is in use.
#[must_use]
pub fn zstd_version() -> &'static str {
    zstd::zstd_safe::version_string()
}

/// Returns the number of bytes that pad `length` to whole blocks.
fn padding(length: u64) -> u64 {
    length.wrapping_neg() % BLOCK as u64
}

/// Returns the number of decimal digits of `number`.
fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests;
