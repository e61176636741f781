//! Changes of a session: its first and last snapshot compared.

use super::RecoveryError;
use crate::capture::{Captured, PrivateOverlay};
use crate::diff::{
    Change, Comparison, Side, compare, compare_withheld, count_unknown, mark_secrets, pair_renames,
};
use crate::model::{Coverage, SnapshotKind};
use crate::session::awaited;
use crate::store::{InstanceRow, Store};

/// Changes of a session that ended.
pub struct SessionChanges {
    /// Changes by mount.
    pub mounts: Vec<(Coverage, Vec<Change>)>,
    /// Number of paths that one of both snapshots could not read.
    pub unknown: u64,
    /// Number of changed private files whose contents cannot be shown.
    pub withheld: u64,
    /// True if there is a baseline.
    pub has_baseline: bool,
    /// True if the baseline is missing and will be stored from a file-system snapshot.
    pub is_awaited: bool,
    /// True if there is a closing snapshot.
    pub has_closing: bool,
}

/// Compares the baseline of a session with its closing snapshot.
pub(crate) fn of_session(
    store: &Store,
    row: &InstanceRow,
    closing: Option<&Captured>,
) -> Result<SessionChanges, RecoveryError> {
    let rows = store.catalog().snapshots(&row.id)?;
    let baseline = rows.iter().find(|row| row.kind == SnapshotKind::Baseline);
    let (Some(baseline), Some(closing)) = (baseline, closing) else {
        return Ok(SessionChanges {
            mounts: Vec::new(),
            unknown: 0,
            withheld: 0,
            has_baseline: baseline.is_some(),
            is_awaited: baseline.is_none() && !awaited(store, row)?.is_empty(),
            has_closing: closing.is_some(),
        });
    };
    let record = store.record(&baseline.id)?;
    let (mut mounts, mut unknown, mut withheld) = (Vec::new(), 0, 0);
    let captured = closing.manifests.iter().zip(&closing.record.mounts);
    for (mount, (now, later)) in record.mounts.iter().zip(captured) {
        // Private files are compared by the facts that the snapshots store of them.
        let mut reveal = PrivateOverlay::default();
        let (before, _) = reveal.stored_manifest(store, &record, mount)?;
        let now = match later.withheld.is_empty() {
            true => now.clone(),
            false => reveal.stored_manifest(store, &closing.record, later)?.0,
        };
        let from = Side {
            manifest: before.as_ref(),
            skipped: &[],
        };
        let to = Side {
            manifest: now.as_ref(),
            skipped: &[],
        };
        let Comparison {
            mut changes,
            not_covered,
        } = compare(&from, &to);
        let root = mount.coverage.root.to_path();
        mark_secrets(&root, [before.as_ref(), now.as_ref()], &mut changes);
        unknown += count_unknown(&not_covered);
        let mut private = compare_withheld(mount, Some(&later.withheld));
        private.retain(|change| !change.is_told_by((before.as_ref(), now.as_ref())));
        withheld += private.len() as u64;
        mounts.push((mount.coverage.clone(), pair_renames(changes)));
    }
    Ok(SessionChanges {
        mounts,
        unknown,
        withheld,
        has_baseline: true,
        is_awaited: false,
        has_closing: true,
    })
}
