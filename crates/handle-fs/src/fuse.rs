//! Mounts of FUSE file systems by the kernel's own calls, which need root (fuse(4), mount(2)).

use std::io;
use std::path::Path;

/// Options of a mount. It is always read-only, without device files and without set-user-id programs.
#[derive(Clone, Copy, Debug)]
pub struct FuseOptions<'a> {
    /// Name of the file system in the table of mounts, without blanks and commas.
    pub name: &'a str,
    /// True if other users may look at it, as far as the modes of files allow.
    pub for_others: bool,
}

impl FuseOptions<'_> {
    /// Returns the type of the file system in the table of mounts.
    #[must_use]
    pub fn kind(&self) -> String {
        format!("fuse.{}", self.name)
    }

    /// Returns the options that the kernel and `fusermount3` have in common, each behind a comma.
    #[must_use]
    pub fn shared(&self) -> &'static str {
        match self.for_others {
            true => ",default_permissions,allow_other",
            false => "",
        }
    }
}

/// Device through which file systems in user space are served.
pub const FUSE_DEVICE: &str = "/dev/fuse";

/// Mounts a FUSE file system on the directory `point`, and returns the descriptor through which it is served. Ends with the last copy of
/// the descriptor, except for its mount.
///
/// # Errors
/// The system's error: `PermissionDenied` without the rights of root, `NotFound` without the device.
#[cfg(target_os = "linux")]
pub fn mount_fuse(point: &Path, options: FuseOptions<'_>) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::mount::{MountFlags, mount};
    use std::os::fd::{AsRawFd as _, OwnedFd};

    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open(FUSE_DEVICE)?;
    let (uid, gid) = super::own_ids();
    // The kernel takes the type of the root from the mode.
    let data = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid}{}",
        device.as_raw_fd(),
        options.shared()
    );
    let data = std::ffi::CString::new(data)?;
    let flags = MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID;
    mount(options.name, point, options.kind(), flags, data.as_c_str())?;
    Ok(OwnedFd::from(device))
}

/// Unmounts the file system on `point`. With `lazily` also one that is in use: it leaves the tree now, and ends with its last user.
///
/// # Errors
/// The system's error: `ResourceBusy` for one that is in use.
#[cfg(target_os = "linux")]
pub fn unmount(point: &Path, lazily: bool) -> io::Result<()> {
    use rustix::mount::UnmountFlags;
    let lazily = match lazily {
        true => UnmountFlags::DETACH,
        false => UnmountFlags::empty(),
    };
    Ok(rustix::mount::unmount(point, UnmountFlags::NOFOLLOW | lazily)?)
}

/// Does not mount: this system has no such call.
///
/// # Errors
/// `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn mount_fuse(_: &Path, _: FuseOptions<'_>) -> io::Result<std::os::fd::OwnedFd> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does not unmount: this system has no such call.
///
/// # Errors
/// `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub fn unmount(_: &Path, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns true if a file system in user space is mounted on `path`, whose process is gone (`Transport endpoint is not connected`).
#[must_use]
pub fn is_disconnected(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOTCONN.raw_os_error())
}

/// Returns true if the error says that something is in use.
#[must_use]
pub fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error())
}

/// Lets this process open as many files as the system allows it. Where that fails, the limit stays as it is.
pub fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// `OPEN_MAX` of macOS: it refuses more with EINVAL, also the "unlimited" that it names as the maximum (setrlimit(2)).
    const OPEN_MAX: u64 = 10_240;
    let limit = getrlimit(Resource::Nofile);
    let raise = |current| {
        let raised = Rlimit { current, ..limit };
        setrlimit(Resource::Nofile, raised).is_ok()
    };
    let is_lower = limit.current.is_some_and(|current| current < OPEN_MAX);
    // Not required: then fewer archives are open at a time.
    let _ = raise(limit.maximum) || (is_lower && raise(Some(OPEN_MAX)));
}
