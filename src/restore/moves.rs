//! Moving one object, and telling whether it is still the one that was recorded.

use std::ffi::{OsStr, OsString};
use std::io;

use super::metadata::set_directory_mode;
use crate::mount::Dir;
use crate::observer::Observer;
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
    set_directory_mode(dir, name, stat.mode | 0o200)?;
    Ok(Some(stat.mode))
}

/// Moves an object to a name that must not exist.
pub(super) fn relocate(from: &Dir, name: &OsStr, to: &Dir, new: &OsStr) -> io::Result<()> {
    let mode = loosen(from, name)?;
    let moved = platform::rename_new(from, name, to, new);
    if let Some(mode) = mode {
        let (dir, name) = if moved.is_ok() { (to, new) } else { (from, name) };
        set_directory_mode(dir, name, mode)?;
    }
    moved
}

/// How two objects changed places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// In one call: the path is never missing.
    AtOnce,
    /// One after the other.
    InSteps,
}

/// Exchanges a staged object with a live one. Where the file system cannot, in steps that [`finish_steps`] can finish: the
/// old one goes aside first, under [`aside_name`], and comes back when the new one cannot take its place.
pub(super) fn exchange(
    stage: &Dir,
    place: &OsStr,
    dir: &Dir,
    name: &OsStr,
    observer: &dyn Observer,
) -> io::Result<Exchange> {
    let modes = (loosen(stage, place)?, loosen(dir, name)?);
    let swapped = match platform::exchange(stage, place, dir, name).map(|()| Exchange::AtOnce) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            exchange_in_steps(stage, place, dir, name, observer).map(|()| Exchange::InSteps)
        }
        other => other,
    };
    let here = ((stage, place), (dir, name));
    let (new, old) = if swapped.is_ok() { (here.1, here.0) } else { here };
    for ((dir, name), mode) in [(new, modes.0), (old, modes.1)] {
        if let Some(mode) = mode {
            set_directory_mode(dir, name, mode)?;
        }
    }
    swapped
}

/// The name of an old object whose place in the staging directory the new one still has.
pub(super) fn aside_name(place: &OsStr) -> OsString {
    let mut aside = place.to_owned();
    aside.push("-aside");
    aside
}

fn exchange_in_steps(
    stage: &Dir,
    place: &OsStr,
    dir: &Dir,
    name: &OsStr,
    observer: &dyn Observer,
) -> io::Result<()> {
    let aside = aside_name(place);
    platform::rename_new(dir, name, stage, &aside)?;
    observer.reached("parted");
    if let Err(error) = platform::rename_new(stage, place, dir, name) {
        platform::rename_new(stage, &aside, dir, name)?;
        return Err(error);
    }
    observer.reached("joined");
    platform::rename_new(stage, &aside, stage, place)
}

/// Finishes an exchange in steps that stopped after the first or the second one.
pub(super) fn finish_steps(stage: &Dir, place: &OsStr, dir: &Dir, name: &OsStr) -> io::Result<()> {
    if stage.look(place)?.is_some() {
        platform::rename_new(stage, place, dir, name)?;
    }
    platform::rename_new(stage, &aside_name(place), stage, place)
}

/// Whether an object has the mode and the owner of a state.
pub(super) fn has_metadata_of(is: &Stat, entry: &Entry) -> bool {
    let link = matches!(entry.kind, Kind::Symlink(_));
    (link || is.mode == entry.mode) && (is.uid, is.gid) == (entry.uid, entry.gid)
}

/// An object with the mode and the owner of another state.
pub(super) fn with_metadata_of(was: &Entry, will: &Entry) -> Entry {
    Entry {
        mode: will.mode,
        uid: will.uid,
        gid: will.gid,
        ..was.clone()
    }
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
