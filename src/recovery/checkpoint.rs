//! A named snapshot inside an active session.

use super::settings::terms;
use super::{Recovery, RecoveryError};
use crate::capture::Captured;
use crate::capture::Limits;
use crate::config;
use crate::session::{CheckpointRequest, baseline_again, check_name, checkpoint, checkpoint_if_changed};
use crate::store::{InstanceRow, Store};

/// Checkpoint that was taken, with the session and its store.
pub struct TakenCheckpoint {
    /// The store, open for writing.
    pub store: Store,
    /// The session.
    pub row: InstanceRow,
    /// The snapshot.
    pub captured: Captured,
}

impl Recovery<'_> {
    /// Takes a checkpoint of an active session; before it the baseline, if the process that took that was killed.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery};
    /// # use jackin_recovery::session::CheckpointRequest;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// let mark = CheckpointRequest { name: Some("before-tests"), ..CheckpointRequest::default() };
    /// let taken = recovery.checkpoint(session.as_str(), mark)?;
    /// assert_eq!(taken.captured.record.name.as_deref(), Some("before-tests"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::NotActive`]; [`RecoveryError::NoMounts`]; [`RecoveryError::Session`] if the name cannot be used or the capture
    /// fails.
    pub fn checkpoint(
        &self,
        wanted: &str,
        mark: CheckpointRequest<'_>,
    ) -> Result<TakenCheckpoint, RecoveryError> {
        if let Some(name) = mark.name {
            check_name(name)?;
        }
        let (store, row) = self.active_session(wanted)?;
        if !store.catalog().was_captured(&row.id)?
            && let Some(settings) = terms(self.environment, &row)?
        {
            self.baseline_again(&store, &row, &settings.limits)?;
        }
        let captured = checkpoint(&store, self.services, &row, mark)?;
        Ok(TakenCheckpoint { store, row, captured })
    }

    /// Takes a checkpoint of an active session in a store that is open; `None` if nothing changed since the last snapshot.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the capture fails.
    pub fn checkpoint_if_changed(
        &self,
        store: &Store,
        row: &InstanceRow,
        mark: CheckpointRequest<'_>,
    ) -> Result<Option<Captured>, RecoveryError> {
        Ok(checkpoint_if_changed(store, self.services, row, mark)?)
    }

    /// Takes a checkpoint like [`Recovery::checkpoint_if_changed`]; in a session that began without its baseline, it takes
    /// the baseline, within the limits that are configured now.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the capture fails; [`RecoveryError::Config`] for a configuration that cannot be read.
    pub fn baseline_or_checkpoint(
        &self,
        store: &Store,
        row: &InstanceRow,
        mark: CheckpointRequest<'_>,
    ) -> Result<Option<Captured>, RecoveryError> {
        if store.catalog().snapshots(&row.id)?.is_empty()
            && let Some(settings) = terms(self.environment, row)?
            && let Some(baseline) = self.baseline_again(store, row, &settings.limits)?
        {
            return Ok(Some(baseline));
        }
        self.checkpoint_if_changed(store, row, mark)
    }

    /// Takes the baseline of a session that began without one because it failed or was killed; `None` for any other session.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if it fails again.
    pub fn baseline_again(
        &self,
        store: &Store,
        row: &InstanceRow,
        limits: &config::Limits,
    ) -> Result<Option<Captured>, RecoveryError> {
        let limits = Limits {
            max_entries: limits.max_entries.value,
            max_bytes: limits.max_bytes.value,
        };
        Ok(baseline_again(store, self.services, row, limits)?)
    }
}
