//! Calls of a system that is not Linux: what macOS has, in its own words (`apple.rs`).
//!
//! A build for Linux with the feature `portable` takes this side as well, with Linux's words for what macOS can do. So its
//! tests show there what macOS gets.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Named;
#[cfg(target_vendor = "apple")]
use super::apple as own;
#[cfg(target_os = "linux")]
use super::linux as own;
use crate::{FileSystem, Result, Stat};

pub(crate) use own::{
    NO_ATTRIBUTE, ONLY_NAMED, bits_of, chmod_pinned, chmod_unpinned, fsync, get_xattr, inode_flags,
    kind_by_root, list_xattr, mknodat, mode_of, pin, remove_xattr, renameat_with, room, set_inode_flags,
    set_xattr, write_out,
};

/// No such flag.
pub(crate) const KEEPS_ACCESS_TIME: OFlags = OFlags::empty();
/// There is no coarser clock.
pub(crate) const FILE_CLOCK: rustix::time::ClockId = rustix::time::ClockId::Realtime;

/// Paths are walked by single names.
pub(crate) fn open_beneath(_: BorrowedFd<'_>, _: impl Named, _: OFlags) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// No file is made without a name.
pub(crate) fn open_unnamed(_: BorrowedFd<'_>, _: Mode) -> Result<OwnedFd> {
    Err(Errno::OPNOTSUPP)
}

/// There are none.
pub(crate) fn link_unnamed(_: BorrowedFd<'_>, _: BorrowedFd<'_>, _: impl Named) -> Result<()> {
    Err(Errno::OPNOTSUPP)
}

pub(crate) fn names(dir: BorrowedFd<'_>, mut each: impl FnMut(&[u8])) -> Result<()> {
    for entry in rustix::fs::Dir::read_from(dir)? {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}

/// Mounts have no numbers of their own.
fn unplaced(stat: Stat) -> Stat {
    Stat {
        place: (stat.place.0, 0),
        ..stat
    }
}

pub(crate) fn stat(dir: BorrowedFd<'_>, path: impl Named) -> Result<Stat> {
    own::stat(dir, path).map(unplaced)
}

pub(crate) fn stat_itself(handle: BorrowedFd<'_>) -> Result<Stat> {
    own::stat_itself(handle).map(unplaced)
}

pub(crate) fn syncfs(handle: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::sync();
    fsync(handle)
}

/// Blocks are shared only by a new file: a clone.
pub(crate) fn share_blocks(_: BorrowedFd<'_>, _: BorrowedFd<'_>) -> Result<()> {
    Err(Errno::OPNOTSUPP)
}

/// Nothing is known of the times that a later store through a mapping leaves.
#[expect(clippy::unnecessary_wraps, reason = "Linux asks the file system")]
pub(crate) fn write_back(_: BorrowedFd<'_>) -> Result<Option<bool>> {
    Ok(Some(false))
}

pub(crate) fn fdatasync(handle: BorrowedFd<'_>) -> Result<()> {
    fsync(handle)
}

pub(crate) fn magic(_: BorrowedFd<'_>) -> Result<u64> {
    Err(Errno::NOSYS)
}

pub(crate) fn file_system_number(_: BorrowedFd<'_>) -> Result<u64> {
    Err(Errno::NOSYS)
}

/// No file system shows in its times that pages were stored to, and none has layers.
pub(crate) fn file_system(handle: BorrowedFd<'_>) -> Result<FileSystem> {
    let known = own::file_system(handle)?;
    Ok(FileSystem {
        trusted_ctime: known.trusted_ctime,
        exact_sizes: known.exact_sizes,
        ..FileSystem::UNKNOWN
    })
}
