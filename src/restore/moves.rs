//! Moving one object, and telling whether it is still the one that was recorded.

use std::ffi::OsStr;
use std::io;

use crate::mount::Dir;
use crate::platform::{self, NodeKind, Stat};
use crate::snapshot::{Entry, Kind};

/// Makes a directory that its owner may not write movable: its entry `..` changes when it is moved. Gives the mode that
/// has to be put back.
fn loosen(dir: &Dir, name: &OsStr) -> io::Result<Option<u32>> {
    if platform::is_privileged() {
        return Ok(None);
    }
    let Some(stat) = dir.look(name)? else {
        return Ok(None);
    };
    if stat.kind != NodeKind::Directory || stat.mode & 0o200 != 0 || stat.uid != platform::own_ids().0 {
        return Ok(None);
    }
    platform::chmod_node(dir, name, stat.mode | 0o200)?;
    Ok(Some(stat.mode))
}

/// Moves an object to a name that must not exist.
pub(super) fn relocate(from: &Dir, name: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    let mode = loosen(from, name)?;
    let moved = platform::rename_new(from, name, to, new);
    if let Some(mode) = mode {
        let (dir, name) = if moved.is_ok() { (to, new) } else { (from, name) };
        platform::chmod_node(dir, name, mode)?;
    }
    moved
}

/// Exchanges a staged object with a live one. Where the file system cannot, in two steps: the old one goes aside
/// first and comes back when the second step fails.
pub(super) fn swap(stage: &Dir, place: &OsStr, dir: &Dir, name: &OsStr) -> io::Result<()> {
    let modes = (loosen(stage, place)?, loosen(dir, name)?);
    let swapped = match platform::exchange(stage, place, dir, name) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            swap_in_steps(stage, place, dir, name)
        }
        other => other,
    };
    let here = ((stage, place), (dir, name));
    let (new, old) = if swapped.is_ok() { (here.1, here.0) } else { here };
    for ((dir, name), mode) in [(new, modes.0), (old, modes.1)] {
        if let Some(mode) = mode {
            platform::chmod_node(dir, name, mode)?;
        }
    }
    swapped
}

fn swap_in_steps(stage: &Dir, place: &OsStr, dir: &Dir, name: &OsStr) -> io::Result<()> {
    let mut aside = place.to_owned();
    aside.push("-aside");
    platform::rename_new(dir, name, stage, &aside)?;
    if let Err(error) = platform::rename_new(stage, place, dir, name) {
        platform::rename_new(stage, &aside, dir, name)?;
        return Err(error);
    }
    platform::rename_new(stage, &aside, stage, place)
}

/// Whether an object is still what was recorded. `loose` leaves out what our own moves change: the ctime, the number of
/// links, and for directories the mtime.
pub(super) fn fits(was: &Entry, is: &Stat, loose: bool) -> bool {
    if !loose {
        return crate::capture::same_moment(was, is);
    }
    let kind = match (&was.kind, is.kind) {
        (Kind::File(content), NodeKind::File) => content.size == is.size && was.mtime == is.mtime,
        (Kind::Directory, NodeKind::Directory) => true,
        (Kind::Symlink(_), NodeKind::Symlink)
        | (Kind::Fifo, NodeKind::Fifo)
        | (Kind::Socket, NodeKind::Socket)
        | (Kind::CharDevice(..), NodeKind::CharDevice)
        | (Kind::BlockDevice(..), NodeKind::BlockDevice) => was.mtime == is.mtime,
        _ => false,
    };
    let mode = was.mode == is.mode || was.is_dir();
    kind && was.ino == is.ino && mode && (was.uid, was.gid) == (is.uid, is.gid)
}
