//! Packs: the content of an object.

use super::delta;
use super::object::Object;
use super::object_kind::ObjectKind;
use super::pack_index::PackIndex;
use super::reading::{Cursor, exact, inflater, rest_of, size};
use super::{Files, GitError, Oid};
use handle_fs::RelPath;

/// Opened pack.
pub(super) struct Pack {
    path: RelPath,
    index: PackIndex,
    length: u64,
}

/// Maximum length of a chain of deltas; git makes no longer ones.
const DEEPEST: usize = 4096;
/// Maximum bytes that are built for one object. Its chain may hold large objects, each of which is built and dropped.
const WORK: u64 = 1 << 30;

/// Effort of one object in a chain of deltas beside its bytes.
const LINK: u64 = 1 << 10;

impl Pack {
    pub(super) fn open(files: &dyn Files, path: RelPath, idx: RelPath) -> Result<Self, GitError> {
        let length = size(files, &path)?.ok_or_else(|| GitError::damaged(&path, "it is missing"))?;
        let index = PackIndex::open(files, idx)?;
        let mut head = [0; 12];
        exact(files, &path, &mut head, 0)?;
        let mut head = Cursor(&head);
        let (magic, version, packed) = (head.array::<4>(), head.u32(), head.u32());
        if magic != Some(*b"PACK") || !matches!(version, Some(2 | 3)) {
            return Err(GitError::damaged(&path, "it is no pack of version 2 or 3"));
        }
        if packed != Some(index.count()) {
            return Err(GitError::damaged(index.path(), "it does not fit the pack"));
        }
        Ok(Self { path, index, length })
    }

    pub(super) fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the offset of an object in the pack; `None` if it is not there.
    pub(super) fn find(&self, files: &dyn Files, oid: &Oid) -> Result<Option<u64>, GitError> {
        self.index.find(files, oid)
    }

    /// Calls `each` with the name of each object.
    pub(super) fn each_name(&self, files: &dyn Files, each: &mut dyn FnMut(&Oid)) -> Result<(), GitError> {
        self.index.each_name(files, each)
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
            *effort = effort.saturating_add(LINK);
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
