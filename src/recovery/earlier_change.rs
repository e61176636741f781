//! The earlier session that changed a path which a later one left alone.

use std::ffi::OsString;
use std::path::Path;

use super::paths::{in_snapshots, place};
use super::{Recovery, RecoveryError, RestoreRequest, Unheard};
use crate::diff::{Side, compare};
use crate::model::{MountRecord, RelPath, SnapshotKind, SnapshotRecord};
use crate::restore::{RestoreError, Scope};
use crate::session::{sessions_covering, those_that_began};
use crate::store::{InstanceRow, Store};

/// Number of sessions that are compared. Each costs the reading of two manifests.
const MOST: usize = 50;

/// Session that changed a path.
#[derive(Clone, Debug)]
pub struct EarlierChange {
    /// The session.
    pub row: InstanceRow,
    /// Number that `@N` counts back to it in the current directory.
    pub number: usize,
}

impl Recovery<'_> {
    /// Returns the newest session before `row` that covers the current directory, changed one of these paths, or something below one, and
    /// whose restore has something to do there. `None` if `row` changed one itself, or there is no such session.
    ///
    /// # Errors
    /// [`RecoveryError::Store`]. Snapshots that cannot be read are passed over.
    pub fn earlier_change(
        &self,
        store: &Store,
        row: &InstanceRow,
        paths: &[OsString],
    ) -> Result<Option<EarlierChange>, RecoveryError> {
        if self.did_change(store, row, paths)? {
            return Ok(None);
        }
        let here = those_that_began(store, sessions_covering(store, &self.environment.current)?);
        let here = here.into_iter().zip(1..);
        let earlier = here.skip_while(|(other, _)| other.id != row.id).skip(1);
        for (row, number) in earlier.take(MOST) {
            if self.did_change(store, &row, paths)? && self.has_to_restore(&row, paths) {
                return Ok(Some(EarlierChange { row, number }));
            }
        }
        Ok(None)
    }

    /// Returns true if a restore of these paths has something to do or to report: another restore may have undone the change already. A
    /// restore that cannot be planned reports why.
    fn has_to_restore(&self, row: &InstanceRow, paths: &[OsString]) -> bool {
        let request = RestoreRequest {
            paths,
            dry_run: true,
            shows_refused: true,
            ..RestoreRequest::of(row.id.as_str())
        };
        // That session is not the one which was asked about.
        let silent = Recovery {
            listener: &Unheard,
            ..*self
        };
        let planned = silent.plan(&request);
        planned.map_or(true, |planned| !planned.is_idle())
    }

    /// Returns true if one of these paths differs between the first and the last snapshot of a session.
    fn did_change(
        &self,
        store: &Store,
        row: &InstanceRow,
        paths: &[OsString],
    ) -> Result<bool, RecoveryError> {
        let mut own = store.catalog().snapshots(&row.id)?.into_iter();
        let (last, first) = (
            own.find(|snapshot| snapshot.kind != SnapshotKind::Emergency),
            own.find(|snapshot| snapshot.kind == SnapshotKind::Baseline),
        );
        let records = first
            .zip(last)
            .and_then(|(first, last)| Some((store.record(&first.id).ok()?, store.record(&last.id).ok()?)));
        let Some((before, after)) = records else {
            return Ok(false);
        };
        let recorded = in_snapshots(store, vec![before.id.clone(), after.id.clone()]);
        let placed = |path: &OsString| place(self.environment, &row.mounts, Path::new(path), &recorded).ok();
        let placed: Vec<(usize, RelPath)> = paths.iter().filter_map(placed).collect();
        for (at, mount) in row.mounts.iter().enumerate() {
            let meant = placed.iter().filter(|(of, _)| *of == at);
            let meant: Vec<RelPath> = meant.map(|(_, path)| path.clone()).collect();
            if meant.is_empty() {
                continue;
            }
            let same = |other: &&MountRecord| other.coverage.label == mount.label;
            let manifest = |record: &SnapshotRecord| {
                let mount = record.mounts.iter().find(same)?;
                store.manifest(record, mount).ok().flatten()
            };
            let (from, to) = (manifest(&before), manifest(&after));
            let side = |manifest| Side {
                manifest,
                skipped: &[],
            };
            let changes = compare(&side(from.as_ref()), &side(to.as_ref())).changes;
            // Of a database another file may have changed.
            let sides = [from.as_ref(), to.as_ref()];
            let resolved = Scope::Below(meant).resolved(&sides, &changes, &Vec::new);
            let scope = resolved.map_err(RestoreError::from)?.scope;
            if changes.iter().any(|change| scope.holds(&change.path)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
