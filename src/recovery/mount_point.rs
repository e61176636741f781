//! The directory that snapshots are mounted on: checked before anything is mounted.

mod error;

use std::path::{Path, PathBuf};

pub use error::MountPointError;

use super::{Recovery, RecoveryError, refuse_address};
use crate::config::settle_path;
use crate::model::Coverage;
use crate::product::FILE_SYSTEM;
use crate::session::without_forgotten;
use handle_fs::NodeKind;
use handle_fs::remote::is_elsewhere;

/// A directory that snapshots can be mounted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint {
    /// Its path, without links.
    pub path: PathBuf,
    /// True if a mount is left there whose process is gone; it must be unmounted first.
    pub is_left: bool,
}

impl Recovery<'_> {
    /// Checks a directory that snapshots are to be mounted on: it is empty, and lies neither in the store nor in a directory that a
    /// session protects. A mount that is left there is found in any place.
    ///
    /// # Errors
    /// [`RecoveryError::MountPoint`]; [`RecoveryError::Output`] for an address; [`RecoveryError::Store`].
    pub fn mount_point(&self, directory: &Path) -> Result<MountPoint, RecoveryError> {
        refuse_address(directory)?;
        let own = format!("fuse.{FILE_SYSTEM}");
        // With one more part all links are resolved, unless a mount is in the way whose process is gone.
        let whole = settle_path(self.environment, &directory.join("x"));
        let whole = whole.parent().unwrap_or(Path::new("/")).to_path_buf();
        let found = handle_fs::stat_path(&whole);
        let path = match &found {
            Ok(Some(_)) => whole,
            _ => settle_path(self.environment, directory),
        };
        let unreadable = |source| MountPointError::Unreadable {
            path: path.clone(),
            source,
        };
        if handle_fs::kind_mounted_at(&path) == Some(own) {
            // Only its names: the kernel may know its facts for a while after the process is gone.
            return match handle_fs::names_at(&path) {
                Err(error) if handle_fs::is_disconnected(&error) => Ok(MountPoint { path, is_left: true }),
                _ => Err(MountPointError::Mounted(path).into()),
            };
        }
        // A mount that is left is removed from any place.
        self.refuse_place(&path)?;
        match handle_fs::stat_path(&path) {
            Ok(Some(stat)) if stat.kind == NodeKind::Directory => {}
            Ok(Some(_)) => return Err(MountPointError::NoDirectory(path).into()),
            Ok(None) => return Err(MountPointError::Missing(path).into()),
            Err(error) => return Err(unreadable(error).into()),
        }
        match handle_fs::names_at(&path).map_err(unreadable)?.is_empty() {
            true => Ok(MountPoint { path, is_left: false }),
            false => Err(MountPointError::NotEmpty(path).into()),
        }
    }

    /// Refuses a place in the store, or in a directory that a session protects.
    fn refuse_place(&self, path: &Path) -> Result<(), RecoveryError> {
        let store = settle_path(self.environment, &self.store_directory()?);
        if path.starts_with(&store) {
            return Err(MountPointError::InStore(path.to_path_buf()).into());
        }
        let Some(store) = self.store_for_reading()? else {
            return Ok(());
        };
        let rows = without_forgotten(&store, store.catalog().instances()?)?;
        for row in rows.into_iter().filter(|row| !row.is_imported()) {
            let mut places = row.mounts.iter().flat_map(Coverage::places);
            let around = places.find(|place| !is_elsewhere(place) && path.starts_with(place));
            if let Some(root) = around {
                return Err(MountPointError::Protected {
                    path: path.to_path_buf(),
                    root,
                    instance: row.id,
                }
                .into());
            }
        }
        Ok(())
    }
}
