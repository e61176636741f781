//! Index of a pack: the names of its objects, and where each one is. Only its first table stays in memory.

use super::reading::{Cursor, exact, size};
use super::{Files, GitError, Oid};
use handle_fs::RelPath;

/// Opened index.
pub(super) struct PackIndex {
    path: RelPath,
    /// Offset of the names in the file, each `width` bytes after the one before.
    names: u64,
    width: usize,
    /// Start of the offsets in version 2; `None` for version 1, which has them before each name.
    offsets: Option<u64>,
    count: u32,
    /// Number of names that begin with this byte or a lower one.
    fan: Vec<u32>,
}

/// Number of remaining names at which a binary search reads them all at once.
const AT_ONCE: u32 = 256;
/// Number of names that are read at once when all are.
const PIECE: u32 = 1 << 16;
const TRAILER: u64 = 40;

impl PackIndex {
    pub(super) fn open(files: &dyn Files, path: RelPath) -> Result<Self, GitError> {
        let length = size(files, &path)?.ok_or_else(|| GitError::damaged(&path, "it is missing"))?;
        let mut first = [0; 8];
        exact(files, &path, &mut first, 0)?;
        let is_second = first.starts_with(b"\xfftOc");
        if is_second && first != *b"\xfftOc\0\0\0\x02" {
            return Err(GitError::damaged(&path, "it is no index of version 1 or 2"));
        }
        let mut table = vec![0; 1024];
        let begin = if is_second { 8 } else { 0 };
        exact(files, &path, &mut table, begin)?;
        let (table, _) = table.as_chunks::<4>();
        let fan: Vec<u32> = table.iter().map(|four| u32::from_be_bytes(*four)).collect();
        let count = fan.last().copied().unwrap_or_default();
        let names = begin + 1024;
        let per_object = if is_second { 28 } else { 24 };
        let least = names + u64::from(count) * per_object + TRAILER;
        if !fan.is_sorted() || length < least {
            return Err(GitError::damaged(&path, "its table is invalid"));
        }
        Ok(Self {
            path,
            names,
            width: if is_second { 20 } else { 24 },
            offsets: is_second.then_some(names + u64::from(count) * 24),
            count,
            fan,
        })
    }

    /// Returns the number of objects.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn path(&self) -> &RelPath {
        &self.path
    }

    /// Returns the offset of an object in the pack; `None` if it is not there.
    pub(super) fn find(&self, files: &dyn Files, oid: &Oid) -> Result<Option<u64>, GitError> {
        let first = usize::from(oid.as_bytes().first().copied().unwrap_or_default());
        let fan = |at: Option<usize>| at.and_then(|at| self.fan.get(at)).copied().unwrap_or_default();
        let (mut low, mut high) = (fan(first.checked_sub(1)), fan(Some(first)));
        // In version 1 an offset stands before each name.
        let skip = self.skip();
        while high.saturating_sub(low) > AT_ONCE {
            let middle = low + (high - low) / 2;
            let mut name = [0; Oid::LENGTH];
            exact(files, &self.path, &mut name, self.place(middle) + skip as u64)?;
            if name <= *oid.as_bytes() {
                low = middle;
            } else {
                high = middle;
            }
        }
        let rows = self.rows(files, low, high.saturating_sub(low))?;
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

    /// Calls `each` with the names of all objects, in their order.
    pub(super) fn each_name(&self, files: &dyn Files, each: &mut dyn FnMut(&Oid)) -> Result<(), GitError> {
        let mut at = 0;
        while at < self.count {
            let few = PIECE.min(self.count - at);
            let rows = self.rows(files, at, few)?;
            for row in rows.chunks_exact(self.width) {
                if let Some(name) = row.get(self.skip()..).and_then(|name| name.try_into().ok()) {
                    each(&Oid::from_bytes(name));
                }
            }
            at += few;
        }
        Ok(())
    }

    fn skip(&self) -> usize {
        self.width - Oid::LENGTH
    }

    fn place(&self, at: u32) -> u64 {
        self.names + u64::from(at) * self.width as u64
    }

    fn rows(&self, files: &dyn Files, from: u32, count: u32) -> Result<Vec<u8>, GitError> {
        let mut rows = vec![0; usize::try_from(count).unwrap_or_default() * self.width];
        exact(files, &self.path, &mut rows, self.place(from))?;
        Ok(rows)
    }

    fn offset(&self, files: &dyn Files, table: u64, at: u32) -> Result<u64, GitError> {
        let mut four = [0; 4];
        exact(files, &self.path, &mut four, table + u64::from(at) * 4)?;
        let offset = u32::from_be_bytes(four);
        if offset & 0x8000_0000 == 0 {
            return Ok(offset.into());
        }
        let mut eight = [0; 8];
        let large = table + u64::from(self.count) * 4 + u64::from(offset & 0x7fff_ffff) * 8;
        exact(files, &self.path, &mut eight, large)?;
        Ok(u64::from_be_bytes(eight))
    }
}
