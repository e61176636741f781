//! One file system object as a manifest records it: type, metadata, stat identity, content digest.

use super::codec::{Reader, put_bytes, put_number, put_signed, put_time};
use super::{Content, DecodeError, Digest, DigestMethod, InodeFlags, Name, RelPath, Time, Xattr};

/// The type of an object, with what only that type has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File(Content),
    /// A directory; its children are in the [`super::Directory`] of the same path.
    Directory,
    /// A symbolic link; the target is never followed.
    Symlink(Box<[u8]>),
    /// A named pipe.
    Fifo,
    /// A socket: recorded, but only the program that listens on it can make it again.
    Socket,
    /// A character device (major, minor).
    CharDevice(u32, u32),
    /// A block device (major, minor).
    BlockDevice(u32, u32),
}

/// One directory entry (or the mount root, whose name is never used).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name within its directory.
    pub name: Name,
    /// Type and content.
    pub kind: EntryKind,
    /// Permission bits with setuid, setgid and sticky (`0o7777`).
    pub mode: u32,
    /// Numeric owner.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of content or metadata; part of the stat identity, never restored.
    pub ctime: Time,
    /// Inode number; part of the stat identity.
    pub ino: u64,
    /// Flags set by `chattr`.
    pub flags: InodeFlags,
    /// Extended attributes, sorted by name.
    pub xattrs: Vec<Xattr>,
    /// For all but the first path of a hard link group inside the mount: the first path of that group.
    pub link: Option<RelPath>,
    /// Number of links the file system reports; 1 for directories.
    pub nlink: u32,
    /// The file would not hold still while it was read: the stored bytes may mix two versions.
    pub unstable: bool,
}

const FILE: u8 = 0;
const DIRECTORY: u8 = 1;
const SYMLINK: u8 = 2;
const FIFO: u8 = 3;
const SOCKET: u8 = 4;
const CHAR_DEVICE: u8 = 5;
const BLOCK_DEVICE: u8 = 6;

const HAS_XATTRS: u64 = 1;
const HAS_LINK: u64 = 2;
const HAS_NLINK: u64 = 4;
const UNSTABLE: u64 = 8;
const BLOCKS: u64 = 16;
const HAS_FLAGS: u64 = 32;
const KNOWN: u64 = 63;

impl EntryKind {
    /// Returns the type in words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Directory => "directory",
            Self::Symlink(_) => "symbolic link",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::CharDevice(..) => "character device",
            Self::BlockDevice(..) => "block device",
        }
    }
}

impl Entry {
    /// Returns the content of a regular file; `None` for anything else.
    #[must_use]
    pub fn content(&self) -> Option<&Content> {
        match &self.kind {
            EntryKind::File(content) => Some(content),
            _ => None,
        }
    }

    /// Returns true for a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        matches!(self.kind, EntryKind::Directory)
    }

    /// Returns true for a file that has several names, in the mount or outside of it. What a directory counts are no names.
    #[must_use]
    pub fn has_several_names(&self) -> bool {
        self.nlink > 1 && !self.is_dir()
    }

    /// Returns true if both describe the same state: type, bytes, mode, owner, target, attributes, flags and link group. Times,
    /// inodes and names are not compared.
    #[must_use]
    pub fn same_state(&self, other: &Self) -> bool {
        self.kind == other.kind && self.same_metadata(other) && self.link == other.link
    }

    /// Returns true if mode, owner, attributes and flags agree. The mode of a symbolic link is meaningless and not compared.
    #[must_use]
    pub fn same_metadata(&self, other: &Self) -> bool {
        let links = matches!(
            (&self.kind, &other.kind),
            (EntryKind::Symlink(_), EntryKind::Symlink(_))
        );
        (links || self.mode == other.mode)
            && self.uid == other.uid
            && self.gid == other.gid
            && self.xattrs == other.xattrs
            && self.flags == other.flags
    }

    /// Returns the entry without what its content is.
    #[must_use]
    pub fn without_content(&self) -> Self {
        let kind = match &self.kind {
            EntryKind::File(_) => EntryKind::File(Content {
                digest: Digest::of(b""),
                size: 0,
                method: DigestMethod::Plain,
            }),
            kind => kind.clone(),
        };
        Self { kind, ..self.clone() }
    }

    /// Returns the entry with the names of its attributes and without their values, which may be secret.
    #[must_use]
    pub fn without_attribute_values(mut self) -> Self {
        for xattr in &mut self.xattrs {
            xattr.value = Box::default();
        }
        self
    }

    /// Returns the entry with values that it lacks from the attributes of the same names.
    #[must_use]
    pub fn with_attribute_values(mut self, known: &[Xattr]) -> Self {
        for xattr in self.xattrs.iter_mut().filter(|xattr| xattr.value.is_empty()) {
            if let Some(known) = known.iter().find(|known| known.name == xattr.name) {
                xattr.value.clone_from(&known.value);
            }
        }
        self
    }

    /// Returns the entry with owner, mode, attributes and flags of another one.
    #[must_use]
    pub fn with_metadata_of(self, other: &Self) -> Self {
        Self {
            mode: other.mode,
            uid: other.uid,
            gid: other.gid,
            xattrs: other.xattrs.clone(),
            flags: other.flags,
            ..self
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>, previous_ino: u64) {
        let mut flags = 0;
        for (set, flag) in [
            (!self.xattrs.is_empty(), HAS_XATTRS),
            (self.link.is_some(), HAS_LINK),
            (self.nlink != 1, HAS_NLINK),
            (self.unstable, UNSTABLE),
            (
                self.content().is_some_and(|c| c.method == DigestMethod::Blocks),
                BLOCKS,
            ),
            (!self.flags.is_empty(), HAS_FLAGS),
        ] {
            flags |= if set { flag } else { 0 };
        }
        put_bytes(out, self.name.as_bytes());
        out.push(self.tag());
        put_number(out, flags);
        put_number(out, u64::from(self.mode));
        put_number(out, u64::from(self.uid));
        put_number(out, u64::from(self.gid));
        put_time(out, self.mtime);
        put_signed(out, self.ctime.sec.wrapping_sub(self.mtime.sec));
        out.extend_from_slice(&self.ctime.nsec.to_le_bytes());
        put_signed(out, self.ino.wrapping_sub(previous_ino).cast_signed());
        match &self.kind {
            EntryKind::File(content) => {
                put_number(out, content.size);
                out.extend_from_slice(&content.digest.0);
            }
            EntryKind::Symlink(target) => put_bytes(out, target),
            EntryKind::CharDevice(major, minor) | EntryKind::BlockDevice(major, minor) => {
                put_number(out, u64::from(*major));
                put_number(out, u64::from(*minor));
            }
            EntryKind::Directory | EntryKind::Fifo | EntryKind::Socket => {}
        }
        if flags & HAS_XATTRS != 0 {
            put_number(out, self.xattrs.len() as u64);
            for xattr in &self.xattrs {
                put_bytes(out, &xattr.name);
                put_bytes(out, &xattr.value);
            }
        }
        if let Some(link) = &self.link {
            put_bytes(out, link.as_bytes());
        }
        if flags & HAS_NLINK != 0 {
            put_number(out, u64::from(self.nlink));
        }
        if flags & HAS_FLAGS != 0 {
            put_number(out, u64::from(self.flags.bits()));
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>, previous_ino: u64) -> Result<Self, DecodeError> {
        let name = Name::new(reader.bytes()?)?;
        let tag = reader.byte()?;
        let flags = reader.number()?;
        if flags & !KNOWN != 0 {
            return Err(DecodeError::Tag {
                what: "entry flag",
                value: flags,
            });
        }
        let (mode, uid, gid) = (reader.small()?, reader.small()?, reader.small()?);
        if mode > 0o7777 {
            return Err(DecodeError::Number);
        }
        let mtime = reader.time()?;
        let ctime_sec = mtime.sec.wrapping_add(reader.signed()?);
        let ctime = Time {
            sec: ctime_sec,
            nsec: u32::from_le_bytes(reader.array()?),
        };
        if ctime.nsec >= 1_000_000_000 {
            return Err(DecodeError::Number);
        }
        let ino = previous_ino.wrapping_add(reader.signed()?.cast_unsigned());
        let kind = Self::decode_kind(reader, tag, flags)?;
        let mut xattrs = Vec::new();
        if flags & HAS_XATTRS != 0 {
            for _ in 0..reader.count()? {
                xattrs.push(Xattr {
                    name: reader.bytes()?.into(),
                    value: reader.bytes()?.into(),
                });
            }
            if !xattrs.is_sorted_by(|a: &Xattr, b: &Xattr| a.name < b.name) {
                return Err(DecodeError::Structure(
                    "attributes are out of order or twice there",
                ));
            }
        }
        let link = if flags & HAS_LINK != 0 {
            Some(RelPath::new(reader.bytes()?)?)
        } else {
            None
        };
        let nlink = if flags & HAS_NLINK != 0 {
            reader.small()?
        } else {
            1
        };
        let unstable = flags & UNSTABLE != 0;
        let flags = if flags & HAS_FLAGS != 0 {
            if !matches!(kind, EntryKind::File(_) | EntryKind::Directory) {
                return Err(DecodeError::Structure(
                    "only files and directories have inode flags",
                ));
            }
            Self::decode_flags(reader)?
        } else {
            InodeFlags::default()
        };
        Ok(Self {
            name,
            kind,
            mode,
            uid,
            gid,
            mtime,
            ctime,
            ino,
            flags,
            xattrs,
            link,
            nlink,
            unstable,
        })
    }

    fn decode_flags(reader: &mut Reader<'_>) -> Result<InodeFlags, DecodeError> {
        let bits = reader.small()?;
        let flags = InodeFlags::from_bits(bits).filter(|flags| !flags.is_empty());
        flags.ok_or(DecodeError::Tag {
            what: "inode flag",
            value: u64::from(bits),
        })
    }

    fn decode_kind(reader: &mut Reader<'_>, tag: u8, flags: u64) -> Result<EntryKind, DecodeError> {
        Ok(match tag {
            FILE => {
                let method = if flags & BLOCKS != 0 {
                    DigestMethod::Blocks
                } else {
                    DigestMethod::Plain
                };
                EntryKind::File(Content {
                    size: reader.number()?,
                    digest: Digest(reader.array()?),
                    method,
                })
            }
            DIRECTORY => EntryKind::Directory,
            SYMLINK => EntryKind::Symlink(reader.bytes()?.into()),
            FIFO => EntryKind::Fifo,
            SOCKET => EntryKind::Socket,
            CHAR_DEVICE => EntryKind::CharDevice(reader.small()?, reader.small()?),
            BLOCK_DEVICE => EntryKind::BlockDevice(reader.small()?, reader.small()?),
            other => {
                return Err(DecodeError::Tag {
                    what: "entry type",
                    value: u64::from(other),
                });
            }
        })
    }

    fn tag(&self) -> u8 {
        match self.kind {
            EntryKind::File(_) => FILE,
            EntryKind::Directory => DIRECTORY,
            EntryKind::Symlink(_) => SYMLINK,
            EntryKind::Fifo => FIFO,
            EntryKind::Socket => SOCKET,
            EntryKind::CharDevice(..) => CHAR_DEVICE,
            EntryKind::BlockDevice(..) => BLOCK_DEVICE,
        }
    }
}
