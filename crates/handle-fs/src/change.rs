//! Changing directories and metadata through held handles.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::{AsHandle, File, NodeKind, kernel, system};
use crate::Time;

/// Creates the regular file `name`, mode 0600, for writing; it must not exist.
///
/// # Errors
/// The system's error.
pub fn create_file(dir: impl AsHandle, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(kernel::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Makes a regular file without a name in the file system of `dir`, mode 0600, for reading and writing. When the program ends before
/// [`name_unnamed`], nothing of it is left. `None` where that is impossible.
pub fn create_unnamed(dir: impl AsHandle) -> Option<File> {
    let made = kernel::open_unnamed(dir, Mode::RUSR | Mode::WUSR).ok()?;
    Some(made.into())
}

/// Gives a file of [`create_unnamed`] its name.
///
/// # Errors
/// The system's error; `AlreadyExists` if the name is taken.
pub fn name_unnamed(file: &File, dir: impl AsHandle, name: &OsStr) -> io::Result<()> {
    Ok(kernel::link_unnamed(file, dir, name)?)
}

/// Opens a file of our own for appending, or creates it with mode 0600. A link as its last part is not followed.
///
/// # Errors
/// The system's error; `InvalidInput` if it is no regular file, belongs to another user, or has other names as well.
pub fn append_own(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A FIFO that nobody reads would be waited for.
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file: File = kernel::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?.into();
    let facts = file.stat()?;
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what);
    if facts.kind != NodeKind::File {
        Err(wrong("it is no regular file"))
    } else if facts.uid != super::own_ids().0 {
        Err(wrong("it belongs to another user"))
    } else if facts.nlink > 1 {
        Err(wrong("it has other names as well"))
    } else {
        Ok(file)
    }
}

/// Creates the directory `name`, mode 0700.
///
/// # Errors
/// The system's error.
pub fn make_dir(dir: impl AsHandle, name: &OsStr) -> io::Result<()> {
    Ok(kernel::mkdirat(dir, name, Mode::RWXU)?)
}

/// Creates a symbolic link.
///
/// # Errors
/// The system's error.
pub fn make_symlink(dir: impl AsHandle, name: &OsStr, target: &[u8]) -> io::Result<()> {
    Ok(kernel::symlinkat(target, dir, name)?)
}

/// Creates a named pipe, mode 0600.
///
/// # Errors
/// The system's error.
pub fn make_fifo(dir: impl AsHandle, name: &OsStr) -> io::Result<()> {
    node(dir, name, FileType::Fifo, (0, 0))
}

/// Creates a device node, mode 0600.
///
/// # Errors
/// The system's error; `PermissionDenied` without privilege.
pub fn make_device(dir: impl AsHandle, name: &OsStr, block: bool, major: u32, minor: u32) -> io::Result<()> {
    let kind = if block {
        FileType::BlockDevice
    } else {
        FileType::CharacterDevice
    };
    node(dir, name, kind, (major, minor))
}

fn node(dir: impl AsHandle, name: &OsStr, kind: FileType, device: (u32, u32)) -> io::Result<()> {
    Ok(kernel::mknodat(dir, name, kind, device)?)
}

/// Gives the object `from` a second name.
///
/// # Errors
/// The system's error; `AlreadyExists` if the new name is taken.
pub fn hard_link(from: impl AsHandle, name: &OsStr, to: impl AsHandle, new: &OsStr) -> io::Result<()> {
    Ok(kernel::linkat(from, name, to, new)?)
}

/// Moves `name` to `new`, and replaces what has that name.
///
/// # Errors
/// The system's error; `CrossesDevices` between mounts.
pub fn rename_over(from: impl AsHandle, name: &OsStr, to: impl AsHandle, new: &OsStr) -> io::Result<()> {
    Ok(kernel::renameat(from, name, to, new)?)
}

/// Moves `name` to `new`, which must not exist. Where the file system cannot insist on that it is looked at just before.
///
/// # Errors
/// The system's error; `AlreadyExists` if the new name is taken; `CrossesDevices` between mounts.
pub fn rename_new(from: impl AsHandle, name: &OsStr, to: impl AsHandle, new: &OsStr) -> io::Result<()> {
    match kernel::renameat_with(&from, name, &to, new, RenameFlags::NOREPLACE) {
        // The file system knows no flags (FUSE without renameat2, NFS).
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match super::stat_child(&to, new) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(kernel::renameat(from, name, to, new)?)
            }
            Err(error) => Err(error),
        },
        other => Ok(other?),
    }
}

/// Exchanges two names in one step: neither is missing at any moment.
///
/// # Errors
/// The system's error; `InvalidInput` on a file system that cannot.
pub fn exchange(from: impl AsHandle, name: &OsStr, to: impl AsHandle, other: &OsStr) -> io::Result<()> {
    Ok(kernel::renameat_with(
        from,
        name,
        to,
        other,
        RenameFlags::EXCHANGE,
    )?)
}

/// Removes a name that is no directory.
///
/// # Errors
/// The system's error.
pub fn remove_file(dir: impl AsHandle, name: &OsStr) -> io::Result<()> {
    Ok(kernel::unlinkat(dir, name, AtFlags::empty())?)
}

/// Removes an empty directory.
///
/// # Errors
/// The system's error.
pub fn remove_dir(dir: impl AsHandle, name: &OsStr) -> io::Result<()> {
    Ok(kernel::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
}

/// Sets owner and group of a name; a link itself, not what it points to.
///
/// # Errors
/// The system's error.
pub fn chown(dir: impl AsHandle, name: &OsStr, uid: u32, gid: u32) -> io::Result<()> {
    Ok(kernel::chownat(dir, name, uid, gid)?)
}

/// Sets owner and group of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn chown_handle(handle: impl AsHandle, uid: u32, gid: u32) -> io::Result<()> {
    Ok(kernel::fchown(handle, uid, gid)?)
}

/// Sets the permission bits of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn chmod_handle(handle: impl AsHandle, mode: u32) -> io::Result<()> {
    Ok(kernel::fchmod(handle, system::own::mode_of(mode))?)
}

/// Sets the permission bits of a name that cannot be opened without effect (FIFO, device, unreadable file). The name is
/// pinned first, so that a link put in its place is not followed. Where nothing can be pinned, such a link gets the bits itself.
///
/// # Errors
/// The system's error.
pub fn chmod_node(dir: impl AsHandle, name: &OsStr, mode: u32) -> io::Result<()> {
    let mode = system::own::mode_of(mode);
    let pinned = match kernel::pin(&dir, name) {
        Err(Errno::NOSYS) => return Ok(kernel::chmod_unpinned(dir, name, mode)?),
        other => other?,
    };
    if super::stat_handle(&pinned)?.kind == NodeKind::Symlink {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a symbolic link now",
        ));
    }
    Ok(kernel::chmod_pinned(&pinned, mode)?)
}

/// Sets the modification time of a name (a link itself), leaving the access time.
///
/// # Errors
/// The system's error.
pub fn set_mtime(dir: impl AsHandle, name: &OsStr, mtime: Time) -> io::Result<()> {
    Ok(kernel::utimensat(dir, name, &only_mtime(mtime))?)
}

/// Sets the modification time of an open file or directory, leaving the access time.
///
/// # Errors
/// The system's error.
pub fn set_mtime_handle(handle: impl AsHandle, mtime: Time) -> io::Result<()> {
    Ok(kernel::futimens(handle, &only_mtime(mtime))?)
}

fn only_mtime(mtime: Time) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: mtime.sec,
            tv_nsec: mtime.nsec.into(),
        },
    }
}

/// Makes the names in a directory durable.
///
/// # Errors
/// The system's error.
pub fn sync_directory(dir: impl AsHandle) -> io::Result<()> {
    super::insist(|| kernel::fsync(&dir))?;
    // XFS says that the directory is synced also when it was shut down before the log was written (`xfs_dir_fsync` has nothing left
    // to wait for then); whoever opens something there is told.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match kernel::openat(&dir, ".", flags, Mode::empty()) {
        // Its mode may shut us out by now, which says nothing of the disk.
        Err(Errno::ACCESS) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes everything on the file system of `handle` durable: cheaper than one fsync for each of many files. Content that was
/// written is covered if [`File::write_out`] was called for it.
///
/// # Errors
/// The system's error.
pub fn sync_file_system(handle: impl AsHandle) -> io::Result<()> {
    Ok(super::insist(|| kernel::syncfs(&handle))?)
}
