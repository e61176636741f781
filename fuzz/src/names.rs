//! What a name and a path may be, said once more and in other words than the program's own.

use jackin_recovery::model::RelPath;

/// Whether a directory can hold this name, and the name leads nowhere else.
pub(crate) fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes != b"." && bytes != b".." && !bytes.contains(&b'/') && !bytes.contains(&0)
}

/// Whether each part of a relative path is a name; the root has none.
pub(crate) fn is_below(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(is_name)
}

/// Whether a host path is absolute and each part of it a name.
pub(crate) fn is_host(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"/").is_some_and(is_below)
}

/// A path that was let in leads nowhere else.
#[track_caller]
pub(crate) fn check(path: &RelPath) {
    assert!(is_below(path.as_bytes()), "{path:?} was let in");
}
