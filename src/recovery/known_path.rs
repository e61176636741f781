//! Paths that sessions know although they are gone.

use std::ffi::OsStr;
use std::path::Path;

use super::paths::{in_session, place};
use super::{Recovery, RecoveryError};
use crate::config::settle_path;
use crate::model::SnapshotKind;
use crate::session::Covering;
use crate::store::{InstanceRow, PathLookup, Store};

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
        let mut lookup = PathLookup::new(&store);
        for row in Covering::new(&store, &there)?.take(LOOKED_AT) {
            if self.has((&store, &mut lookup), &row?, Path::new(path))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has(
        &self,
        (store, lookup): (&Store, &mut PathLookup<'_>),
        row: &InstanceRow,
        path: &Path,
    ) -> Result<bool, RecoveryError> {
        let recorded = in_session(store, row)?;
        let Ok((at, path)) = place(self.environment, &row.mounts, path, &recorded) else {
            return Ok(false);
        };
        let Some(coverage) = row.mounts.get(at) else {
            return Ok(false);
        };
        let snapshots = store.catalog().snapshots(&row.id)?.into_iter();
        let mut ends =
            snapshots.filter(|row| matches!(row.kind, SnapshotKind::Baseline | SnapshotKind::Closing));
        Ok(ends.any(|snapshot| lookup.shows(&snapshot.id, &coverage.label, &path)))
    }
}
