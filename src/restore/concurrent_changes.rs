//! Paths that changed while two instances on overlapping mounts both lived: nobody can tell whose work they are.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt as _;

use super::RestoreError;
use super::snapshot_manifest::manifest;
use crate::capture::{PrivateOverlay, Show};
use crate::diff::{Side, compare};
use crate::model::{Coverage, InstanceId, RelPath, SnapshotKind};
use crate::store::{InstanceRow, Store};

/// For each path of `coverage` that this instance and others changed while both lived: the others.
pub(super) fn shared_paths(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
) -> Result<HashMap<RelPath, Vec<InstanceId>>, RestoreError> {
    let overlaps = |other: &Coverage| coverage.common(other).is_some();
    let mut others: Vec<InstanceRow> = Vec::new();
    for other in store.catalog().instances()? {
        let meets = other.id != instance.id && other.mounts.iter().any(overlaps);
        if meets && lived_together(store, instance, &other)? {
            others.push(other);
        }
    }
    let mut shared: HashMap<RelPath, Vec<InstanceId>> = HashMap::new();
    if others.is_empty() {
        return Ok(shared);
    }
    let own = changed(store, instance, coverage)?;
    for other in others {
        for mount in &other.mounts {
            let Some((root, theirs)) = coverage.common(mount) else {
                continue;
            };
            for path in changed(store, &other, mount)? {
                let path = path.on_host(&theirs);
                let below = path.strip_prefix(&root).ok().map(|p| p.as_os_str().as_bytes());
                let below = below.and_then(|bytes| RelPath::new(bytes).ok());
                let Some(path) = below.filter(|path| own.contains(path)) else {
                    continue;
                };
                let ids = shared.entry(path).or_default();
                if !ids.contains(&other.id) {
                    ids.push(other.id.clone());
                }
            }
        }
    }
    Ok(shared)
}

/// By the order in the chain. Only where that does not tell, by what the clock said.
fn lived_together(store: &Store, a: &InstanceRow, b: &InstanceRow) -> Result<bool, RestoreError> {
    let (first, second) = (store.catalog().lifetime(&a.id)?, store.catalog().lifetime(&b.id)?);
    if let ((Some(a_begun), a_ended), (Some(b_begun), b_ended)) = (first, second) {
        let before_end = |begun: u64, ended: Option<u64>| ended.is_none_or(|ended| begun <= ended);
        return Ok(before_end(a_begun, b_ended) && before_end(b_begun, a_ended));
    }
    let before_end =
        |start: &InstanceRow, end: &InstanceRow| end.ended_at.is_none_or(|at| start.started_at <= at);
    Ok(before_end(a, b) && before_end(b, a))
}

/// The paths that differ between an instance's baseline and its last snapshot that is no emergency.
fn changed(
    store: &Store,
    instance: &InstanceRow,
    coverage: &Coverage,
) -> Result<BTreeSet<RelPath>, RestoreError> {
    let rows = store.catalog().snapshots(&instance.id)?;
    let mut reveal = PrivateOverlay::of(store, coverage, Show::Stored)?;
    let mut of = |id| manifest(store, &store.record(id)?, &coverage.label, &mut reveal);
    let last = rows.iter().find(|row| row.kind != SnapshotKind::Emergency);
    let first = rows.iter().rev().find(|row| row.kind == SnapshotKind::Baseline);
    let (Some(first), Some(last)) = (first, last) else {
        return Ok(BTreeSet::new());
    };
    if first.id == last.id {
        return Ok(BTreeSet::new());
    }
    let (first, last) = (of(&first.id)?, of(&last.id)?);
    let from = Side {
        manifest: first.as_ref(),
        skipped: &[],
    };
    let to = Side {
        manifest: last.as_ref(),
        skipped: &[],
    };
    let changes = compare(&from, &to).changes;
    Ok(changes.into_iter().map(|change| change.path).collect())
}
