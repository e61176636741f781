//! An access control list of macOS as an extended attribute: text, one entry a line, as `exacl` writes it.
//!
//! macOS shows a list by calls of its own, not as an attribute. As one it takes the way of every other: it is captured, compared and
//! restored, and an import drops it.

use std::io::{Error, ErrorKind};
use std::path::Path;

use exacl::AclOption;
use rustix::io::Errno;

use crate::Result;

/// Returns the list of an object, of a link its own; `None` if it has no entries.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let entries = exacl::getfacl(path, AclOption::SYMLINK_ACL).map_err(|error| errno(&error))?;
    if entries.is_empty() {
        return Ok(None);
    }
    let text = exacl::to_string(&entries).map_err(|error| errno(&error))?;
    Ok(Some(text.into_bytes()))
}

/// Replaces the list of an object. Users and groups are looked up by their names, and those without a name by their UUID.
pub(super) fn set(path: &Path, text: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(text).map_err(|_| Errno::INVAL)?;
    let entries = exacl::from_str(text).map_err(|_| Errno::INVAL)?;
    exacl::setfacl(&[path], &entries, AclOption::SYMLINK_ACL).map_err(|error| errno(&error))
}

/// Removes every entry of an object's list.
pub(super) fn clear(path: &Path) -> Result<()> {
    exacl::setfacl(&[path], &[], AclOption::SYMLINK_ACL).map_err(|error| errno(&error))
}

/// Returns the number of an error. The library keeps the kind of an error, not its number.
fn errno(error: &Error) -> Errno {
    match error.kind() {
        ErrorKind::NotFound => Errno::NOENT,
        ErrorKind::PermissionDenied => Errno::ACCESS,
        ErrorKind::Unsupported => Errno::OPNOTSUPP,
        ErrorKind::StorageFull => Errno::NOSPC,
        ErrorKind::QuotaExceeded => Errno::DQUOT,
        ErrorKind::ReadOnlyFilesystem => Errno::ROFS,
        // It names a user who does not exist, or is no list.
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other => Errno::INVAL,
        _ => Errno::IO,
    }
}
