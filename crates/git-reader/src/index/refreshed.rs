//! Comparison of two index files that ignores what git caches about the files of the work tree.

use super::{CHECKSUM, Parsed, parse};
use crate::Oid;

/// Extensions that only make git faster: trees of directories, untracked paths, answers of a file system monitor, and offsets for
/// reading in parallel.
const CACHES: [&[u8; 4]; 5] = [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];

/// Returns true if two index files stage the same: their entries agree in mode, object, stage, flags and path, and their extensions in
/// all but caches. Times, inodes, owners and sizes do not count: `git status` alone rewrites them. False also if either is damaged,
/// split, or of a form that is not known.
#[must_use]
pub fn stages_the_same(one: &[u8], other: &[u8]) -> bool {
    match (valid(one), valid(other)) {
        (Some(one), Some(other)) => one.index == other.index && meaningful(&one).eq(meaningful(&other)),
        _ => false,
    }
}

/// Parses an index whose checksum is right, or was omitted, and which needs no second file.
fn valid(bytes: &[u8]) -> Option<Parsed> {
    let parsed = parse(bytes).ok().filter(|parsed| parsed.link.is_none())?;
    let (content, _) = bytes.split_at(bytes.len().checked_sub(CHECKSUM)?);
    let is_right = parsed.checksum.is_null() || Oid::of_bytes(content) == Some(parsed.checksum);
    (is_right && parsed.index.entries.iter().all(|entry| !entry.path.is_empty())).then_some(parsed)
}

fn meaningful(parsed: &Parsed) -> impl Iterator<Item = &([u8; 4], Vec<u8>)> {
    let extensions = parsed.extensions.iter();
    extensions.filter(|(name, _)| !CACHES.contains(&name))
}
