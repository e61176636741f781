//! Examines open objects, and children of open directories, without following links.

use std::ffi::OsStr;
use std::io;

use super::{AsHandle, Stat, kernel};

/// Facts of the child `name` of `dir`.
///
/// # Errors
/// The system's error; `NotFound` if there is none.
pub fn stat_child(dir: impl AsHandle, name: &OsStr) -> io::Result<Stat> {
    Ok(kernel::stat(dir, name)?)
}

/// Facts of an open file or directory.
///
/// # Errors
/// The system's error.
pub fn stat_handle(handle: impl AsHandle) -> io::Result<Stat> {
    Ok(kernel::stat_itself(handle)?)
}
