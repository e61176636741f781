//! Objects that have extended attributes.

use std::ffi::OsStr;

/// Object whose attributes a call accesses.
pub(crate) enum Bearer<'a, D> {
    /// An open one.
    Open(D),
    /// A child of a directory; the directory itself when the name is empty.
    Child(D, &'a OsStr),
}
