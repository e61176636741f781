//! The call for the facts of an object.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};

use super::Named;
use crate::{AsHandle, HandleRef, NodeKind, Result, Stat, remote};
use crate::{InodeFlags, Time};

pub(crate) fn stat(dir: impl AsHandle, path: impl Named, flags: AtFlags) -> Result<Stat> {
    let dir = at!(dir, path, |far, path| far
        .stat(path, flags.contains(AtFlags::EMPTY_PATH)));
    simulated!(stat(dir, path.as_ref(), flags));
    imp::told(dir, path, flags)
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

    use super::{AsFd, AtFlags, FileType, InodeFlags, Named, NodeKind, Result, Stat, Time, kind};

    pub(super) fn told(dir: impl AsFd, name: impl Named, flags: AtFlags) -> Result<Stat> {
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

    /// Links and pipes inherit some from their directory on some file systems, and no program can set them there.
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

    use super::{AsFd, AtFlags, FileType, InodeFlags, Named, Result, Stat, Time, kind};

    pub(super) fn told(dir: impl AsFd, name: impl Named, flags: AtFlags) -> Result<Stat> {
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
