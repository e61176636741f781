//! The index: what the next commit will hold, in versions 2 to 4.

mod refreshed;
mod split;

use super::error::shown;
use super::reading::{Cursor, below, whole};
use super::repository::Repository;
use super::{GitError, Id, Oid};
use handle_fs::RelPath;

pub use refreshed::{IndexFiles, is_shared_index, shared_index, stages_the_same};

/// Maximum bytes of an index: four million entries.
const MOST_INDEX: u64 = 256 << 20;
/// Maximum bytes of all paths. Version 4 stores a path as the change from the one before, so few bytes can claim many.
const MOST_PATHS: usize = 512 << 20;
/// Maximum bytes of a path; a longer one cannot be checked out.
const LONGEST_PATH: usize = 4096;
const DIRECTORY: u32 = 0o40000;

/// The index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index<I = Oid> {
    /// Version of the format.
    pub version: u32,
    /// Entries sorted by path, then stage, as git writes them.
    pub entries: Vec<IndexEntry<I>>,
    /// True if most entries are in a second file.
    pub is_split: bool,
    /// True if an entry may stand for a whole directory.
    pub is_sparse: bool,
}

/// A file in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry<I = Oid> {
    /// Path relative to the work tree; ends in `/` if it stands for a directory.
    pub path: Vec<u8>,
    /// Type and permissions, as in trees.
    pub mode: u32,
    /// ID of the content.
    pub oid: I,
    /// 0; during a conflict 1 (common ancestor), 2 (ours) or 3 (theirs).
    pub stage: u8,
    /// True if git has to assume that the file is unchanged.
    pub assume_valid: bool,
    /// True if the file need not be in the work tree (sparse checkout), and git does not check it.
    pub skip_worktree: bool,
    /// True after `git add --intent-to-add`: only the path was added.
    pub intent_to_add: bool,
}

impl<I> Default for Index<I> {
    fn default() -> Self {
        Self {
            version: 0,
            entries: Vec::new(),
            is_split: false,
            is_sparse: false,
        }
    }
}

impl<I> IndexEntry<I> {
    /// Returns true if the entry stands for a directory that is not checked out.
    #[must_use]
    pub fn is_sparse_dir(&self) -> bool {
        self.mode == DIRECTORY
    }
}

/// Content of one index file; that of a split index names a second one.
struct Parsed<I> {
    index: Index<I>,
    link: Option<Link<I>>,
    /// Optional extensions, in the order of the file.
    extensions: Vec<([u8; 4], Vec<u8>)>,
    /// Checksum of the file; zero if git was configured to omit it.
    checksum: I,
}

struct Link<I> {
    base: I,
    deleted: Vec<bool>,
    replaced: Vec<bool>,
}

impl<I: Id> Parsed<I> {
    /// Returns true if the checksum at the end of the file is right, or was omitted.
    fn is_sound(&self, bytes: &[u8]) -> bool {
        let content = bytes.get(..bytes.len().saturating_sub(I::LENGTH));
        self.checksum.is_null() || content.and_then(I::checksum) == Some(self.checksum)
    }

    /// Returns the name of the shared index; `None` if the index needs none.
    fn base(&self) -> Option<I> {
        let base = self.link.as_ref().map(|link| link.base);
        base.filter(|base| !base.is_null())
    }
}

impl Repository<'_> {
    /// Returns the index of this work tree; `None` if there is none, as in a bare repository.
    ///
    /// # Errors
    /// [`GitError`] if the index cannot be read, or is invalid.
    pub fn index(&self) -> Result<Option<Index>, GitError> {
        self.understood()?;
        let own = self.own_dir()?;
        let path = below(own, "index");
        let Some(parsed) = self.index_at(&path)? else {
            return Ok(None);
        };
        let mut index = parsed.index;
        if let Some(link) = parsed.link.filter(|link| !link.base.is_null()) {
            index.is_split = true;
            let shared = below(own, &format!("sharedindex.{}", link.base));
            match self.index_at(&shared) {
                Ok(Some(base)) if base.checksum == link.base && base.link.is_none() => {
                    index = split::merge(base.index, index, &link)
                        .ok_or_else(|| GitError::damaged(&path, "it does not fit the shared index"))?;
                }
                Ok(Some(_)) => return Err(GitError::damaged(&shared, "it is another shared index")),
                Ok(None) => {
                    return Err(GitError::damaged(
                        &shared,
                        "the index needs it, and it is missing",
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        if index.entries.iter().any(|entry| entry.path.is_empty()) {
            return Err(GitError::damaged(&path, "an entry has no path"));
        }
        Ok(Some(index))
    }

    fn index_at(&self, path: &RelPath) -> Result<Option<Parsed<Oid>>, GitError> {
        let Some(bytes) = whole(self.files, path, MOST_INDEX)? else {
            return Ok(None);
        };
        let parsed: Parsed<Oid> = parse(&bytes).map_err(|why| GitError::damaged(path, why))?;
        if !parsed.is_sound(&bytes) {
            self.doubts
                .add(format!("{}: its checksum is wrong", shown(path.as_bytes())));
        }
        Ok(Some(parsed))
    }
}

fn parse<I: Id>(bytes: &[u8]) -> Result<Parsed<I>, String> {
    const CUT: &str = "it ends too early";
    let length = bytes.len().checked_sub(I::LENGTH).ok_or(CUT)?;
    let (content, checksum) = bytes.split_at_checked(length).ok_or(CUT)?;
    let checksum = I::read(&mut Cursor(checksum)).ok_or(CUT)?;
    let mut rest = Cursor(content);
    if rest.array() != Some(*b"DIRC") {
        return Err("it is no index".to_owned());
    }
    let (version, count) = (rest.u32().ok_or(CUT)?, rest.u32().ok_or(CUT)?);
    if !matches!(version, 2..=4) {
        return Err(format!("its version {version} is not known"));
    }
    let mut index = Index {
        version,
        ..Index::default()
    };
    let mut paths = 0_usize;
    for _ in 0..count {
        let before = index.entries.last().map_or(&[][..], |entry| &entry.path);
        let entry = entry(&mut rest, version, before).ok_or("an entry is invalid")?;
        paths = paths.saturating_add(entry.path.len());
        if entry.path.len() > LONGEST_PATH || paths > MOST_PATHS {
            return Err("its paths are too long".to_owned());
        }
        index.entries.push(entry);
    }
    let mut link = None;
    let mut extensions = Vec::new();
    while !rest.0.is_empty() {
        let name: [u8; 4] = rest.array().ok_or(CUT)?;
        let size = rest.u32().and_then(|size| usize::try_from(size).ok());
        let content = size.and_then(|size| rest.take(size)).ok_or(CUT)?;
        match &name {
            b"link" => link = Some(split::link(content).ok_or("its link to a shared index is invalid")?),
            b"sdir" => index.is_sparse = true,
            // Those in capitals only make git faster.
            [b'A'..=b'Z', ..] => extensions.push((name, content.to_vec())),
            name => return Err(format!("its extension {} is not known", shown(name))),
        }
    }
    Ok(Parsed {
        index,
        link,
        extensions,
        checksum,
    })
}

fn entry<I: Id>(rest: &mut Cursor, version: u32, before: &[u8]) -> Option<IndexEntry<I>> {
    let length = rest.0.len();
    // Times, device and inode; then the mode; then owner and size.
    rest.take(24)?;
    let mode = rest.u32()?;
    rest.take(12)?;
    let oid = I::read(rest)?;
    let flags = rest.u16()?;
    let is_extended = flags & 0x4000 != 0;
    let more = if is_extended { rest.u16()? } else { 0 };
    // Git refuses flags that it does not know, too.
    if is_extended && version < 3 || more & !0x6000 != 0 {
        return None;
    }
    let path = if version == 4 {
        let cut = usize::try_from(rest.offset()?).ok()?;
        let kept = before.get(..before.len().checked_sub(cut)?)?;
        let added = rest.until(0)?;
        [kept, added].concat()
    } else {
        let path = rest.until(0)?.to_vec();
        // Zeros follow, at least one, until the entry is a multiple of eight.
        let taken = length - rest.0.len();
        rest.take(taken.next_multiple_of(8) - taken)?;
        path
    };
    let claimed = usize::from(flags & 0xfff);
    if path.len().min(0xfff) != claimed {
        return None;
    }
    Some(IndexEntry {
        path,
        mode,
        oid,
        stage: u8::try_from(flags >> 12 & 3).ok()?,
        assume_valid: flags & 0x8000 != 0,
        skip_worktree: more & 0x4000 != 0,
        intent_to_add: more & 0x2000 != 0,
    })
}
