//! Comparison of two index files that ignores what git caches about the files of the work tree.

use super::{Index, Parsed, parse, split};
use crate::{Id, ObjectFormat, Oid, Sha256};

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

/// Returns the name of the shared index that a split index of a repository with this format needs; `None` if it is whole, or invalid.
///
/// The file is called `sharedindex.NAME`, and the name is its checksum in hexadecimal digits.
#[must_use]
pub fn shared_index(own: &[u8], format: ObjectFormat) -> Option<String> {
    fn base<I: Id>(own: &[u8]) -> Option<String> {
        Some(parse::<I>(own).ok()?.base()?.to_string())
    }
    match format {
        ObjectFormat::Sha1 => base::<Oid>(own),
        ObjectFormat::Sha256 => base::<Sha256>(own),
    }
}

/// Returns true if the content of a shared index ends in the checksum that is its name.
#[must_use]
pub fn is_shared_index(bytes: &[u8], name: &str) -> bool {
    let end = bytes
        .len()
        .checked_sub(name.len() / 2)
        .and_then(|at| bytes.get(at..));
    end.is_some_and(|end| end.iter().map(|byte| format!("{byte:02x}")).collect::<String>() == name)
}

/// Returns true if two indexes of repositories with this format stage the same: their entries agree in mode, object, stage, flags and path,
/// and their extensions in all but caches. Times, inodes, owners and sizes do not count: `git status` alone rewrites them. Neither does the
/// file, own or shared, that has an entry. False also if a file is damaged, missing, or of a form that is not known.
#[must_use]
pub fn stages_the_same<'a>(
    one: impl Into<IndexFiles<'a>>,
    other: impl Into<IndexFiles<'a>>,
    format: ObjectFormat,
) -> bool {
    fn compare<I: Id>(one: IndexFiles<'_>, other: IndexFiles<'_>) -> bool {
        match (staged::<I>(one), staged::<I>(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }
    match format {
        ObjectFormat::Sha1 => compare::<Oid>(one.into(), other.into()),
        ObjectFormat::Sha256 => compare::<Sha256>(one.into(), other.into()),
    }
}

/// Extensions of an index file, each with its name.
type Extensions = Vec<([u8; 4], Vec<u8>)>;

/// Returns the merged entries of valid files, and the extensions that are no caches.
fn staged<I: Id>(files: IndexFiles<'_>) -> Option<(Index<I>, Extensions)> {
    let mut own = valid::<I>(files.own)?;
    let base = own.base();
    if let (Some(name), Some(link)) = (base, own.link.take()) {
        let shared = valid(files.shared?)?;
        if shared.checksum != name || shared.link.is_some() {
            return None;
        }
        own.index = split::merge(shared.index, own.index, &link)?;
        own.extensions.extend(shared.extensions);
    }
    // Git chooses version 2 or 3 by the flags that the file itself has to hold, also for the own file of a split index. Version 4 is a setting.
    own.index.version = own.index.version.max(3);
    own.extensions.retain(|(name, _)| !CACHES.contains(&name));
    let has_paths = own.index.entries.iter().all(|entry| !entry.path.is_empty());
    has_paths.then_some((own.index, own.extensions))
}

/// Parses an index file whose checksum is right, or was omitted.
fn valid<I: Id>(bytes: &[u8]) -> Option<Parsed<I>> {
    let parsed: Parsed<I> = parse(bytes).ok()?;
    parsed.is_sound(bytes).then_some(parsed)
}
