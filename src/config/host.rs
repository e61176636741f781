//! Host paths: expands `~`, and resolves paths whose parts may not exist yet.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::environment::Environment;
use handle_fs::remote::{Address, Transports, is_elsewhere};

/// Maximum number of links followed in one path, as in Linux (`MAXSYMLINKS` in its `namei.h`).
const MAX_LINKS: usize = 40;

/// Replaces the `~` of `~` and `~/x`; `None` if the home directory is needed and unknown.
pub(super) fn expand(written: &str, home: Option<&Path>) -> Option<PathBuf> {
    match written.strip_prefix('~') {
        Some("") => home.map(Path::to_path_buf),
        Some(rest) if rest.starts_with('/') => home.map(|home| home.join(rest.trim_start_matches('/'))),
        _ => Some(PathBuf::from(written)),
    }
}

/// Resolves an absolute path: follows every link and removes `.` and `..`; missing parts stay as written. Unlike `canonicalize`
/// it never fails, so it also works for a store to be created later or a secret that does not exist yet. An address keeps what it
/// leaves open.
#[must_use]
pub fn settle(path: &Path) -> PathBuf {
    if let Some((address, path)) = Address::split(path) {
        return address.with(&plain(&path));
    }
    settle_below(Path::new("/"), path)
}

/// Resolves like [`settle`] a path below `directory`, which is resolved already and is not looked at again.
#[must_use]
pub fn settle_below(directory: &Path, path: &Path) -> PathBuf {
    let mut done = directory.to_path_buf();
    let mut rest = backwards(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        match fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                rest.extend(backwards(&target));
            }
            // A file system that ignores case has many paths for one directory.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                done = handle_fs::stored_child(&done, &part)
            }
            _ => done = next,
        }
    }
    done
}

/// Resolves the path of a mount like [`settle`], and completes an address that leaves something open.
#[must_use]
pub fn settle_mount(transports: &Transports, path: &Path) -> PathBuf {
    match Address::split(path) {
        Some((address, path)) => {
            let (address, path) = transports.resolve(address, path);
            address.with(&plain(&path))
        }
        None => settle(path),
    }
}

/// Resolves a path argument as the operator means it: absolute, without `.` and `..`, with every link above its last part
/// resolved. An address that is not understood stays what it is: it leads nowhere.
#[must_use]
pub fn settle_path(environment: &Environment, path: &Path) -> PathBuf {
    if is_elsewhere(path) {
        return match Address::split(path) {
            Some(_) => settle_mount(&environment.transports, path),
            None => path.to_path_buf(),
        };
    }
    let written = written_path(environment, path);
    let resolved = written.parent().and_then(|parent| fs::canonicalize(parent).ok());
    match (resolved, written.file_name()) {
        (Some(parent), Some(name)) => handle_fs::stored_child(&handle_fs::stored_path(&parent), name),
        _ => written,
    }
}

/// Returns a path argument as it is written: absolute, without `.` and `..`. No link is followed but the one before a `..`, which means
/// the directory above its target.
#[must_use]
pub fn written_path(environment: &Environment, path: &Path) -> PathBuf {
    let absolute = environment.absolute(path);
    let mut written = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => {
                if written.is_symlink() {
                    written = settle(&written);
                }
                written.pop();
            }
            Component::CurDir => {}
            other => written.push(other),
        }
    }
    written
}

/// Removes `.` and `..` from the text alone: links of another machine are followed there.
fn plain(path: &Path) -> PathBuf {
    let mut done = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => done.push(name),
            Component::ParentDir => drop(done.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    done
}

/// Returns the parts of a path, the last one first.
fn backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}
