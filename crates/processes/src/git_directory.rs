//! The git directory of a process of git, found as git finds it.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::system;

/// No work directory is deeper, and the root is its own parent.
const DEPTH: usize = 128;
/// Longer than any path.
const LONGEST: u64 = 8192;

/// Returns the git directory that a process works with: the one that it names, else the one of its working directory. A relative name
/// counts from where git was started, which may have changed to the work tree since: then the name leads nowhere.
pub(crate) fn git_directory(pid: u32, named: Option<&Path>) -> Option<PathBuf> {
    let named = named.and_then(|path| system::path_for(pid, path));
    named
        .and_then(|path| led_to(pid, &path))
        .or_else(|| discovered(pid))
}

/// Returns true if a git directory of a process is another one or lies in it, such as that of a linked work tree, or shares its parts.
pub(crate) fn belongs_to(pid: u32, git_directory: &Path, other: (u64, u64)) -> bool {
    let common = line_of(&git_directory.join("commondir"))
        .and_then(|line| from(pid, git_directory, Path::new(OsStr::from_bytes(&line))));
    is_below(git_directory, other) || common.is_some_and(|common| is_below(&common, other))
}

/// Climbs from the working directory to the first repository.
fn discovered(pid: u32) -> Option<PathBuf> {
    let mut at = system::path_for(pid, Path::new(""))?;
    for _ in 0..DEPTH {
        let dot = at.join(".git");
        if let Some(found) = led_to(pid, &dot) {
            return Some(found);
        }
        // Git fails at such a file, and looks no further.
        if fs::metadata(&dot).is_ok_and(|facts| facts.is_file()) {
            return None;
        }
        if is_git_directory(&at) {
            return Some(at);
        }
        // A link with the directory itself behind it, so `..` leads out of that.
        let above = at.join("..");
        if place_of(&above)? == place_of(&at)? {
            return None;
        }
        at = above;
    }
    None
}

/// Returns the git directory at a path: itself, or the one that a file there names.
fn led_to(pid: u32, path: &Path) -> Option<PathBuf> {
    if is_git_directory(path) {
        return Some(path.to_path_buf());
    }
    let line = line_of(path)?;
    let target = Path::new(OsStr::from_bytes(line.strip_prefix(b"gitdir: ")?));
    let target = from(pid, path.parent()?, target)?;
    is_git_directory(&target).then_some(target)
}

/// The path that a file of a process's repository names, relative to `directory`.
fn from(pid: u32, directory: &Path, path: &Path) -> Option<PathBuf> {
    match path.is_absolute() {
        true => system::path_for(pid, path),
        false => Some(directory.join(path)),
    }
}

/// Returns true if git takes a directory for a git directory. That of a linked work tree shares `objects` and `refs` with another one.
fn is_git_directory(path: &Path) -> bool {
    let is_directory = |name| fs::metadata(path.join(name)).is_ok_and(|facts| facts.is_dir());
    fs::symlink_metadata(path.join("HEAD")).is_ok()
        && (path.join("commondir").is_file() || is_directory("objects") && is_directory("refs"))
}

/// Returns the first line of a small file.
fn line_of(path: &Path) -> Option<Vec<u8>> {
    // A pipe in its place keeps no one waiting.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).ok()?;
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let mut text = Vec::new();
    file.ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    Some(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

/// Returns the file system and inode of what a path leads to; `None` if it leads nowhere.
fn place_of(path: &Path) -> Option<(u64, u64)> {
    let facts = fs::metadata(path).ok()?;
    Some((facts.dev(), facts.ino()))
}

/// Returns true if a path leads to a directory or below it.
pub(crate) fn is_below(path: &Path, directory: (u64, u64)) -> bool {
    let mut path = path.to_path_buf();
    for _ in 0..DEPTH {
        // A link with the directory itself behind it, so `..` leads out of that.
        match place_of(&path) {
            Some(place) if place == directory => return true,
            Some(_) => path.push(".."),
            None => return false,
        }
    }
    false
}
