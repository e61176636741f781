//! Packs and their indexes: where an object is, and its content. Only the first table of an index stays in memory.

use super::delta;
use super::object::Object;
use super::object_kind::ObjectKind;
use super::reading::{Cursor, exact, inflater, rest_of, size};
use super::{Files, GitError, Oid};
use handle_fs::RelPath;

/// Opened pack.
pub(super) struct Pack {
    path: RelPath,
    idx: RelPath,
    /// Offset of the names in the index, each `width` bytes after the one before.
    names: u64,
    width: usize,
    /// Start of the offsets in version 2; `None` for version 1, which has them before each name.
    offsets: Option<u64>,
    count: u32,
    /// Number of names that begin with this byte or a lower one.
    fan: Vec<u32>,
    length: u64,
}

/// Maximum length of a chain of deltas; git makes no longer ones.
const DEEPEST: usize = 4096;
/// Maximum bytes that are built for one object. Its chain may hold large objects, each of which is built and dropped.
const WORK: u64 = 1 << 30;
/// Number of remaining names at which a binary search reads them all at once.
const AT_ONCE: u32 = 256;
const TRAILER: u64 = 40;

impl Pack {
    pub(super) fn open(files: &dyn Files, path: RelPath, idx: RelPath) -> Result<Self, GitError> {
        let missing = |path: &RelPath| GitError::damaged(path, "it is missing");
        let length = size(files, &path)?.ok_or_else(|| missing(&path))?;
        let idx_length = size(files, &idx)?.ok_or_else(|| missing(&idx))?;
        let mut head = [0; 12];
        exact(files, &path, &mut head, 0)?;
        let mut head = Cursor(&head);
        let (magic, version, packed) = (head.array::<4>(), head.u32(), head.u32());
        if magic != Some(*b"PACK") || !matches!(version, Some(2 | 3)) {
            return Err(GitError::damaged(&path, "it is no pack of version 2 or 3"));
        }
        let mut first = [0; 8];
        exact(files, &idx, &mut first, 0)?;
        let is_second = first.starts_with(b"\xfftOc");
        if is_second && first != *b"\xfftOc\0\0\0\x02" {
            return Err(GitError::damaged(&idx, "it is no index of version 1 or 2"));
        }
        let mut table = vec![0; 1024];
        let begin = if is_second { 8 } else { 0 };
        exact(files, &idx, &mut table, begin)?;
        let (table, _) = table.as_chunks::<4>();
        let fan: Vec<u32> = table.iter().map(|four| u32::from_be_bytes(*four)).collect();
        let count = fan.last().copied().unwrap_or_default();
        let names = begin + 1024;
        let per_object = if is_second { 28 } else { 24 };
        let least = names + u64::from(count) * per_object + TRAILER;
        if !fan.is_sorted() || idx_length < least {
            return Err(GitError::damaged(&idx, "its table is invalid"));
        }
        if packed != Some(count) {
            return Err(GitError::damaged(&idx, "it does not fit the pack"));
        }
        Ok(Self {
            path,
            idx,
            names,
            width: if is_second { 20 } else { 24 },
            offsets: is_second.then_some(names + u64::from(count) * 24),
            count,
            fan,
            length,
        })
    }

    pub(super) fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the offset of an object in the pack; `None` if it is not there.
    pub(super) fn find(&self, files: &dyn Files, oid: &Oid) -> Result<Option<u64>, GitError> {
        let first = usize::from(oid.as_bytes().first().copied().unwrap_or_default());
        let fan = |at: Option<usize>| at.and_then(|at| self.fan.get(at)).copied().unwrap_or_default();
        let (mut low, mut high) = (fan(first.checked_sub(1)), fan(Some(first)));
        let place = |at: u32| self.names + u64::from(at) * self.width as u64;
        // In version 1 an offset stands before each name.
        let skip = self.width - Oid::LENGTH;
        while high.saturating_sub(low) > AT_ONCE {
            let middle = low + (high - low) / 2;
            let mut name = [0; Oid::LENGTH];
            exact(files, &self.idx, &mut name, place(middle) + skip as u64)?;
            if name <= *oid.as_bytes() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let few = usize::try_from(high.saturating_sub(low)).unwrap_or_default();
        let mut rows = vec![0; few * self.width];
        exact(files, &self.idx, &mut rows, place(low))?;
        let found = rows.chunks_exact(self.width).zip(low..);
        let found = found
            .filter_map(|(row, at)| Some((row.split_at_checked(skip)?, at)))
            .find(|((_, name), _)| *name == oid.as_bytes());
        let Some(((offset, _), at)) = found else {
            return Ok(None);
        };
        let offset = match self.offsets {
            None => Cursor(offset).u32().map(u64::from),
            Some(table) => Some(self.offset(files, table, at)?),
        };
        Ok(offset)
    }

    fn offset(&self, files: &dyn Files, table: u64, at: u32) -> Result<u64, GitError> {
        let mut four = [0; 4];
        exact(files, &self.idx, &mut four, table + u64::from(at) * 4)?;
        let offset = u32::from_be_bytes(four);
        if offset & 0x8000_0000 == 0 {
            return Ok(offset.into());
        }
        let mut eight = [0; 8];
        let large = table + u64::from(self.count) * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        exact(files, &self.idx, &mut eight, large)?;
        Ok(u64::from_be_bytes(eight))
    }

    /// Returns the object at `offset`, of at most `most` bytes. `effort` grows by the bytes that were built for it.
    pub(super) fn object(
        &self,
        files: &dyn Files,
        offset: u64,
        most: u64,
        effort: &mut u64,
    ) -> Result<Object, GitError> {
        let damaged = |why: &str| GitError::damaged(&self.path, why);
        let limit = effort.saturating_add(WORK);
        let mut at = offset;
        let mut chain = Vec::new();
        let (kind, mut bytes) = loop {
            let head = self.head(files, at)?;
            if head.size > most {
                return Err(GitError::too_large(&self.path, most));
            }
            match head.base {
                Base::Whole(kind) => break (kind, self.content(files, &head, effort)?),
                Base::At(base) => at = base,
                Base::Named(name) => {
                    let base = self.find(files, &name)?;
                    at = base.ok_or_else(|| damaged("the base of a delta is not in it"))?;
                }
            }
            chain.push(head);
            if chain.len() > DEEPEST {
                return Err(damaged("deltas stand on deltas without an end"));
            }
        };
        while let Some(head) = chain.pop() {
            let delta = self.content(files, &head, effort)?;
            bytes = delta::apply(&bytes, &delta, most).map_err(damaged)?;
            *effort = effort.saturating_add(bytes.len() as u64);
            if *effort > limit {
                return Err(damaged("building an object from its deltas takes too much work"));
            }
        }
        Ok(Object { kind, bytes })
    }

    fn content(&self, files: &dyn Files, head: &Head, effort: &mut u64) -> Result<Vec<u8>, GitError> {
        *effort = effort.saturating_add(head.size);
        let stream = inflater(files, &self.path, head.data, head.size);
        rest_of(stream, &self.path, head.size)
    }

    fn head(&self, files: &dyn Files, at: u64) -> Result<Head, GitError> {
        // Kind and size, an offset or a name: never more.
        let mut room = [0; 64];
        let end = self.length.saturating_sub(Oid::LENGTH as u64);
        let there = end.saturating_sub(at).min(room.len() as u64);
        let room = room.get_mut(..usize::try_from(there).unwrap_or_default());
        let room = room.unwrap_or_default();
        exact(files, &self.path, room, at)?;
        parse_head(room, at)
            .ok_or_else(|| GitError::damaged(&self.path, "an object in it does not begin as one does"))
    }
}

/// Start of an object in a pack.
struct Head {
    base: Base,
    size: u64,
    data: u64,
}

enum Base {
    Whole(ObjectKind),
    At(u64),
    Named(Oid),
}

fn parse_head(room: &[u8], at: u64) -> Option<Head> {
    let mut rest = Cursor(room);
    let first = rest.byte()?;
    let size = rest.size(u64::from(first & 15), 4, first & 0x80 != 0)?;
    let base = match first >> 4 & 7 {
        1 => Base::Whole(ObjectKind::Commit),
        2 => Base::Whole(ObjectKind::Tree),
        3 => Base::Whole(ObjectKind::Blob),
        4 => Base::Whole(ObjectKind::Tag),
        // A base lies before: so no circle can be made of these.
        6 => Base::At(at.checked_sub(rest.offset()?).filter(|base| *base < at)?),
        7 => Base::Named(Oid::from_bytes(rest.array()?)),
        _ => return None,
    };
    let data = at.checked_add((room.len() - rest.0.len()) as u64)?;
    Some(Head { base, size, data })
}
