//! The earlier session that changed what a later one left alone: a path, or anything.

use std::ffi::OsString;
use std::path::Path;

use super::net_changes::net_changes;
use super::paths::{in_snapshots, place};
use super::status::standing_restore;
use super::{Recovery, RecoveryError, RestoreRequest, Unheard};
use crate::diff::{Side, compare, compare_withheld};
use crate::model::{ChangeCounts, MountRecord, PathCounts, RelPath, SnapshotKind, SnapshotRecord};
use crate::process::INSTANCE_VARIABLE;
use crate::restore::{RestoreError, Scope};
use crate::session::{Covering, sessions_covering, those_that_began};
use crate::store::{InstanceRow, Store, StoreError};

/// Number of sessions that are considered. Each may cost the reading of two manifests.
const MOST: usize = 50;

/// Session that changed something, while a later one changed nothing.
#[derive(Clone, Debug)]
pub struct EarlierSession {
    /// The session.
    pub row: InstanceRow,
    /// Number that `@N` counts back to it in the current directory.
    pub number: usize,
    /// Number of paths that it changed.
    pub counts: PathCounts,
}

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

    /// Returns the newest session before `row` that covers the current directory, changed something, and was not restored. `None` if `row`
    /// changed something itself, if this process runs in a session, or if there is no such session. Nothing but the catalog and manifests is
    /// read: if its changes were reverted without a restore, it is returned as well.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn earlier_session(
        &self,
        store: &Store,
        row: &InstanceRow,
    ) -> Result<Option<EarlierSession>, RecoveryError> {
        // A session restores only its own files.
        let is_inside = self.environment.get(INSTANCE_VARIABLE).is_some();
        let mut looked = 0;
        if is_inside || !changed_nothing(store, row, &mut looked)? {
            return Ok(None);
        }
        let mut is_before = false;
        for (number, other) in (1..).zip(Covering::new(store, &self.environment.current)?.that_began()) {
            let other = other?;
            if !is_before {
                is_before = other.id == row.id;
                continue;
            }
            if number > MOST {
                break;
            }
            if other.ended_at.is_none() || !can_restore(store, &other)? {
                continue;
            }
            let Some(counts) = net_changes(store, &other, &mut looked)? else {
                continue;
            };
            if counts.known() > 0 && !was_restored(store, &other)? {
                return Ok(Some(EarlierSession {
                    row: other,
                    number,
                    counts,
                }));
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
            let resolved = Scope::Below(meant.into_iter().collect()).resolved(&sides, &changes, &Vec::new);
            let scope = resolved.map_err(RestoreError::from)?.scope;
            if changes.iter().any(|change| scope.holds(&change.path)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns true if no snapshot of a session shows a change.
fn changed_nothing(store: &Store, row: &InstanceRow, looked: &mut usize) -> Result<bool, StoreError> {
    let captures = store.catalog().captures(&row.id)?;
    let mut steps = captures
        .iter()
        .filter(|capture| !matches!(capture.kind, SnapshotKind::Emergency | SnapshotKind::Baseline));
    // A step whose receipt has no count may have changed something.
    let is_still = |step: Option<&ChangeCounts>| step.is_some_and(|step| !step.counts.are_any());
    if steps.all(|capture| is_still(capture.step.as_ref())) {
        return Ok(!changed_private(store, row)?);
    }
    // What one step did, a later one may have undone.
    let counts = net_changes(store, row, looked)?;
    Ok(counts.is_some_and(|counts| !counts.are_any()) && !changed_private(store, row)?)
}

/// Returns true if a private file, which no count includes, differs between the first and the last snapshot of a session, or if that is
/// unknown.
fn changed_private(store: &Store, row: &InstanceRow) -> Result<bool, StoreError> {
    let mut own = store.catalog().snapshots(&row.id)?.into_iter();
    let last = own.find(|snapshot| snapshot.kind != SnapshotKind::Emergency);
    let Some(last) = last.filter(|last| last.kind != SnapshotKind::Baseline) else {
        return Ok(false);
    };
    let first = own.find(|snapshot| snapshot.kind == SnapshotKind::Baseline);
    let records = first.and_then(|first| Some((store.record(&first.id).ok()?, store.record(&last.id).ok()?)));
    let Some((before, after)) = records else {
        return Ok(true);
    };
    let mut mounts = before.mounts.iter();
    Ok(mounts.any(|mount| {
        let same = |other: &&MountRecord| other.coverage.label == mount.coverage.label;
        let later = after.mounts.iter().find(same);
        !compare_withheld(mount, later.map(|later| later.withheld.as_slice())).is_empty()
    }))
}

/// Returns true if the baseline of a session is there.
fn can_restore(store: &Store, row: &InstanceRow) -> Result<bool, StoreError> {
    let snapshots = store.catalog().snapshots(&row.id)?;
    Ok(snapshots
        .iter()
        .any(|snapshot| snapshot.kind == SnapshotKind::Baseline))
}

/// Returns true if the operator restored files of a session, and did not undo that.
fn was_restored(store: &Store, row: &InstanceRow) -> Result<bool, StoreError> {
    Ok(standing_restore(&store.catalog().restores(&row.id)?).is_some())
}
