//! Objects by their host path: for the store, whose directories only the program uses. Below a mount nothing is
//! reached by path.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::{AsHandle as _, File, Handle, HandleRef, NodeKind, Stat, kernel};

/// Mode in which a program opens one of its own files by path. A link as the last part is never followed, and a pipe is not waited
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// For reading.
    Read,
    /// For reading and writing.
    Write,
    /// For reading and writing; made with mode 0600 when it is missing.
    WriteOrCreate,
    /// For reading and writing, with mode 0600 less the process's mask; it must not exist.
    Create,
}

/// Opens a file by its path.
///
/// # Errors
/// The system's error. On success the object may still be no regular file, except with [`Opening::Create`].
pub fn open_path(path: &Path, how: Opening) -> io::Result<File> {
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let flags = careful
        | match how {
            Opening::Read => OFlags::RDONLY,
            Opening::Write => OFlags::RDWR,
            Opening::WriteOrCreate => OFlags::RDWR | OFlags::CREATE,
            Opening::Create => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
    Ok(kernel::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The facts of what lies at a path; of a link itself. `None`: nothing does.
///
/// # Errors
/// The system's error.
pub fn stat_path(path: &Path) -> io::Result<Option<Stat>> {
    match super::stat_child(CWD, path.as_os_str()) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names in the directory at a path, sorted. A link as its last part is not followed.
///
/// # Errors
/// The system's error.
pub fn names_at(path: &Path) -> io::Result<Vec<OsString>> {
    sorted_names(&super::open_root(path)?)
}

fn sorted_names(dir: &Handle) -> io::Result<Vec<OsString>> {
    let mut found = Vec::new();
    super::names(dir, |name| found.push(OsString::from_vec(name.to_vec())))?;
    found.sort_unstable();
    Ok(found)
}

/// Makes a directory, mode 0700 less the process's mask.
///
/// # Errors
/// The system's error.
pub fn make_dir_at(path: &Path) -> io::Result<()> {
    Ok(kernel::mkdirat(CWD, path, Mode::RWXU)?)
}

/// Sets the permission bits of the directory at a path. A link as its last part is not followed.
///
/// # Errors
/// The system's error.
pub fn chmod_dir_at(path: &Path, mode: u32) -> io::Result<()> {
    let handle = match super::open_root(path) {
        // Its owner may not read it, and may change that.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return super::chmod_node(CWD, path.as_os_str(), mode);
        }
        other => other?,
    };
    super::chmod_handle(handle, mode)
}

/// Removes what is no directory.
///
/// # Errors
/// The system's error.
pub fn remove_file_at(path: &Path) -> io::Result<()> {
    Ok(kernel::unlinkat(CWD, path, AtFlags::empty())?)
}

/// Removes an empty directory.
///
/// # Errors
/// The system's error.
pub fn remove_dir_at(path: &Path) -> io::Result<()> {
    Ok(kernel::unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

/// Removes an own directory with its contents, through held handles: what is swapped for a link meanwhile
/// leads nowhere, and links are removed themselves.
///
/// # Errors
/// The system's error; names that were removed until then stay removed.
pub fn remove_tree_at(path: &Path) -> io::Result<()> {
    empty(&super::open_root(path)?, false)?;
    remove_dir_at(path)
}

/// The same for a tree in which directories may be closed to their owner.
///
/// # Errors
/// As [`remove_tree_at`].
pub fn remove_closed_tree_at(path: &Path) -> io::Result<()> {
    empty(&super::open_root(path)?, true)?;
    remove_dir_at(path)
}

fn empty(dir: &Handle, closed: bool) -> io::Result<()> {
    for name in sorted_names(dir)? {
        match super::stat_child(dir, &name) {
            Ok(stat) if stat.kind == NodeKind::Directory => {
                if closed && stat.mode & 0o700 != 0o700 {
                    super::chmod_node(dir, &name, 0o700)?;
                }
                empty(&super::open_child_dir(dir, &name)?, closed)?;
                super::remove_dir(dir, &name)?;
            }
            Ok(_) => super::remove_file(dir, &name)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Moves `from` to `to`, in the place of what was there.
///
/// # Errors
/// The system's error.
pub fn rename_path(from: &Path, to: &Path) -> io::Result<()> {
    Ok(kernel::renameat(CWD, from, CWD, to)?)
}

/// Makes the names in the directory at a path durable.
///
/// # Errors
/// The system's error; see [`super::is_sync_unsupported`].
pub fn sync_dir_at(path: &Path) -> io::Result<()> {
    // Here a link is followed: the store's parent may be one.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    super::sync_directory(kernel::openat(CWD, path, flags, Mode::empty())?)
}

/// Bytes that this user may still write where `path` lies.
///
/// # Errors
/// The system's error.
pub fn free_bytes_at(path: &Path) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let handle = kernel::openat(CWD, path, flags, Mode::empty())?;
    super::free_bytes(handle)
}

/// All bytes of the file system that `path` lies in.
///
/// # Errors
/// The system's error.
pub fn all_bytes_at(path: &Path) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let handle = kernel::openat(CWD, path, flags, Mode::empty())?;
    Ok(kernel::all_bytes(handle)?)
}

/// Returns the error for a system whose process directory is not mounted: attributes are read through it on Linux (proc_pid_fd(5)), and a file
/// seems to be missing without it. `None` where it is there, or not needed.
#[must_use]
pub fn missing_proc() -> Option<io::Error> {
    let is_missing = cfg!(target_os = "linux") && !Path::new("/proc/self/fd").exists();
    is_missing.then(|| io::Error::other("/proc is not mounted, and attributes are read through it"))
}

/// Returns a short path that leads to a held directory, whatever becomes of its name (proc_pid_fd(5)). `None` on another machine.
#[must_use]
pub fn path_of_held(directory: &Handle) -> Option<PathBuf> {
    match directory.as_handle() {
        HandleRef::Here(handle) => Some(format!("/proc/self/fd/{}", handle.as_raw_fd()).into()),
        HandleRef::There(_) => None,
    }
}
