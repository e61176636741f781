//! A session around a command that the caller runs, as `launch` does: its neighbors, its end, and what changed.

use super::{Recovery, RecoveryError, SessionChanges, of_session};
use crate::capture::{CaptureError, Captured, Frozen};
use crate::contract::Contract;
use crate::model::{Ending, InstanceId, Operation, ProcessRef, SnapshotKind};
use crate::session::{
    Allowed, Closed, EndRequest, LivenessProbe, end, ensure_outside_session, find_instance, overlap,
    settle_copies, state_by, store_baseline,
};
use crate::store::{InstanceRow, LockGuard, Store};
use handle_fs::Locations;

impl Recovery<'_> {
    /// Fails if the caller runs in a session of this store.
    ///
    /// # Errors
    /// [`RecoveryError::Session`].
    pub fn ensure_outside_in(&self, store: &Store) -> Result<(), RecoveryError> {
        Ok(ensure_outside_session(store, self.environment, Allowed::Nothing)?)
    }

    /// Keeps the copies of this program on machines with mounts of active sessions, for the commands of other processes, and removes the
    /// others.
    pub fn settle_copies(&self) {
        settle_copies(self.environment);
    }

    /// Returns the active sessions on paths of a contract: it is unknown which of them makes a change.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn active_beside(
        &self,
        store: &Store,
        contract: &Contract,
    ) -> Result<Vec<InstanceId>, RecoveryError> {
        let locations = Locations::default();
        let overlaps = |row: &InstanceRow| {
            let mut theirs = row.writable();
            theirs.any(|theirs| {
                let mut ours = contract.coverages().chain(&contract.watched);
                ours.any(|ours| overlap(ours, theirs, &locations))
            })
        };
        let probe = LivenessProbe::now(store);
        let rows = probe.may_live_in(store)?.into_iter();
        let active = rows.filter(|row| overlaps(row) && state_by(&probe, store, row).is_active());
        Ok(active.map(|row| row.id).collect())
    }

    /// Ends a session in a store that is open: takes its closing snapshot, and records how the command ended. The caller holds the session's
    /// lock since it began.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the end cannot be recorded. An error of the closing snapshot is in the result.
    pub fn close(
        &self,
        store: &Store,
        (id, lock): (&InstanceId, &LockGuard),
        ending: Ending,
        survivors: Vec<ProcessRef>,
    ) -> Result<Closed, RecoveryError> {
        let row = find_instance(store, id.as_str())?;
        let request = EndRequest {
            row: &row,
            ending,
            survivors,
            lock: Some(lock),
        };
        Ok(end(store, self.services, request)?)
    }

    /// Compares the baseline of a session with its closing snapshot.
    ///
    /// # Errors
    /// [`RecoveryError::Store`]; [`RecoveryError::Capture`].
    pub fn changes(
        &self,
        store: &Store,
        id: &InstanceId,
        closing: Option<&Captured>,
    ) -> Result<SessionChanges, RecoveryError> {
        let row = find_instance(store, id.as_str())?;
        of_session(store, &row, closing)
    }

    /// Stores a baseline that was frozen before the command began. A failure gets a receipt, unless the observer stopped it.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn store_baseline(
        &self,
        store: &Store,
        id: &InstanceId,
        frozen: Frozen,
    ) -> Result<Captured, CaptureError> {
        let stored = store_baseline(store, self.services, frozen, None);
        if let Err(error) = &stored
            && !matches!(error, CaptureError::Interrupted)
        {
            let failed = Operation::CaptureFailed {
                kind: SnapshotKind::Baseline,
                error: error.to_string(),
            };
            // The capture's error is the one to report, also if no receipt can be written.
            let (now, uid) = (self.services.clock.now(), self.services.uid);
            let _ = store.append(now, uid, id, failed);
        }
        stored
    }
}
