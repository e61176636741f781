//! Extended attributes of a child, also of links and of files we may not open, addressed through its directory's handle.

use std::ffi::OsStr;
use std::io;

use rustix::io::Errno;

use super::kernel::{self, Bearer};
use super::system::own::NO_ATTRIBUTE;
use super::{AsHandle, HandleRef, Xattr};

/// Every attribute of `name` in `dir` (of `dir` itself when the name is empty), sorted by name. A file system without
/// attributes has none.
///
/// # Errors
/// The system's error.
pub fn list_attributes(dir: impl AsHandle, name: &OsStr) -> io::Result<Vec<Xattr>> {
    collect(&Bearer::Child(dir.as_handle(), name))
}

/// Lists the attributes of an open file, like [`list_attributes`].
///
/// # Errors
/// The system's error.
pub fn handle_attributes(file: impl AsHandle) -> io::Result<Vec<Xattr>> {
    collect(&Bearer::Open(file.as_handle()))
}

fn collect(bearer: &Bearer<'_, HandleRef<'_>>) -> io::Result<Vec<Xattr>> {
    let listed = match grow(|room| kernel::list_xattr(bearer, room)) {
        Ok(listed) => listed,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for attribute in listed.split(|b| *b == 0).filter(|part| !part.is_empty()) {
        match grow(|room| kernel::get_xattr(bearer, attribute, room)) {
            Ok(value) => found.push(Xattr {
                name: attribute.into(),
                value: value.into(),
            }),
            // It vanished between the two calls, or the kernel lists it and cannot give it (trusted.* of overlayfs).
            Err(NO_ATTRIBUTE | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    found.sort();
    Ok(found)
}

/// Calls with a larger buffer until the answer fits.
fn grow(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut small = [0; 256];
    match call(&mut small) {
        Ok(length) => return Ok(small.get(..length).unwrap_or_default().to_vec()),
        Err(Errno::RANGE) => {}
        Err(error) => return Err(error),
    }
    let mut buffer = vec![0; 1024];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if buffer.len() < 1 << 20 => {
                let larger = buffer.len() * 4;
                buffer.resize(larger, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Sets one attribute, whether or not it was there.
///
/// # Errors
/// The system's error.
pub fn set_attribute(dir: impl AsHandle, name: &OsStr, attribute: &Xattr) -> io::Result<()> {
    let bearer = Bearer::Child(dir, name);
    Ok(kernel::set_xattr(&bearer, &attribute.name, &attribute.value)?)
}

/// Removes one attribute.
///
/// # Errors
/// The system's error.
pub fn remove_attribute(dir: impl AsHandle, name: &OsStr, attribute: &[u8]) -> io::Result<()> {
    Ok(kernel::remove_xattr(&Bearer::Child(dir, name), attribute)?)
}

/// Sets an attribute of an open file or directory, like [`set_attribute`].
///
/// # Errors
/// The system's error.
pub fn set_handle_attribute(handle: impl AsHandle, attribute: &Xattr) -> io::Result<()> {
    let bearer = Bearer::Open(handle);
    Ok(kernel::set_xattr(&bearer, &attribute.name, &attribute.value)?)
}

/// Removes an attribute of an open file or directory, like [`remove_attribute`].
///
/// # Errors
/// The system's error.
pub fn remove_handle_attribute(handle: impl AsHandle, attribute: &[u8]) -> io::Result<()> {
    Ok(kernel::remove_xattr(&Bearer::Open(handle), attribute)?)
}
