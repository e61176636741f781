//! Search for programs. A relative path is never searched, and no program in an untrusted directory is found: the current directory may
//! be one.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Returns `PATH` without relative directories.
pub(crate) fn absolute_path(path: Option<&OsStr>) -> OsString {
    let path = path.unwrap_or_default();
    let absolute = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    match std::env::join_paths(absolute) {
        Ok(path) if !path.is_empty() => path,
        // An empty one would mean the current directory.
        _ => "/usr/bin:/bin".into(),
    }
}

/// Returns `PATH` without relative directories and without those that lie in one of `untrusted`.
#[must_use]
pub fn path_outside(path: Option<&OsStr>, untrusted: &[PathBuf]) -> OsString {
    let path = absolute_path(path);
    let outside = std::env::split_paths(&path).filter(|directory| is_outside(directory, untrusted));
    std::env::join_paths(outside).unwrap_or_default()
}

/// Returns true if `place` exists and neither it nor what it links to lies in one of `untrusted`.
#[must_use]
pub fn is_outside(place: &Path, untrusted: &[PathBuf]) -> bool {
    // What cannot be looked at is not started, either.
    let real = place.canonicalize();
    real.is_ok_and(|real| {
        !untrusted
            .iter()
            .any(|directory| real.starts_with(directory) || place.starts_with(directory))
    })
}

/// Returns the file of a program that is named without a directory: the first one in `path` that leads to nothing in `untrusted`.
#[must_use]
pub fn find(program: &OsStr, path: &OsStr, untrusted: &[PathBuf]) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).map(|directory| directory.join(program));
    places.find(|place| can_run(place) && is_outside(place, untrusted))
}

/// Returns true for a file that some user may execute.
pub(crate) fn can_run(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
