//! Names of jackin's file-system snapshots.

use std::path::Path;

use crate::contract::FROZEN_SUFFIX;
use crate::model::{NativePlace, SnapshotId};
use handle_fs::remote::{Address, Spot};

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
