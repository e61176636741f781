//! Opening and listing from held handles. A link is never followed, a mount never crossed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::kernel::openat;
use super::{AsHandle, File, Handle, Stat, kernel, stat_handle};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens a directory by its host path. The last part is not followed when it is a link.
///
/// # Errors
/// What the system says; `NotADirectory` for a link or a file.
pub fn open_root(path: &Path) -> io::Result<Handle> {
    Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
}

/// Opens the directory `name` in `dir`.
///
/// # Errors
/// What the system says; `NotADirectory` for a link or a file.
pub fn open_child_dir(dir: impl AsHandle, name: &OsStr) -> io::Result<Handle> {
    Ok(openat(dir, name, DIRECTORY, Mode::empty())?)
}

/// Opens the regular file `name` in `dir` for reading, without waiting for a FIFO's other end and, where the system
/// allows it, without changing its access time. The facts are those of the opened object.
///
/// # Errors
/// What the system says; `InvalidInput` when it is no regular file any more.
pub fn open_child_file(dir: impl AsHandle, name: &OsStr) -> io::Result<(File, Stat)> {
    let handle = open_child_file_blindly(dir, name)?;
    let stat = stat_handle(&handle)?;
    if stat.kind != super::NodeKind::File {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file any more",
        ));
    }
    Ok((handle, stat))
}

/// As [`open_child_file`] without asking what was opened: the caller asks when it has read.
///
/// # Errors
/// What the system says.
pub fn open_child_file_blindly(dir: impl AsHandle, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let handle = match quiet_open(&dir, name, flags) {
        Err(Errno::PERM) => openat(dir, name, flags, Mode::empty()),
        other => other,
    }?;
    Ok(File::from(handle))
}

/// Only the owner of a file may read it without touching its access time.
#[cfg(target_os = "linux")]
fn quiet_open(dir: impl AsHandle, name: &OsStr, flags: OFlags) -> Result<Handle, Errno> {
    openat(dir, name, flags | OFlags::NOATIME, Mode::empty())
}

#[cfg(not(target_os = "linux"))]
fn quiet_open(dir: impl AsHandle, name: &OsStr, flags: OFlags) -> Result<Handle, Errno> {
    openat(dir, name, flags, Mode::empty())
}

/// Whether an error says that a symbolic link stands where a file or a directory should.
#[must_use]
pub fn is_through_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Opens the directory at the relative `path` below `root`, through no link and across no mount.
///
/// # Errors
/// What the system says: `NotADirectory` or `FilesystemLoop` for a link on the way, `CrossesDevices` for a mount.
pub fn open_beneath(root: impl AsHandle, path: &Path) -> io::Result<Handle> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match resolve(&root, path) {
        // Older kernels, some sandboxes, and paths that are longer than one call takes.
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG) => step_by_step(root, path),
        other => Ok(other?),
    }
}

#[cfg(target_os = "linux")]
fn resolve(root: impl AsHandle, path: &Path) -> Result<Handle, Errno> {
    // The kernel answers EAGAIN when a rename elsewhere made its check inconclusive.
    for _ in 0..64 {
        match kernel::open_beneath(&root, path, DIRECTORY) {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(not(target_os = "linux"))]
fn resolve(_: impl AsHandle, _: &Path) -> Result<Handle, Errno> {
    Err(Errno::NOSYS)
}

fn step_by_step(root: impl AsHandle, path: &Path) -> io::Result<Handle> {
    let mut here = openat(&root, ".", DIRECTORY, Mode::empty())?;
    let place = stat_handle(&here)?.place;
    for part in path
        .as_os_str()
        .as_bytes()
        .split(|b| *b == b'/')
        .filter(|part| *part != b".")
    {
        here = open_child_dir(&here, OsStr::from_bytes(part))?;
        if stat_handle(&here)?.place != place {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
    }
    Ok(here)
}

/// Gives every name in a directory to `each`, unsorted, without `.` and `..`. Nobody else may list through the same handle
/// meanwhile: they share its place in the list.
///
/// # Errors
/// What the system says.
pub fn names(dir: impl AsHandle, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    Ok(kernel::names(dir, |name| {
        if name != b"." && name != b".." {
            each(name);
        }
    })?)
}

/// The target of the link `name` in `dir`.
///
/// # Errors
/// What the system says; `InvalidInput` when it is no link.
pub fn read_link(dir: impl AsHandle, name: &OsStr) -> io::Result<Vec<u8>> {
    Ok(kernel::readlinkat(dir, name)?)
}

/// Whether the disk, or what stands for it, failed (EIO).
#[must_use]
pub fn is_io_failure(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Whether the object itself forbids it (EPERM), which its mode would have said with EACCES.
#[must_use]
pub fn is_bound(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::PERM.raw_os_error())
}

/// Whether syncing failed because the file system cannot sync a directory (some network and FUSE ones, fsync(2)).
#[must_use]
pub fn is_sync_unsupported(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}
