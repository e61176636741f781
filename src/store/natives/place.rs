//! One snapshot of a file system: whether it is there, and how it goes.

use std::io;
use std::path::{Path, PathBuf};

use crate::platform::{self, BTRFS_TOP, NativeKind, NodeKind};
use crate::process::Freezer;
use crate::snapshot::NativePlace;

pub(super) fn kind_of(native: &NativePlace) -> NativeKind {
    match native {
        NativePlace::Btrfs { .. } => NativeKind::Btrfs,
        NativePlace::Zfs { .. } => NativeKind::Zfs,
    }
}

/// What lies where it must be, as far as can be seen.
fn found(path: &Path) -> io::Result<Found> {
    Ok(match platform::stat_path(path)? {
        None => Found::Nothing,
        Some(stat) if stat.kind == NodeKind::Directory && stat.ino == BTRFS_TOP => Found::Top,
        Some(stat) if stat.kind == NodeKind::Directory => Found::Directory,
        Some(_) => Found::Other,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// The top of a subvolume of btrfs.
    Top,
    Directory,
    Other,
}

/// Whether it can be seen where it must be.
pub(super) fn is_seen(native: &NativePlace) -> bool {
    let found = found(&native.directory()).ok();
    match native {
        NativePlace::Btrfs { .. } => found == Some(Found::Top),
        NativePlace::Zfs { .. } => matches!(found, Some(Found::Top | Found::Directory)),
    }
}

/// Whether it is there; what cannot be seen is gone only when its file system can be. Whatever is mounted at the place of a subvolume now
/// need not be what it was; it is believed only where it is not certain that anything was made (`was_made`).
pub(super) fn is_there(native: &NativePlace, mounts: &[PathBuf], was_made: bool) -> Result<bool, String> {
    let look = |path: &Path| found(path).map_err(|error| error.to_string());
    match native {
        NativePlace::Btrfs { subvolume, at } => {
            let at = at.to_path();
            match look(&at)? {
                Found::Top => return Ok(true),
                Found::Nothing => {}
                Found::Directory | Found::Other => return Err("something else lies there".to_owned()),
            }
            // The directory that we made for it is on its file system.
            let holder = at.parent().map_or(Ok(Found::Nothing), look)?;
            let is_seen =
                holder == Found::Directory || !was_made && look(&subvolume.to_path())? == Found::Top;
            match is_seen {
                true => Ok(false),
                false => Err(
                    "the directory that holds it is not there: its file system may not be mounted".to_owned(),
                ),
            }
        }
        NativePlace::Zfs { snapshot, .. } => {
            let freezer = Freezer::find(NativeKind::Zfs, mounts);
            freezer
                .ok_or_else(|| NativeKind::Zfs.missing())?
                .has_snapshot(snapshot)
        }
    }
}

pub(super) fn remove(native: &NativePlace, mounts: &[PathBuf]) -> Result<(), String> {
    if !is_there(native, mounts, false)? {
        return Ok(());
    }
    let kind = kind_of(native);
    let freezer = Freezer::find(kind, mounts).ok_or_else(|| kind.missing())?;
    match native {
        NativePlace::Btrfs { at, .. } => freezer.delete_subvolume(&at.to_path())?,
        NativePlace::Zfs { snapshot, .. } => freezer.destroy_snapshot(snapshot)?,
    }
    match is_there(native, mounts, false)? {
        true => Err("it is still there".to_owned()),
        false => Ok(()),
    }
}
