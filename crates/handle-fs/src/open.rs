//! Opening and listing from held handles. A link is never followed, a mount never crossed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::kernel::openat;
use super::{AsHandle, File, Handle, Stat, kernel, stat_handle, system};

/// Flags with which a directory is opened to list it.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens a directory by its host path. The last part is not followed when it is a link.
///
/// # Errors
/// The system's error; `NotADirectory` for a link or a file.
pub fn open_root(path: &Path) -> io::Result<Handle> {
    Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
}

/// Opens the directory `name` in `dir`.
///
/// # Errors
/// The system's error; `NotADirectory` for a link or a file.
pub fn open_child_dir(dir: impl AsHandle, name: &OsStr) -> io::Result<Handle> {
    Ok(openat(dir, name, DIRECTORY, Mode::empty())?)
}

/// Opens the regular file `name` in `dir` for reading, without waiting for a FIFO's other end and, where the system
/// allows it, without changing its access time. The facts are those of the opened object.
///
/// # Errors
/// The system's error; `InvalidInput` if it is no regular file any more.
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

/// Opens a child like [`open_child_file`], without a check of what was opened. The caller checks after it has read.
///
/// # Errors
/// The system's error.
pub fn open_child_file_blindly(dir: impl AsHandle, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let handle = match quiet_open(&dir, name, flags) {
        Err(Errno::PERM) => openat(dir, name, flags, Mode::empty()),
        other => other,
    }?;
    Ok(File::from(handle))
}

/// Only the owner of a file may read it without touching its access time.
fn quiet_open(dir: impl AsHandle, name: &OsStr, flags: OFlags) -> Result<Handle, Errno> {
    openat(dir, name, flags | system::own::KEEPS_ACCESS_TIME, Mode::empty())
}

/// Returns true if a symbolic link stands where a file or a directory was expected.
#[must_use]
pub fn is_through_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Opens the directory at the relative `path` below `root`, through no link and across no mount.
///
/// # Errors
/// The system's error: `NotADirectory` or `FilesystemLoop` for a link on the way, `CrossesDevices` for a mount.
pub fn open_beneath(root: impl AsHandle, path: &Path) -> io::Result<Handle> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    match resolve(&root, path) {
        // Older kernels and some sandboxes.
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(root, path),
        Err(Errno::NAMETOOLONG) if path.as_os_str().len() >= AT_ONCE => piece_by_piece(root, path),
        other => Ok(other?),
    }
}

/// Path length at which the kernel answers ENAMETOOLONG, in bytes (`PATH_MAX`, path_resolution(7)).
const AT_ONCE: usize = 4096;

/// Opens a path beyond `PATH_MAX` in as few calls as possible.
fn piece_by_piece(root: impl AsHandle, path: &Path) -> io::Result<Handle> {
    let mut rest = path.as_os_str().as_bytes();
    let mut here: Option<Handle> = None;
    while !rest.is_empty() {
        let longest = rest.get(..AT_ONCE - 1).unwrap_or(rest);
        let end = match longest.len() == rest.len() {
            true => rest.len(),
            // A name that is longer than that is refused by the call.
            false => longest
                .iter()
                .rposition(|byte| *byte == b'/')
                .unwrap_or(longest.len()),
        };
        let (piece, more) = rest.split_at_checked(end).unwrap_or((rest, b""));
        let piece = Path::new(OsStr::from_bytes(piece));
        here = Some(match &here {
            Some(here) => resolve(here, piece)?,
            None => resolve(&root, piece)?,
        });
        rest = more.strip_prefix(b"/").unwrap_or(more);
    }
    here.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

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

fn step_by_step(root: impl AsHandle, path: &Path) -> io::Result<Handle> {
    let mut here = openat(&root, ".", DIRECTORY, Mode::empty())?;
    let place = stat_handle(&here)?.place;
    for part in path
        .as_os_str()
        .as_bytes()
        .split(|b| *b == b'/')
        .filter(|part| *part != b".")
    {
        // No link was followed, so it would only lead out, or back to where another name leads as well.
        if part == b".." {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        here = open_child_dir(&here, OsStr::from_bytes(part))?;
        if stat_handle(&here)?.place != place {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
    }
    Ok(here)
}

/// Gives every name in a directory to `each`, unsorted, without `.` and `..`. No one else may list through the
/// same handle meanwhile: they share its place in the list.
///
/// # Errors
/// The system's error.
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
/// The system's error; `InvalidInput` if it is no link.
pub fn read_link(dir: impl AsHandle, name: &OsStr) -> io::Result<Vec<u8>> {
    Ok(kernel::readlinkat(dir, name)?)
}

/// Returns true if the disk, or the service in its place, failed (EIO).
#[must_use]
pub fn is_io_failure(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
}

/// Returns true if this process has as many files open as it may (EMFILE).
#[must_use]
pub fn is_out_of_handles(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
}

/// Returns true if the object itself forbids the operation (EPERM). A refusal by its mode is EACCES.
#[must_use]
pub fn is_bound(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::PERM.raw_os_error())
}

/// Returns true if syncing failed because the file system cannot sync a directory (some network and FUSE ones, fsync(2)).
#[must_use]
pub fn is_sync_unsupported(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::PathBuf;

    use rustix::fs::{CWD, Mode};

    use super::{DIRECTORY, Handle, kernel, open_beneath, openat, stat_handle, step_by_step};

    /// A directory so deep that no call takes its path, and what its parts are called.
    fn deep(top: &std::path::Path) -> (Handle, PathBuf) {
        let root = openat(CWD, top, DIRECTORY, Mode::empty()).unwrap();
        let mut here = openat(&root, ".", DIRECTORY, Mode::empty()).unwrap();
        let mut parts: Vec<Vec<u8>> = Vec::new();
        // Names of every length, so that a piece ends anywhere.
        for length in (1..=255).chain((1..=255).rev()).step_by(3) {
            let name = vec![b'a' + u8::try_from(parts.len() % 26).unwrap(); length];
            let name = OsString::from_vec(name);
            kernel::mkdirat(&here, name.as_os_str(), Mode::RWXU).unwrap();
            let below = openat(&here, &name, DIRECTORY, Mode::empty()).unwrap();
            here = below;
            parts.push(name.into_vec());
        }
        kernel::symlinkat(b".", &here, "link").unwrap();
        (root, PathBuf::from(OsString::from_vec(parts.join(&b'/'))))
    }

    #[test]
    fn single_steps_lead_out_of_nothing() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(top.path().join("root/a")).unwrap();
        std::fs::create_dir(top.path().join("beside")).unwrap();
        let root = openat(CWD, &top.path().join("root"), DIRECTORY, Mode::empty()).unwrap();
        for inside in [".", "a", "./a"] {
            assert!(step_by_step(&root, inside.as_ref()).is_ok(), "{inside}");
        }
        for outside in ["..", "../beside", "a/../../beside", "a/..", "/", "/tmp"] {
            assert!(step_by_step(&root, outside.as_ref()).is_err(), "{outside}");
        }
    }

    #[test]
    fn a_path_that_no_call_takes_is_opened_in_pieces() {
        let top = tempfile::tempdir().unwrap();
        let (root, path) = deep(top.path());
        assert!(path.as_os_str().len() > 4 * super::AT_ONCE);
        let wanted = stat_handle(step_by_step(&root, &path).unwrap()).unwrap();
        let found = stat_handle(open_beneath(&root, &path).unwrap()).unwrap();
        assert_eq!((found.place, found.ino), (wanted.place, wanted.ino));
        // What is refused in one call is refused in several.
        for wrong in ["link", "../x", "missing", &"n".repeat(256), &"n".repeat(5000)] {
            let wrong = path.join(wrong);
            assert!(open_beneath(&root, &wrong).is_err(), "{}", wrong.display());
        }
        let above: PathBuf = ["..", top.path().file_name().unwrap().to_str().unwrap()]
            .iter()
            .collect();
        assert!(open_beneath(&root, &above.join(&path)).is_err());
    }
}
