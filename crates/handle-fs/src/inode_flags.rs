//! The flags of an object that `chattr` sets, through its handle.

use std::io;

use rustix::io::Errno;

use super::{AsHandle, kernel};
use crate::InodeFlags;

/// Gives an open file or directory exactly these of the flags that are known; the others stay.
///
/// # Errors
/// The system's error: `PermissionDenied` without the right to, `Unsupported` where the file system has none.
pub fn set_inode_flags(handle: impl AsHandle, wanted: InodeFlags) -> io::Result<()> {
    let change = || -> Result<(), Errno> {
        let now = kernel::inode_flags(&handle)?;
        let then = now & !InodeFlags::LINUX | wanted.linux_bits();
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
