//! Search for the programs that jackin starts itself. A relative path is never searched: the current directory may be a mount,
//! and no program in a mount is ever started.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// `PATH` without what is relative.
pub(super) fn absolute_path(environment: &Environment) -> OsString {
    let path = environment.get("PATH").unwrap_or_default();
    let absolute = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    match std::env::join_paths(absolute) {
        Ok(path) if !path.is_empty() => path,
        // An empty one would mean the current directory.
        _ => "/usr/bin:/bin".into(),
    }
}

/// The same without what lies in one of `mounts`.
pub(super) fn path_outside(environment: &Environment, mounts: &[PathBuf]) -> OsString {
    let path = absolute_path(environment);
    let outside = std::env::split_paths(&path).filter(|directory| is_outside(directory, mounts));
    std::env::join_paths(outside).unwrap_or_default()
}

/// Returns true if `place` exists and neither it nor what it links to lies in one of `mounts`.
pub(super) fn is_outside(place: &Path, mounts: &[PathBuf]) -> bool {
    // What cannot be looked at is not started, either.
    let real = place.canonicalize();
    real.is_ok_and(|real| {
        !mounts
            .iter()
            .any(|mount| real.starts_with(mount) || place.starts_with(mount))
    })
}

/// The file of a program that is named without a directory, where it leads to nothing in one of `mounts`.
pub(super) fn find(program: &OsStr, path: &OsStr, mounts: &[PathBuf]) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).map(|directory| directory.join(program));
    places.find(|place| can_run(place) && is_outside(place, mounts))
}

/// Returns true for a file that some user may execute.
pub(super) fn can_run(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
