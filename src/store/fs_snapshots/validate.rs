//! Check that the intent of a capture names only jackin's own file-system snapshots: a store may come from elsewhere, and what an
//! intent names is removed.

use std::path::{Path, PathBuf};

use super::names::{dataset_snapshot, letters_of, spot_of, volume_snapshot};
use crate::contract::frozen_name;
use crate::model::{FsSnapshotIntent, NativePlace};
use crate::store::journal_paths::Paper;
use handle_fs::remote::above;

/// Returns true if two paths lead to the same directory, even if they are spelled differently.
fn is_same(one: &Path, other: &Path) -> bool {
    let plain = |path: &Path| path.canonicalize().ok();
    one == other || plain(one).is_some_and(|one| plain(other) == Some(one))
}

/// Accepts only jackin's own names: a store may come from elsewhere.
impl Paper for FsSnapshotIntent {
    fn check(&self, directory: &Path) -> Result<(), String> {
        if directory.file_name() != Some(self.id.as_str().as_ref()) {
            return Err(format!("it names another snapshot: {}", self.id));
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
                return Err(format!("{:?} is not a directory of jackin", made.to_path()));
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
                return Err(format!("{native:?} is not a snapshot of jackin"));
            }
        }
        if self.mounts.iter().any(|mount| mount.native >= self.natives.len()) {
            return Err("a mount reads a snapshot that it does not name".to_owned());
        }
        Ok(())
    }
}
