//! Names of jackin's file-system snapshots, and the check that an intent names nothing else: a store may come from elsewhere, and
//! what an intent names is removed.

use std::path::{Path, PathBuf};

use crate::contract::{FROZEN_SUFFIX, frozen_name};
use crate::model::{FsSnapshotIntent, NativePlace, SnapshotId};
use crate::platform::remote::{Address, Spot, above};
use crate::store::journal_paths::Paper;

/// Prefix of the name of a dataset's snapshot behind its `@`, and of the name of a claim's snapshot.
const PREFIX: &str = "jackin-recovery-";

/// The letters of a capture, for names.
#[must_use]
pub fn letters_of(id: &SnapshotId) -> &str {
    id.as_str().trim_start_matches("sn-")
}

/// The name of the `number`-th snapshot of a dataset for a capture.
#[must_use]
pub fn dataset_snapshot(dataset: &str, id: &SnapshotId, number: usize) -> String {
    format!("{dataset}@{PREFIX}{}-{number}", letters_of(id))
}

/// The name of the `number`-th snapshot of a claim for a capture.
#[must_use]
pub fn volume_snapshot(id: &SnapshotId, number: usize) -> String {
    format!("{PREFIX}{}-{number}", letters_of(id))
}

/// The claim that an address names.
pub(super) fn spot_of(claim: &str) -> Option<Spot> {
    let (address, path) = Address::split(Path::new(claim))?;
    match address {
        Address::Claim(spot) if spot.snapshot().is_none() && path == Path::new("/") => {
            (Address::Claim(spot.clone()).to_string() == claim).then_some(spot)
        }
        _ => None,
    }
}

/// Returns true if the name is one that jackin uses for this capture, wherever the file-system snapshot is.
///
/// A record may come from elsewhere, and reading what it names may create something in a cluster.
pub(in crate::store) fn is_called_ours(native: &NativePlace, id: &SnapshotId) -> bool {
    let is_number = |text: &str| text.len() < 6 && text.parse::<usize>().is_ok();
    let letters = letters_of(id);
    let numbered = |name: &str| {
        let number = name
            .strip_prefix(PREFIX)
            .and_then(|name| name.strip_prefix(letters));
        number
            .and_then(|number| number.strip_prefix('-'))
            .is_some_and(is_number)
    };
    match native {
        NativePlace::Btrfs { at, .. } => {
            let at = at.to_path();
            let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
            let holder = at.parent().and_then(name);
            let frozen = format!("-{letters}{FROZEN_SUFFIX}");
            at.is_absolute()
                && name(&at).is_some_and(|name| is_number(&name))
                && holder.is_some_and(|holder| holder == id.as_str() || holder.ends_with(&frozen))
        }
        NativePlace::Zfs { snapshot, mountpoint } => {
            let name = snapshot.split_once('@').map_or("", |(_, name)| name);
            mountpoint.to_path().is_absolute() && numbered(name)
        }
        NativePlace::Volume { claim, snapshot, .. } => spot_of(claim).is_some() && numbered(snapshot),
    }
}

/// Returns true if two paths lead to the same directory, even if they are spelled differently.
fn is_same(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.canonicalize().ok();
    one == other || plain(one).is_some_and(|one| plain(other) == Some(one))
}

/// Accepts only jackin's own names: a store may come from elsewhere.
impl Paper for FsSnapshotIntent {
    fn check(&self, directory: &Path) -> Result<(), String> {
        if directory.file_name() != Some(self.id.as_str().as_ref()) {
            return Err(format!("it says that it is the paper of {}", self.id));
        }
        let own = directory.parent().and_then(Path::parent);
        if !own.is_some_and(|own| is_same(own, &self.store.to_path())) {
            return Err(format!("it was written in the store {:?}", self.store.to_path()));
        }
        let letters = letters_of(&self.id);
        let roots = || self.mounts.iter().map(|mount| mount.coverage.root.to_path());
        let beside = |root: PathBuf| Some(above(&root)?.join(frozen_name(&root, letters)));
        let ours: Vec<PathBuf> = roots().filter_map(beside).collect();
        for made in &self.directories {
            if !ours
                .iter()
                .any(|our| our.as_os_str() == made.to_path().as_os_str())
            {
                return Err(format!("{:?} is no directory of ours", made.to_path()));
            }
        }
        let mut holders = self
            .directories
            .iter()
            .map(|made| made.to_path())
            .collect::<Vec<_>>();
        holders.push(directory.to_path_buf());
        for (number, native) in self.natives.iter().enumerate() {
            let is_ours = match native {
                NativePlace::Btrfs { at, .. } => {
                    let at = at.to_path();
                    let mut places = holders.iter().map(|holder| holder.join(number.to_string()));
                    places.any(|place| place.as_os_str() == at.as_os_str())
                }
                NativePlace::Zfs { snapshot, .. } => {
                    let dataset = snapshot.split_once('@').map_or("", |(dataset, _)| dataset);
                    *snapshot == dataset_snapshot(dataset, &self.id, number)
                }
                NativePlace::Volume { claim, snapshot, .. } => {
                    spot_of(claim).is_some() && *snapshot == volume_snapshot(&self.id, number)
                }
            };
            if !is_ours {
                return Err(format!("{native:?} is no snapshot of ours"));
            }
        }
        if self.mounts.iter().any(|mount| mount.native >= self.natives.len()) {
            return Err("a mount reads a snapshot that it does not name".to_owned());
        }
        Ok(())
    }
}
