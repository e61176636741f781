//! Metadata of an object as the file system reports it, without following links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType};

use super::{AsHandle, kernel};
use crate::model::{InodeFlags, Time};

pub(super) use imp::told;

/// The type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// Something this program does not know.
    Other,
}

/// The facts of one object at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its type.
    pub kind: NodeKind,
    /// Permission bits (`0o7777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Bytes that take up space; less than `size` for files with holes (and compressed ones).
    pub allocated: u64,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of anything.
    pub ctime: Time,
    /// Inode number.
    pub ino: u64,
    /// Time of creation; `None` if the file system does not keep it.
    pub born: Option<Time>,
    /// Number of links.
    pub nlink: u32,
    /// Major and minor number of a device node.
    pub rdev: (u32, u32),
    /// Flags set with `chattr`; only regular files and directories have any.
    pub flags: InodeFlags,
    /// File system and mount (0: the system does not report it). Only for comparing objects that were examined within one run.
    pub place: (u64, u64),
}

impl Stat {
    /// Returns true if both are the same object in the same state, as far as stat data can tell.
    #[must_use]
    pub fn same_moment(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.ino == other.ino
            && self.size == other.size
            && self.mtime == other.mtime
            && self.ctime == other.ctime
            && self.mode == other.mode
            && (self.uid, self.gid) == (other.uid, other.gid)
            && self.flags == other.flags
    }

    /// Returns true if this object lies on the mount whose root has `place`. On an overlay a file shows the device of the layer
    /// that holds it, so for files the mount's number decides where the kernel reports it. A directory with another device is a
    /// subvolume, a tree of its own.
    #[must_use]
    pub fn is_on(&self, place: (u64, u64)) -> bool {
        let same_mount = self.kind != NodeKind::Directory && place.1 != 0 && self.place.1 == place.1;
        same_mount || self.place == place
    }
}

/// Facts of the child `name` of `dir`.
///
/// # Errors
/// The system's error; `NotFound` if there is none.
pub fn stat_child(dir: impl AsHandle, name: &OsStr) -> io::Result<Stat> {
    Ok(kernel::stat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Facts of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn stat_handle(handle: impl AsHandle) -> io::Result<Stat> {
    Ok(kernel::stat(handle, OsStr::new(""), AtFlags::EMPTY_PATH)?)
}

fn kind(file_type: FileType) -> NodeKind {
    match file_type {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Directory,
        FileType::Symlink => NodeKind::Symlink,
        FileType::Fifo => NodeKind::Fifo,
        FileType::Socket => NodeKind::Socket,
        FileType::CharacterDevice => NodeKind::CharDevice,
        FileType::BlockDevice => NodeKind::BlockDevice,
        FileType::Unknown => NodeKind::Other,
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::fs::{StatxAttributes, StatxFlags, StatxTimestamp, statx};

    use super::{AsFd, AtFlags, FileType, InodeFlags, NodeKind, Stat, Time, kernel, kind};

    pub(in crate::platform) fn told(
        dir: impl AsFd,
        name: impl kernel::Named,
        flags: AtFlags,
    ) -> kernel::Result<Stat> {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID | StatxFlags::BTIME;
        let x = statx(dir, name, flags | AtFlags::NO_AUTOMOUNT, wanted)?;
        let mode = u32::from(x.stx_mode);
        let told = StatxFlags::from_bits_retain(x.stx_mask);
        let kind = kind(FileType::from_raw_mode(mode));
        Ok(Stat {
            kind,
            mode: mode & 0o7777,
            uid: x.stx_uid,
            gid: x.stx_gid,
            size: x.stx_size,
            allocated: x.stx_blocks.saturating_mul(512),
            mtime: time(x.stx_mtime),
            ctime: time(x.stx_ctime),
            ino: x.stx_ino,
            born: told.contains(StatxFlags::BTIME).then(|| time(x.stx_btime)),
            nlink: x.stx_nlink,
            rdev: (x.stx_rdev_major, x.stx_rdev_minor),
            flags: inode_flags(kind, x.stx_attributes),
            place: (
                (u64::from(x.stx_dev_major) << 32) | u64::from(x.stx_dev_minor),
                if told.contains(StatxFlags::MNT_ID) {
                    x.stx_mnt_id
                } else {
                    0
                },
            ),
        })
    }

    /// Links and pipes inherit some from their directory on some file systems, and nobody can set them there.
    fn inode_flags(kind: NodeKind, told: StatxAttributes) -> InodeFlags {
        let mut flags = InodeFlags::default();
        if matches!(kind, NodeKind::File | NodeKind::Directory) {
            for (theirs, ours) in [
                (StatxAttributes::IMMUTABLE, InodeFlags::IMMUTABLE),
                (StatxAttributes::APPEND, InodeFlags::APPEND),
                (StatxAttributes::NODUMP, InodeFlags::NODUMP),
            ] {
                if told.contains(theirs) {
                    flags = flags.with(ours);
                }
            }
        }
        flags
    }

    fn time(stamp: StatxTimestamp) -> Time {
        Time {
            sec: stamp.tv_sec,
            nsec: stamp.tv_nsec,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use rustix::fs::{major, minor, statat};

    use super::{AsFd, AtFlags, FileType, InodeFlags, Stat, Time, kernel, kind};

    pub(in crate::platform) fn told(
        dir: impl AsFd,
        name: impl kernel::Named,
        flags: AtFlags,
    ) -> kernel::Result<Stat> {
        let s = if flags.contains(AtFlags::EMPTY_PATH) {
            rustix::fs::fstat(dir)?
        } else {
            statat(dir, name, flags)?
        };
        let number = |value: i64| u64::try_from(value).unwrap_or(0);
        let nsec = |value: i64| u32::try_from(value).unwrap_or(0);
        let mode = u32::from(s.st_mode);
        Ok(Stat {
            kind: kind(FileType::from_raw_mode(s.st_mode)),
            mode: mode & 0o7777,
            uid: s.st_uid,
            gid: s.st_gid,
            size: number(s.st_size),
            allocated: number(s.st_blocks).saturating_mul(512),
            mtime: Time {
                sec: s.st_mtime,
                nsec: nsec(s.st_mtime_nsec),
            },
            ctime: Time {
                sec: s.st_ctime,
                nsec: nsec(s.st_ctime_nsec),
            },
            ino: s.st_ino,
            born: None,
            nlink: u32::from(s.st_nlink),
            rdev: (major(s.st_rdev), minor(s.st_rdev)),
            flags: InodeFlags::default(),
            place: (s.st_dev.unsigned_abs().into(), 0),
        })
    }
}
