//! The flags of an object that `chattr` sets, through its handle.

use std::io;

use rustix::io::Errno;

use super::{AsHandle, kernel};
use crate::InodeFlags;

/// The numbers that Linux gives them (`FS_IOC_GETFLAGS`, ioctl_iflags(2)): this program's calls use them for every system.
const NUMBERS: [(InodeFlags, u32); 3] = [
    (InodeFlags::IMMUTABLE, 0x10),
    (InodeFlags::APPEND, 0x20),
    (InodeFlags::NODUMP, 0x40),
];
const KNOWN: u32 = 0x70;

/// Returns the known flags as Linux numbers them.
pub(crate) fn numbers(flags: InodeFlags) -> u32 {
    let set = NUMBERS.into_iter().filter(|(flag, _)| flags.contains(*flag));
    set.fold(0, |all, (_, number)| all | number)
}

/// Returns those of Linux's flags that are known.
#[cfg(any(test, debug_assertions, feature = "simulated", target_vendor = "apple"))]
pub(crate) fn of_numbers(numbers: u32) -> InodeFlags {
    let set = NUMBERS.into_iter().filter(|(_, number)| numbers & number != 0);
    set.fold(InodeFlags::default(), |all, (flag, _)| all.with(flag))
}

/// Gives an open file or directory exactly these of the flags that are known; the others stay.
///
/// # Errors
/// The system's error: `PermissionDenied` without the right to, `Unsupported` where the file system has none.
pub fn set_inode_flags(handle: impl AsHandle, wanted: InodeFlags) -> io::Result<()> {
    let change = || -> Result<(), Errno> {
        let now = kernel::inode_flags(&handle)?;
        let then = now & !KNOWN | numbers(wanted);
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
