//! The two sides of a `diff`: a snapshot, and a later one or the files as they are.

use super::RecoveryError;
use crate::capture::{Earlier, Latest, LiveScan, PrivateOverlay, ScannedTree, look};
use crate::model::{Coverage, SnapshotRecord, WithheldFact};
use crate::observer::Observer;
use crate::store::Store;

/// The later side.
pub(super) enum Later {
    Now,
    Snapshot(Box<SnapshotRecord>),
}

impl Later {
    /// Returns the facts about private files on this side; `None` if they are unknown.
    pub(super) fn withheld<'a>(
        &'a self,
        reveal: &'a PrivateOverlay,
        coverage: &Coverage,
    ) -> Option<&'a [WithheldFact]> {
        let Self::Snapshot(record) = self else {
            return reveal.facts();
        };
        let mut mounts = record.mounts.iter();
        let same = mounts.find(|mount| mount.coverage.label == coverage.label);
        Some(same.map(|mount| mount.withheld.as_slice()).unwrap_or_default())
    }
}

/// The files as they are.
pub(super) fn live(
    observer: &dyn Observer,
    store: &Store,
    coverage: &Coverage,
    before: Option<Earlier<'_>>,
    check_content: bool,
) -> Result<ScannedTree, RecoveryError> {
    let latest = Latest::find(store, coverage);
    let reference = latest.as_ref().map(Latest::earlier).or(before);
    Ok(look(
        &LiveScan {
            coverage,
            transports: store.transports(),
            reference,
            check_content,
        },
        observer,
    )?)
}

/// Reads the manifest that a snapshot has for the mount with this coverage.
pub(super) fn stored(
    store: &Store,
    record: &SnapshotRecord,
    coverage: &Coverage,
    reveal: &mut PrivateOverlay,
) -> Result<ScannedTree, RecoveryError> {
    let mut mounts = record.mounts.iter();
    let manifest = match mounts.find(|mount| mount.coverage.label == coverage.label) {
        Some(mount) => reveal.stored_manifest(store, record, mount)?.0,
        None => None,
    };
    Ok(ScannedTree {
        manifest,
        skipped: Vec::new(),
    })
}
