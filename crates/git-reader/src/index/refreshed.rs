//! Comparison of two index files that ignores what git caches about the files of the work tree.

use super::{CHECKSUM, Index, Parsed, parse, split};
use crate::Oid;

/// Extensions that only make git faster: trees of directories, untracked paths, answers of a file system monitor, and offsets for
/// reading in parallel.
const CACHES: [&[u8; 4]; 5] = [b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"];

/// Content of an index file, with that of the shared index if it is split.
#[derive(Clone, Copy, Debug)]
pub struct IndexFiles<'a> {
    /// Content of the index itself.
    pub own: &'a [u8],
    /// Content of the shared index that it names; `None` if there is none, or it is not known.
    pub shared: Option<&'a [u8]>,
}

impl<'a> From<&'a Vec<u8>> for IndexFiles<'a> {
    fn from(own: &'a Vec<u8>) -> Self {
        Self::from(own.as_slice())
    }
}

impl<'a> From<&'a [u8]> for IndexFiles<'a> {
    fn from(own: &'a [u8]) -> Self {
        Self { own, shared: None }
    }
}

/// Returns the name of the shared index that a split index needs; `None` if it is whole, or invalid.
///
/// The file is called `sharedindex.NAME`, and the name is its checksum.
#[must_use]
pub fn shared_index(own: &[u8]) -> Option<Oid> {
    parse(own).ok()?.base()
}

/// Returns true if two indexes stage the same: their entries agree in mode, object, stage, flags and path, and their extensions in
/// all but caches. Times, inodes, owners and sizes do not count: `git status` alone rewrites them. Neither does the file, own or shared,
/// that has an entry. False also if a file is damaged, missing, or of a form that is not known.
#[must_use]
pub fn stages_the_same<'a>(one: impl Into<IndexFiles<'a>>, other: impl Into<IndexFiles<'a>>) -> bool {
    match (staged(one.into()), staged(other.into())) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// Extensions of an index file, each with its name.
type Extensions = Vec<([u8; 4], Vec<u8>)>;

/// Returns the merged entries of valid files, and the extensions that are no caches.
fn staged(files: IndexFiles<'_>) -> Option<(Index, Extensions)> {
    let mut own = valid(files.own)?;
    let base = own.base();
    if let (Some(name), Some(link)) = (base, own.link.take()) {
        let shared = valid(files.shared?)?;
        if shared.checksum != name || shared.link.is_some() {
            return None;
        }
        own.index = split::merge(shared.index, own.index, &link)?;
        own.extensions.extend(shared.extensions);
    }
    own.extensions.retain(|(name, _)| !CACHES.contains(&name));
    let has_paths = own.index.entries.iter().all(|entry| !entry.path.is_empty());
    has_paths.then_some((own.index, own.extensions))
}

/// Parses an index file whose checksum is right, or was omitted.
fn valid(bytes: &[u8]) -> Option<Parsed> {
    let parsed = parse(bytes).ok()?;
    let (content, _) = bytes.split_at(bytes.len().checked_sub(CHECKSUM)?);
    let is_right = parsed.checksum.is_null() || Oid::of_bytes(content) == Some(parsed.checksum);
    is_right.then_some(parsed)
}
