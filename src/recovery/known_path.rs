//! Paths that sessions know although they are gone.

use std::ffi::OsStr;
use std::path::Path;

use super::paths::place;
use super::{Recovery, RecoveryError};
use crate::config::settle_path;
use crate::model::SnapshotKind;
use crate::session::sessions_covering;
use crate::store::{InstanceRow, Store};

/// Number of sessions in which a path is looked for, the newest first.
const LOOKED_AT: usize = 20;

impl Recovery<'_> {
    /// Returns true if the baseline or the closing snapshot of a session that covers a path has it.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn some_session_has(&self, path: &OsStr) -> Result<bool, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(false);
        };
        let there = settle_path(self.environment, Path::new(path));
        for row in sessions_covering(&store, &there)?.into_iter().take(LOOKED_AT) {
            if self.has(&store, &row, Path::new(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has(&self, store: &Store, row: &InstanceRow, path: &Path) -> Result<bool, RecoveryError> {
        let Ok((at, path)) = place(self.environment, &row.mounts, path) else {
            return Ok(false);
        };
        let label = row.mounts.get(at).map(|coverage| coverage.label.as_str());
        let snapshots = store.catalog().snapshots(&row.id)?.into_iter();
        let mut ends =
            snapshots.filter(|row| matches!(row.kind, SnapshotKind::Baseline | SnapshotKind::Closing));
        Ok(ends.any(|snapshot| {
            // Nothing is known of a record or a manifest that cannot be read.
            let record = store.record(&snapshot.id).ok();
            record.is_some_and(|record| {
                let mut mounts = record.mounts.iter();
                let mount = mounts.find(|mount| Some(mount.coverage.label.as_str()) == label);
                let manifest = mount.and_then(|mount| store.manifest(&record, mount).ok().flatten());
                manifest.is_some_and(|manifest| manifest.entry(&path).is_some())
            })
        }))
    }
}
