//! Header blocks: a ustar header that holds what fits, and before it, where something does not, an extended header.
//!
//! `tar::Header` is used for the block alone. Its own path and link setters rewrite or refuse what they get
//! (`/x//y/./z/` becomes `/x/y/z/`), so the bytes are put into the fields here.

use tar::{EntryType, Header};

use super::pax::{MAX_RECORDS, put, put_xattr, time_text};
use super::{BLOCK, ZEROS, padding};
use crate::model::{Entry, Time, Xattr};

/// The largest number in an octal field of 8 bytes, and in one of 12.
const OCTAL_8: u64 = 0o7_777_777;
const OCTAL_12: u64 = 0o77_777_777_777;

/// Bytes of the fields for a path: name, prefix.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// Name of the block that announces an extended header; nothing ever extracts it.
const EXTENDED: &[u8] = b"././@PaxHeader";

/// Content of a member's header.
pub(super) struct Head<'a> {
    /// With the label; a directory's ends in `/`.
    pub(super) path: &'a [u8],
    pub(super) kind: HeadKind<'a>,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mtime: Time,
    pub(super) xattrs: &'a [Xattr],
}

/// The type of a member, with what only it has. Sizes are in bytes.
pub(super) enum HeadKind<'a> {
    File {
        size: u64,
    },
    /// `place` is the path in the ustar header, where a reader that knows no sparse files puts the stored form.
    Sparse {
        stored: u64,
        logical: u64,
        place: &'a [u8],
    },
    Directory,
    Symlink(&'a [u8]),
    HardLink(&'a [u8]),
    Fifo,
    CharDevice(u32, u32),
    BlockDevice(u32, u32),
}

impl<'a> Head<'a> {
    /// A head with the metadata of `entry`.
    pub(super) fn new(path: &'a [u8], kind: HeadKind<'a>, entry: &'a Entry) -> Self {
        let Entry {
            mode,
            uid,
            gid,
            mtime,
            xattrs,
            ..
        } = entry;
        Self {
            path,
            kind,
            mode: *mode,
            uid: *uid,
            gid: *gid,
            mtime: *mtime,
            xattrs,
        }
    }

    /// A head for a member that belongs to no tree.
    pub(super) fn internal(path: &'a [u8], size: u64) -> Self {
        let kind = HeadKind::File { size };
        Self {
            path,
            kind,
            mode: 0o600,
            uid: 0,
            gid: 0,
            mtime: Time::default(),
            xattrs: &[],
        }
    }

    /// All header blocks of the member.
    pub(super) fn encode(&self) -> Result<Vec<u8>, &'static str> {
        let mut header = Header::new_ustar();
        let mut records = Vec::new();
        self.put_names(&mut header, &mut records)?;
        self.put_numbers(&mut header, &mut records);
        for xattr in self.xattrs {
            put_xattr(&mut records, &xattr.name, &xattr.value);
        }
        if let HeadKind::Sparse { logical, .. } = self.kind {
            put(&mut records, b"GNU.sparse.major", b"1");
            put(&mut records, b"GNU.sparse.minor", b"0");
            put(&mut records, b"GNU.sparse.name", self.path);
            put(
                &mut records,
                b"GNU.sparse.realsize",
                logical.to_string().as_bytes(),
            );
        }
        header.set_cksum();

        let mut blocks = Vec::with_capacity(3 * BLOCK + records.len());
        if !records.is_empty() {
            let length = records.len() as u64;
            if length > MAX_RECORDS {
                return Err("its extended attributes are too large");
            }
            let mut extended = Header::new_ustar();
            fill(&mut extended.as_old_mut().name, EXTENDED);
            extended.set_entry_type(EntryType::XHeader);
            extended.set_mode(0o600);
            extended.set_uid(0);
            extended.set_gid(0);
            extended.set_mtime(0);
            extended.set_size(length);
            extended.set_cksum();
            blocks.extend_from_slice(extended.as_bytes());
            blocks.append(&mut records);
            let missing = usize::try_from(padding(length)).unwrap_or(0);
            blocks.extend(ZEROS.iter().take(missing));
        }
        blocks.extend_from_slice(header.as_bytes());
        Ok(blocks)
    }

    fn put_names(&self, header: &mut Header, records: &mut Vec<u8>) -> Result<(), &'static str> {
        let target = match self.kind {
            HeadKind::Symlink(target) | HeadKind::HardLink(target) => target,
            _ => &[],
        };
        if self.path.contains(&0) || target.contains(&0) {
            return Err("a path holds NUL");
        }
        let sparse = matches!(self.kind, HeadKind::Sparse { .. });
        let place = if let HeadKind::Sparse { place, .. } = self.kind {
            place
        } else {
            self.path
        };
        let fields = split(place);
        let long_path = fields.is_none() && !sparse;
        let long_target = target.len() > NAME;
        let raw = |bytes: &[u8]| std::str::from_utf8(bytes).is_err();
        if (long_path || sparse) && raw(self.path) || long_target && raw(target) {
            put(records, b"hdrcharset", b"BINARY");
        }
        if long_path {
            put(records, b"path", self.path);
        }
        if long_target {
            put(records, b"linkpath", target);
        }
        let (prefix, name) = fields.unwrap_or((&[], shorten(place)));
        if let Some(ustar) = header.as_ustar_mut() {
            fill(&mut ustar.prefix, prefix);
            fill(&mut ustar.name, name);
            fill(&mut ustar.linkname, target);
        }
        Ok(())
    }

    fn put_numbers(&self, header: &mut Header, records: &mut Vec<u8>) {
        let (kind, size, device) = match self.kind {
            HeadKind::File { size } => (EntryType::Regular, size, None),
            HeadKind::Sparse { stored, .. } => (EntryType::Regular, stored, None),
            HeadKind::Directory => (EntryType::Directory, 0, None),
            HeadKind::Symlink(_) => (EntryType::Symlink, 0, None),
            HeadKind::HardLink(_) => (EntryType::Link, 0, None),
            HeadKind::Fifo => (EntryType::Fifo, 0, None),
            HeadKind::CharDevice(major, minor) => (EntryType::Char, 0, Some((major, minor))),
            HeadKind::BlockDevice(major, minor) => (EntryType::Block, 0, Some((major, minor))),
        };
        let mut fits = |keyword: &[u8], value: u64, most: u64| {
            if value > most {
                put(records, keyword, value.to_string().as_bytes());
                return 0;
            }
            value
        };
        header.set_entry_type(kind);
        header.set_mode(self.mode & 0o7777);
        header.set_size(fits(b"size", size, OCTAL_12));
        header.set_uid(fits(b"uid", u64::from(self.uid), OCTAL_8));
        header.set_gid(fits(b"gid", u64::from(self.gid), OCTAL_8));
        if let (Some((major, minor)), Some(ustar)) = (device, header.as_ustar_mut()) {
            let major = fits(b"SCHILY.devmajor", u64::from(major), OCTAL_8);
            let minor = fits(b"SCHILY.devminor", u64::from(minor), OCTAL_8);
            ustar.set_device_major(u32::try_from(major).unwrap_or(0));
            ustar.set_device_minor(u32::try_from(minor).unwrap_or(0));
        }
        let seconds = u64::try_from(self.mtime.sec)
            .ok()
            .filter(|seconds| *seconds <= OCTAL_12);
        header.set_mtime(seconds.unwrap_or(0));
        if seconds.is_none() || self.mtime.nsec != 0 {
            put(records, b"mtime", time_text(self.mtime).as_bytes());
        }
    }
}

/// Prefix and name for the ustar fields; `None` when the path does not fit.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path.len() <= NAME {
        return Some((&[], path));
    }
    // The slash between the two is in neither; the name must not become empty, nor the slash of a directory alone.
    let from = path.len() - NAME - 1;
    let slash = path
        .iter()
        .enumerate()
        .skip(from.max(1))
        .find(|(_, byte)| **byte == b'/')
        .map(|(at, _)| at)?;
    let (prefix, name) = (path.get(..slash)?, path.get(slash + 1..)?);
    (prefix.len() <= PREFIX && !name.is_empty()).then_some((prefix, name))
}

/// The beginning of a path whose whole stands in a record. It must not end in a slash: old readers, GNU tar too, take
/// a file with such a name for a directory.
fn shorten(path: &[u8]) -> &[u8] {
    let mut name = path.get(..NAME).unwrap_or(path);
    while let Some(rest) = name.strip_suffix(b"/") {
        name = rest;
    }
    name
}

fn fill(field: &mut [u8], bytes: &[u8]) {
    for (slot, byte) in field.iter_mut().zip(bytes) {
        *slot = *byte;
    }
}

/// The fields of a ustar header block.
pub(super) struct Fields {
    pub(super) path: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) kind: EntryType,
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) uid: u64,
    pub(super) gid: u64,
    pub(super) mtime: u64,
    pub(super) device: (u32, u32),
}

/// Reads a header block.
pub(super) fn decode(block: &[u8; BLOCK]) -> Result<Fields, &'static str> {
    const BAD: &str = "a number in its header is malformed";
    let header = Header::from_byte_slice(block);
    let ustar = header.as_ustar().ok_or("its header is not a ustar header")?;
    let mut again = header.clone();
    again.set_cksum();
    if header.cksum().map_err(|_| BAD)? != again.cksum().map_err(|_| BAD)? {
        return Err("its header does not have the checksum it says");
    }
    let kind = header.entry_type();
    let device = match kind {
        EntryType::Char | EntryType::Block => (
            ustar.device_major().map_err(|_| BAD)?,
            ustar.device_minor().map_err(|_| BAD)?,
        ),
        _ => (0, 0),
    };
    let mode = header.mode().map_err(|_| BAD)?;
    if mode > 0o7777 {
        return Err("its mode has more bits than a mode has");
    }
    Ok(Fields {
        path: ustar.path_bytes().into_owned(),
        target: header
            .link_name_bytes()
            .map(std::borrow::Cow::into_owned)
            .unwrap_or_default(),
        kind,
        size: header.size().map_err(|_| BAD)?,
        mode,
        uid: header.uid().map_err(|_| BAD)?,
        gid: header.gid().map_err(|_| BAD)?,
        mtime: header.mtime().map_err(|_| BAD)?,
        device,
    })
}
