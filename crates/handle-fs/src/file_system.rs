//! Facts about file systems and about where a file has data.

use std::io;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::{AsHandle, File, FileSystem, HandleRef, kernel};

/// Facts about the file system that `handle` lies on.
///
/// # Errors
/// The system's error.
pub fn file_system(handle: impl AsHandle) -> io::Result<FileSystem> {
    Ok(kernel::file_system(handle)?)
}

/// Writes a file's dirty pages back, so that from now on each store through a mapping moves its ctime (the kernel
/// write-protects the pages that it writes; the next store faults and updates the times).
///
/// Returns false where that does not hold: on file systems without writeback, on those that keep no exact times, and when a page
/// cannot be written. Nothing is made durable: no journal is committed and no disk cache flushed.
#[must_use]
pub fn write_back(file: impl AsHandle) -> bool {
    let file = file.as_handle();
    await_write(file);
    match kernel::write_back(file) {
        // Another machine has asked its own file system.
        Ok(Some(done)) if matches!(file, HandleRef::There(_)) => done,
        Ok(Some(done)) => done && file_system(file).is_ok_and(|facts| facts.writes_back),
        // No map of extents: a disk's file system writes back before fdatasync returns, one in memory does nothing.
        Ok(None) => {
            let facts = file_system(file);
            facts.is_ok_and(|facts| facts.writes_back && !facts.layered) && kernel::fdatasync(file).is_ok()
        }
        Err(_) => false,
    }
}

/// Waits until a `write(2)` that is filling the file has ended; so does [`write_back`].
///
/// The kernel moves the times when such a call begins, and ext4, btrfs and tmpfs let a reader see what it has done by then: without this,
/// half of its bytes would be read between two equal times. Another machine does it where it reads or writes back. Where times are not
/// trusted, files are read again each time, and a request for each would be slow.
pub fn await_write(file: impl AsHandle) {
    kernel::take_inode_lock(file);
}

/// Properties that identify a file system and survive a remount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystemFacts {
    /// Its number of `statfs(2)`.
    pub kind: u64,
    /// Id derived from its UUID, if any.
    pub id: Option<u64>,
    /// True if the root's inode and birth time identify it instead.
    pub by_root: bool,
}

/// The facts of the file system that `handle` lies on; `None` on another machine, and for a file system of macOS that neither has such
/// numbers nor is known by its root.
///
/// # Errors
/// The system's error.
pub fn file_system_facts(handle: impl AsHandle) -> io::Result<Option<FileSystemFacts>> {
    const EXT: u64 = 0xef53;
    const BTRFS: u64 = 0x9123_683e;
    /// Their number is that of the device, and changes with every mount.
    const XFS: u64 = 0x5846_5342;
    /// True if unmounting loses its contents, so that a new one is another.
    const TMPFS: u64 = 0x0102_1994;
    let handle = handle.as_handle();
    let number = match kernel::file_system_number(handle) {
        Err(Errno::NOSYS) => {
            let facts = |kind| FileSystemFacts {
                kind,
                id: None,
                by_root: true,
            };
            return Ok(kernel::kind_by_root(handle)?.map(facts));
        }
        other => other?,
    };
    let kind = kernel::magic(handle)?;
    Ok(Some(FileSystemFacts {
        kind,
        id: (matches!(kind, EXT | BTRFS) && number != 0).then_some(number),
        by_root: matches!(kind, XFS | TMPFS),
    }))
}

/// Takes room for `bytes` bytes of a new file, which become zeros; on this machine only.
///
/// # Errors
/// The system's error; the file system may not be able to.
pub fn allocate(file: impl AsHandle, bytes: u64) -> io::Result<()> {
    Ok(kernel::allocate(file, bytes)?)
}

/// Bytes that this user may still write on the file system of `handle`.
///
/// # Errors
/// The system's error.
pub fn free_bytes(handle: impl AsHandle) -> io::Result<u64> {
    Ok(kernel::free_bytes(handle)?)
}

/// Returns where the first `size` bytes of a file hold data, as (offset, length); the rest are holes. If the file system does not
/// report holes, or is known to report some where there is data, all of it counts as data.
///
/// # Errors
/// The system's error.
pub fn data_segments(file: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    if !file_system(file)?.shows_holes {
        return Ok(vec![(0, size)]);
    }
    let mut segments = Vec::new();
    let mut at = 0;
    while at < size {
        let start = match kernel::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start.min(size),
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(vec![(0, size)]),
            Err(error) => return Err(error.into()),
        };
        if start >= size {
            break;
        }
        let end = kernel::seek(file, SeekFrom::Hole(start))?.min(size);
        if end <= start {
            break;
        }
        segments.push((start, end - start));
        at = end;
    }
    Ok(segments)
}

/// Returns true if this process may create and remove names in a directory. It is false for an append-only one, where names can
/// be added but not removed (`chattr +a`).
#[must_use]
pub fn may_write(directory: &std::path::Path) -> bool {
    let facts = super::stat_child(rustix::fs::CWD, directory.as_os_str());
    !facts.is_ok_and(|facts| facts.flags.bind()) && kernel::may_change(directory).is_ok()
}
