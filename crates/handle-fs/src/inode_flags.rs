//! The flags of an object that `chattr` sets, through its handle.

use std::io;

use super::AsHandle;
use crate::InodeFlags;

#[cfg(target_os = "linux")]
const KNOWN: [(InodeFlags, rustix::fs::IFlags); 3] = [
    (InodeFlags::IMMUTABLE, rustix::fs::IFlags::IMMUTABLE),
    (InodeFlags::APPEND, rustix::fs::IFlags::APPEND),
    (InodeFlags::NODUMP, rustix::fs::IFlags::NODUMP),
];

/// Gives an open file or directory exactly these of the flags that are known; the others stay.
///
/// # Errors
/// The system's error: `PermissionDenied` without the right to, `Unsupported` where the file system has none.
#[cfg(target_os = "linux")]
pub fn set_inode_flags(handle: impl AsHandle, wanted: InodeFlags) -> io::Result<()> {
    use super::kernel;
    use rustix::io::Errno;
    let change = || -> Result<(), Errno> {
        let now = kernel::inode_flags(&handle)?;
        let mut then = now;
        for (ours, theirs) in KNOWN {
            then.set(theirs, wanted.contains(ours));
        }
        if then == now {
            return Ok(());
        }
        kernel::set_inode_flags(&handle, then)
    };
    match change() {
        Err(Errno::NOTTY | Errno::OPNOTSUPP) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the file system has no such flags",
        )),
        other => Ok(other?),
    }
}

/// There are none that are known here.
///
/// # Errors
/// `Unsupported`, unless none is wanted.
#[cfg(not(target_os = "linux"))]
pub fn set_inode_flags(_: impl AsHandle, wanted: InodeFlags) -> io::Result<()> {
    if wanted.is_empty() {
        Ok(())
    } else {
        Err(io::ErrorKind::Unsupported.into())
    }
}
