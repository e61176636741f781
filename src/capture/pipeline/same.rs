//! Comparison with an earlier snapshot that makes this one unnecessary.

use super::{Capture, CountChanges};
use crate::capture::private::{look_at_private, private_now};
use crate::capture::walk::{Earlier, Walked};
use crate::capture::{CaptureError, LiveScan, look};
use crate::model::{Manifest, MountRecord, PathCounts, SnapshotRecord, Time};
use crate::observer::Observer;
use crate::store::Store;
use handle_fs::Root;

/// Returns true if a path of any mount differs from `last`, or if that cannot be determined. Stores nothing.
#[must_use]
pub fn has_changed(
    store: &Store,
    last: &SnapshotRecord,
    count: Option<CountChanges>,
    observer: &dyn Observer,
) -> bool {
    let Some(count) = count else {
        return true;
    };
    let key = store.digest_key().ok().flatten();
    last.mounts.iter().any(|mount| {
        let Ok(Some(before)) = store.manifest(last, mount) else {
            return true;
        };
        let request = LiveScan {
            coverage: &mount.coverage,
            layout: store.layout(),
            reference: Some(Earlier {
                manifest: &before,
                started_at: mount.started_at,
                same_rules: true,
                written_back: mount.written_back,
            }),
            check_content: false,
        };
        // What cannot be looked at now may have changed; the capture says what is wrong.
        match look(&request, observer) {
            Ok(now) if count(Some(&before), now.manifest.as_ref()) == PathCounts::default() => {
                let private = || private_now(store.transports(), key.as_ref(), &mount.coverage);
                mount.coverage.state && private().is_some_and(|now| !now.is_recorded_in(mount))
            }
            Ok(_) | Err(_) => true,
        }
    })
}

impl Capture<'_> {
    /// Returns true if stored content is missing and no path differs from the given snapshot. All of the content would be read for
    /// nothing then.
    pub(super) fn is_same_without_content(&self) -> bool {
        let lacks = |(at, coverage)| {
            let reference = self.known.reference(at, self.by_commit(coverage), false);
            reference.is_some_and(|reference| reference.known.is_some())
        };
        self.last.is_some_and(|last| {
            self.request.coverages.iter().enumerate().any(lacks)
                && !has_changed(self.store, last, self.request.count, self.observer)
        })
    }

    /// Returns true if the private files of a mount differ from the given snapshot: no manifest shows them.
    pub(super) fn differs_in_private(&self, at: usize, root: &Root) -> bool {
        let coverage = self.request.coverages.get(at);
        let (Some(last), Some(key), Some(coverage)) = (self.last, &self.key, coverage) else {
            return false;
        };
        let of_mount = |mount: &&MountRecord| mount.coverage.label == coverage.label;
        let before = last.mounts.iter().find(of_mount);
        coverage.state
            && before.is_none_or(|before| !look_at_private(root, coverage, key).is_recorded_in(before))
    }

    /// Returns true if the walks found each mount as it is in the given snapshot, without a file to read. `false` proves nothing.
    ///
    /// # Errors
    /// [`CaptureError::Mount`] for a machine that stopped answering.
    pub(super) fn shares_all(&self, walks: &[Option<(Root, Walked)>]) -> Result<bool, CaptureError> {
        let Some(last) = self.last else {
            return Ok(false);
        };
        for (at, walked) in walks.iter().enumerate() {
            let known = self.known.manifest_of(at, &last.id);
            let is_same = known.zip(walked.as_ref()).is_some_and(|(known, (_, walked))| {
                walked.pending.is_empty() && known.shares_all(&walked.manifest)
            });
            let differs = || {
                let root = walked.as_ref().map(|(root, _)| root);
                root.is_some_and(|root| self.differs_in_private(at, root))
            };
            if !is_same || differs() {
                return Ok(false);
            }
        }
        for (root, _) in walks.iter().flatten() {
            root.answers()?;
        }
        Ok(true)
    }

    /// Records the walks that found each mount as it is in the given snapshot, for the walks after them.
    pub(super) fn note_same(&self, mut looks: Vec<Option<Time>>) {
        let Some(last) = self.last else { return };
        for (at, look) in looks.iter_mut().enumerate() {
            // Otherwise another snapshot said which files need not be read.
            if self.known.manifest_of(at, &last.id).is_none() {
                *look = None;
            }
        }
        self.store.note_unchanged(&last.id, looks);
    }

    /// Returns true if a path of the mount with this number differs from the given snapshot, or if that cannot be determined.
    pub(super) fn differs(&self, at: usize, now: Option<&Manifest>) -> bool {
        let (Some(last), Some(count)) = (self.last, self.request.count) else {
            return true;
        };
        if let Some(known) = self.known.manifest_of(at, &last.id) {
            return count(Some(known), now) != PathCounts::default();
        }
        let before = last.mounts.get(at).map(|mount| self.store.manifest(last, mount));
        match before {
            Some(Ok(before)) => count(before.as_ref(), now) != PathCounts::default(),
            _ => true,
        }
    }
}
