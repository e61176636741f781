//! Change counts of a step of the session, taken with its snapshot while both manifests are at hand.

use super::Capture;
use crate::model::{ChangeCounts, Manifest, PathCounts, SnapshotId, SnapshotRecord};

/// Counts the differences between two states of one mount; `None` stands for a root that did not exist.
pub type CountChanges = fn(from: Option<&Manifest>, to: Option<&Manifest>) -> PathCounts;

impl Capture<'_> {
    /// Returns the changes since the session's previous snapshot. `None` if not requested, if there is no readable one, and if
    /// agents' state is covered, because no manifest holds its skipped files.
    pub(super) fn step(
        &self,
        record: &SnapshotRecord,
        manifests: &[Option<Manifest>],
    ) -> Option<ChangeCounts> {
        let count = self.request.count?;
        if record.mounts.iter().any(|mount| mount.coverage.state) {
            return None;
        }
        let since = self.before()?;
        let mut counts = PathCounts::default();
        let mut earlier: Option<SnapshotRecord> = None;
        for (at, (mount, now)) in record.mounts.iter().zip(manifests).enumerate() {
            if let Some(known) = self.known.manifest_of(at, &since) {
                counts += count(Some(known), now.as_ref());
                continue;
            }
            let earlier = match &mut earlier {
                Some(earlier) => earlier,
                none => none.insert(self.store.record(&since).ok()?),
            };
            let mut mounts = earlier.mounts.iter();
            let before = match mounts.find(|other| other.coverage.label == mount.coverage.label) {
                Some(before) => self.store.manifest(earlier, before).ok()?,
                None => None,
            };
            counts += count(before.as_ref(), now.as_ref());
        }
        Some(ChangeCounts { since, counts })
    }

    fn before(&self) -> Option<SnapshotId> {
        let catalog = self.store.catalog();
        catalog.captured_before(self.request.instance, u64::MAX).ok()?
    }
}
