//! Lists the members of an archive from its tar headers alone, for rebuilding and for checking what stock tar sees.

use tar::EntryType;

use super::cursor::Cursor;
use super::header::{Fields, decode};
use super::pax::{MAX_RECORDS, Record, XATTR, number, records, time, xattr_name};
use super::{ArchiveError, BLOCK, Damage, index, padding};
use crate::model::{RelPath, Time, Xattr};

/// A member of the tar stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The label and the path below it, without a slash at the end.
    pub path: RelPath,
    /// Its type.
    pub kind: MemberKind,
    /// Permission bits (`0o7777`).
    pub mode: u32,
    /// Numeric owner.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
    /// Last change.
    pub mtime: Time,
    /// Logical size in bytes, holes included; 0 for all but files.
    pub size: u64,
    /// Extended attributes in the order of the stream.
    pub xattrs: Vec<Xattr>,
}

/// The type of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A regular file.
    File,
    /// A regular file that is stored with a map of its data.
    Sparse,
    /// A directory.
    Directory,
    /// A symbolic link, with its target.
    Symlink(Vec<u8>),
    /// The same content as an earlier member.
    HardLink(RelPath),
    /// A named pipe.
    Fifo,
    /// A character device (major, minor).
    CharDevice(u32, u32),
    /// A block device (major, minor).
    BlockDevice(u32, u32),
}

/// An iterator over the members; ends behind the first error.
pub struct Members<'a> {
    cursor: Cursor<'a>,
    done: bool,
}

impl<'a> Members<'a> {
    pub(super) fn new(cursor: Cursor<'a>) -> Self {
        Self { cursor, done: false }
    }

    fn member(&mut self) -> Result<Option<Member>, ArchiveError> {
        let at = self.cursor.at();
        let Some(first) = self.block(at)? else {
            return Ok(None);
        };
        let fields = self.check(at, decode(&first))?;
        if fields.kind != EntryType::XHeader {
            return self.build(at, fields, &[]).map(Some);
        }
        let extended = self.extended(at, fields.size)?;
        let Some(second) = self.block(at)? else {
            return self.check(at, Err("its extended header stands alone"));
        };
        let fields = self.check(at, decode(&second))?;
        let records = self.check(at, records(&extended))?;
        self.build(at, fields, &records).map(Some)
    }

    /// The next header block; `None` at the two zero blocks that end the stream.
    fn block(&mut self, at: u64) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        let block: Option<[u8; BLOCK]> = self.cursor.array()?;
        let Some(block) = block else {
            return self.check(at, Err("the stream ends without its end"));
        };
        if block.iter().any(|byte| *byte != 0) {
            return Ok(Some(block));
        }
        match self.cursor.array::<BLOCK>()? {
            Some(last) if last.iter().all(|byte| *byte == 0) && self.cursor.left() == 0 => Ok(None),
            _ => self.check(at, Err("the stream goes on behind its end")),
        }
    }

    fn extended(&mut self, at: u64, size: u64) -> Result<Vec<u8>, ArchiveError> {
        if size > MAX_RECORDS || size > self.cursor.left() {
            return self.check(at, Err("its extended header is too large"));
        }
        let mut bytes = Vec::new();
        let mut left = size;
        while left > 0 {
            let next = self.cursor.next(left)?;
            if next.is_empty() {
                return self.check(at, Err("its extended header is cut off"));
            }
            left -= next.len() as u64;
            bytes.extend_from_slice(next);
        }
        self.cursor.skip(padding(size));
        Ok(bytes)
    }

    fn build(&mut self, at: u64, fields: Fields, records: &[Record<'_>]) -> Result<Member, ArchiveError> {
        let found = Builder::new(fields, records).and_then(Builder::finish);
        let (member, stored) = self.check(at, found)?;
        let behind = stored.checked_add(padding(stored));
        match behind.filter(|behind| behind.saturating_add(index::END as u64) <= self.cursor.left()) {
            Some(behind) => self.cursor.skip(behind),
            None => return self.check(at, Err("its data exceeds the stream")),
        }
        Ok(member)
    }

    fn check<T>(&self, at: u64, result: Result<T, &'static str>) -> Result<T, ArchiveError> {
        result.map_err(|why| self.cursor.damaged(Damage::Member { at, why }))
    }
}

impl Iterator for Members<'_> {
    type Item = Result<Member, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.member().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// A header with what its records put over it.
struct Builder {
    fields: Fields,
    mtime: Time,
    xattrs: Vec<Xattr>,
    /// Version (major, minor), name and logical size of a sparse file.
    version: (Option<u64>, Option<u64>),
    name: Option<Vec<u8>>,
    logical: Option<u64>,
}

impl Builder {
    fn new(fields: Fields, records: &[Record<'_>]) -> Result<Self, &'static str> {
        const BAD: &str = "a number in its extended header is malformed";
        let sec = i64::try_from(fields.mtime).map_err(|_| BAD)?;
        let mut this = Self {
            fields,
            mtime: Time { sec, nsec: 0 },
            xattrs: Vec::new(),
            version: (None, None),
            name: None,
            logical: None,
        };
        for (keyword, value) in records {
            let count = || number(value).ok_or(BAD);
            let device = || {
                number(value)
                    .and_then(|value| u32::try_from(value).ok())
                    .ok_or(BAD)
            };
            match *keyword {
                b"path" => this.fields.path = value.to_vec(),
                b"linkpath" => this.fields.target = value.to_vec(),
                b"size" => this.fields.size = count()?,
                b"uid" => this.fields.uid = count()?,
                b"gid" => this.fields.gid = count()?,
                b"mtime" => this.mtime = time(value).ok_or(BAD)?,
                b"SCHILY.devmajor" => this.fields.device.0 = device()?,
                b"SCHILY.devminor" => this.fields.device.1 = device()?,
                b"GNU.sparse.major" => this.version.0 = Some(count()?),
                b"GNU.sparse.minor" => this.version.1 = Some(count()?),
                b"GNU.sparse.name" => this.name = Some(value.to_vec()),
                b"GNU.sparse.realsize" => this.logical = Some(count()?),
                _ => {
                    if let Some(name) = keyword.strip_prefix(XATTR) {
                        let name = xattr_name(name).into();
                        this.xattrs.push(Xattr {
                            name,
                            value: (*value).into(),
                        });
                    }
                }
            }
        }
        Ok(this)
    }

    /// The member and the bytes of its data in the stream.
    fn finish(self) -> Result<(Member, u64), &'static str> {
        const NAME: &str = "its path is not one that a snapshot may hold";
        let Self {
            fields,
            mtime,
            xattrs,
            version,
            name,
            logical,
        } = self;
        let sparse = match (version, &name, logical) {
            ((None, None), None, None) => false,
            ((Some(1), Some(0)), Some(_), Some(_)) if fields.kind == EntryType::Regular => true,
            _ => return Err("it is a sparse file of a form that is not known"),
        };
        let path = name.unwrap_or(fields.path);
        let path = match fields.kind {
            EntryType::Directory => path
                .strip_suffix(b"/")
                .ok_or("it is a directory whose path has no slash")?,
            _ => &path,
        };
        let kind = match fields.kind {
            EntryType::Regular if sparse => MemberKind::Sparse,
            EntryType::Regular => MemberKind::File,
            EntryType::Directory => MemberKind::Directory,
            EntryType::Symlink => MemberKind::Symlink(fields.target),
            EntryType::Link => MemberKind::HardLink(checked(&fields.target).ok_or(NAME)?),
            EntryType::Fifo => MemberKind::Fifo,
            EntryType::Char => MemberKind::CharDevice(fields.device.0, fields.device.1),
            EntryType::Block => MemberKind::BlockDevice(fields.device.0, fields.device.1),
            _ => return Err("its type is not one that an archive has"),
        };
        if fields.size != 0 && fields.kind != EntryType::Regular {
            return Err("it has data, and is no file");
        }
        let owner = |id: u64| u32::try_from(id).map_err(|_| "its owner is out of range");
        let member = Member {
            path: checked(path).ok_or(NAME)?,
            kind,
            mode: fields.mode,
            uid: owner(fields.uid)?,
            gid: owner(fields.gid)?,
            mtime,
            size: logical.unwrap_or(fields.size),
            xattrs,
        };
        Ok((member, fields.size))
    }
}

fn checked(path: &[u8]) -> Option<RelPath> {
    RelPath::new(path).ok().filter(|path| !path.is_root())
}
