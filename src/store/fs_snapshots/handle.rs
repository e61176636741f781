//! One snapshot of a file system: making it, looking whether it is there, removing it.

use std::io;
use std::path::{Path, PathBuf};

use super::names::spot_of;
use crate::environment::SnapshotPrograms;
use crate::model::NativePlace;
use crate::observer::Observer;
use crate::process::{Cut, Freezer};
use handle_fs::remote::Spot;
use handle_fs::{BTRFS_TOP, NativeKind, NodeKind};

const NO_CLAIM: &str = "it names no claim";

pub(super) fn kind_of(native: &NativePlace) -> NativeKind {
    match native {
        NativePlace::Btrfs { .. } => NativeKind::Btrfs,
        NativePlace::Zfs { .. } => NativeKind::Zfs,
        NativePlace::Volume { .. } => NativeKind::Volume,
    }
}

/// Its program, which is never one of a mount.
fn freezer_of(
    native: &NativePlace,
    (programs, mounts): (&SnapshotPrograms, &[PathBuf]),
) -> Result<Freezer, String> {
    let kind = kind_of(native);
    Freezer::find(programs, kind, mounts).ok_or_else(|| kind.missing())
}

/// Makes it. When this returns its moment is over; to read it may take longer.
pub(super) fn make(native: &NativePlace, freezer: &Freezer, observer: &dyn Observer) -> Result<(), String> {
    match native {
        NativePlace::Btrfs { subvolume, at } => {
            freezer.snapshot_subvolume(&subvolume.to_path(), &at.to_path())
        }
        NativePlace::Zfs { snapshot, .. } => freezer.snapshot_dataset(snapshot),
        NativePlace::Volume {
            claim,
            snapshot,
            class,
            ..
        } => {
            let spot = spot_of(claim).ok_or(NO_CLAIM)?;
            freezer
                .claims()
                .snapshot_volume(&spot, snapshot, class.as_deref())?;
            await_volume(freezer, (&spot, snapshot), Cut::Taken, observer)
        }
    }
}

/// Waits until it can be read.
pub(super) fn await_readable(
    native: &NativePlace,
    (programs, mounts): (&SnapshotPrograms, &[PathBuf]),
    observer: &dyn Observer,
) -> Result<(), String> {
    let NativePlace::Volume { claim, snapshot, .. } = native else {
        return Ok(());
    };
    let spot = spot_of(claim).ok_or(NO_CLAIM)?;
    let freezer = freezer_of(native, (programs, mounts))?;
    await_volume(&freezer, (&spot, snapshot), Cut::Ready, observer)
}

/// Returns true if the file-system snapshot can be read now, without a wait.
pub(super) fn is_readable(
    native: &NativePlace,
    (programs, mounts): (&SnapshotPrograms, &[PathBuf]),
) -> Result<bool, String> {
    let NativePlace::Volume { claim, snapshot, .. } = native else {
        return Ok(true);
    };
    let spot = spot_of(claim).ok_or(NO_CLAIM)?;
    freezer_of(native, (programs, mounts))?
        .claims()
        .is_ready(&spot, snapshot)
}

/// Waits until a snapshot of a claim reaches the state `cut`. The observer is notified meanwhile.
fn await_volume(
    freezer: &Freezer,
    (spot, snapshot): (&Spot, &str),
    cut: Cut,
    observer: &dyn Observer,
) -> Result<(), String> {
    freezer.claims().await_volume(spot, snapshot, cut, &mut || {
        observer.advance(0, 0);
        !observer.cancelled()
    })
}

/// Kind of the file at an expected path, as far as it is visible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// The top of a subvolume of btrfs.
    Top,
    Directory,
    Other,
}

fn found(path: &Path) -> Result<Found, String> {
    let stat = handle_fs::stat_path(path).map_err(|error: io::Error| error.to_string())?;
    Ok(match stat {
        None => Found::Nothing,
        Some(stat) if stat.kind == NodeKind::Directory && stat.ino == BTRFS_TOP => Found::Top,
        Some(stat) if stat.kind == NodeKind::Directory => Found::Directory,
        Some(_) => Found::Other,
    })
}

/// Returns true if the file-system snapshot exists. An invisible one counts as gone only if its file system is visible.
///
/// The subvolume's path may now have another mount. It counts only if `was_made` is false: it is then not certain that anything was
/// created. `Err` has the reason why the answer is unknown.
pub(super) fn is_there(
    native: &NativePlace,
    (programs, mounts): (&SnapshotPrograms, &[PathBuf]),
    was_made: bool,
) -> Result<bool, String> {
    match native {
        NativePlace::Btrfs { subvolume, at } => {
            let at = at.to_path();
            match found(&at)? {
                Found::Top => return Ok(true),
                Found::Nothing => {}
                Found::Directory | Found::Other => return Err("something else exists there".to_owned()),
            }
            // The directory that jackin created for it is on its file system.
            let holder = at.parent().map_or(Ok(Found::Nothing), found)?;
            match holder == Found::Directory || !was_made && found(&subvolume.to_path())? == Found::Top {
                true => Ok(false),
                false => Err("its directory is missing: its file system may not be mounted".to_owned()),
            }
        }
        NativePlace::Zfs { snapshot, .. } => freezer_of(native, (programs, mounts))?.has_snapshot(snapshot),
        NativePlace::Volume {
            claim, uid, snapshot, ..
        } => {
            let spot = spot_of(claim).ok_or(NO_CLAIM)?;
            freezer_of(native, (programs, mounts))?
                .claims()
                .has_volume_snapshot(&spot, snapshot, uid)
        }
    }
}

/// Removes it; one that is gone already is no error.
pub(super) fn remove(
    native: &NativePlace,
    (programs, mounts): (&SnapshotPrograms, &[PathBuf]),
) -> Result<(), String> {
    if !is_there(native, (programs, mounts), false)? {
        return Ok(());
    }
    let freezer = freezer_of(native, (programs, mounts))?;
    match native {
        NativePlace::Btrfs { at, .. } => freezer.delete_subvolume(&at.to_path())?,
        NativePlace::Zfs { snapshot, .. } => freezer.destroy_snapshot(snapshot)?,
        // The cluster does it in its own time, and cannot be made to forget it.
        NativePlace::Volume { claim, snapshot, .. } => {
            let spot = spot_of(claim).ok_or(NO_CLAIM)?;
            return freezer.claims().delete_volume_snapshot(&spot, snapshot);
        }
    }
    match is_there(native, (programs, mounts), false)? {
        true => Err("it is still there".to_owned()),
        false => Ok(()),
    }
}
