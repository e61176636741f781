//! The session that a caller names: found, closed if it is orphaned, or refused with the reason.

use super::{Event, Recovery, RecoveryError};
use crate::config::Mode;
use crate::model::InstanceId;
use crate::process::INSTANCE_VARIABLE;
use crate::session::{
    Allowed, Covering, SessionError, State, close_orphaned_sessions, ensure_outside_session, find_called,
    find_instance, find_snapshot, is_active, state,
};
use crate::store::{InstanceRow, Store};

/// Number of sessions in which a snapshot is looked for, the newest first.
const LOOKED_AT: usize = 20;

impl Recovery<'_> {
    /// Returns the named session, or the one that this process runs in.
    ///
    /// # Errors
    /// [`RecoveryError::Unnamed`].
    pub fn own_or(&self, named: Option<&str>) -> Result<String, RecoveryError> {
        let own = || self.environment.get(INSTANCE_VARIABLE);
        let wanted = named.map(str::to_owned);
        let wanted = wanted.or_else(|| own().map(|id| id.to_string_lossy().into_owned()));
        wanted.ok_or(RecoveryError::Unnamed)
    }

    /// Opens the store, finds a session, and closes it if it is orphaned and can be closed.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or several go by this name.
    pub fn session(&self, wanted: &str) -> Result<(Store, InstanceRow), RecoveryError> {
        let (reading, row) = self.recorded(wanted)?;
        self.settled(reading, row)
    }

    /// Returns the newest session here that has a snapshot of this name, number or id; `None` if there is none.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn session_with_snapshot(&self, wanted: &str) -> Result<Option<InstanceId>, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(None);
        };
        for row in Covering::new(&store, &self.environment.current)?.take(LOOKED_AT) {
            let row = row?;
            if find_snapshot(&store, &row, wanted).is_ok() {
                return Ok(Some(row.id));
            }
        }
        Ok(None)
    }

    /// Opens the store for reading, and finds a session in it.
    pub(super) fn recorded(&self, wanted: &str) -> Result<(Store, InstanceRow), RecoveryError> {
        let reading = self.store_for_reading()?;
        let reading = reading.ok_or_else(|| RecoveryError::no_store(wanted))?;
        let row = find_called(&reading, self.environment, wanted)?;
        Ok((reading, row))
    }

    /// Returns the session as it is once it was closed, if it is orphaned. One that cannot be closed is reported, and is returned as
    /// it was recorded: a store that cannot be written to can be read.
    ///
    /// # Errors
    /// [`RecoveryError::Session`]; [`RecoveryError::Store`].
    pub fn settled(&self, reading: Store, row: InstanceRow) -> Result<(Store, InstanceRow), RecoveryError> {
        if row.ended_at.is_some() {
            return Ok((reading, row));
        }
        let id = row.id.clone();
        let store = self.settle_each(reading, vec![row])?;
        let row = find_instance(&store, id.as_str())?;
        Ok((store, row))
    }

    /// Closes the orphaned sessions among these, and returns the store as it is then. At the first that cannot be closed it stops.
    pub(super) fn settle_each(
        &self,
        mut store: Store,
        rows: Vec<InstanceRow>,
    ) -> Result<Store, RecoveryError> {
        for row in rows {
            if row.ended_at.is_some() || state(&store, &row) != State::Lost {
                continue;
            }
            drop(store);
            let closed = self.store_for_writing();
            let closed = closed.and_then(|store| self.close_if_orphaned(&store, &row).map(|()| store));
            store = match closed {
                Ok(store) => store,
                Err(error) if self.services.observer.cancelled() => return Err(error),
                Err(error) => {
                    self.report(Event::NotClosed(&row.id, error));
                    let reading = self.store_for_reading()?;
                    return reading.ok_or_else(|| RecoveryError::no_store(row.id.as_str()));
                }
            };
        }
        Ok(store)
    }

    /// Takes the late closing snapshot of an orphaned session, and reports it.
    pub(super) fn close_if_orphaned(&self, store: &Store, row: &InstanceRow) -> Result<(), RecoveryError> {
        if let Some(closed) = close_orphaned_sessions(store, self.services, row)? {
            self.report(Event::ClosedLate(&row.id, &closed));
        }
        Ok(())
    }

    /// Fails if the caller runs in a session. Without a store there is none.
    ///
    /// # Errors
    /// [`RecoveryError::Session`].
    pub fn ensure_outside(&self) -> Result<(), RecoveryError> {
        match self.store_for_reading()? {
            Some(store) => Ok(ensure_outside_session(
                &store,
                self.environment,
                Allowed::Nothing,
            )?),
            None => Ok(()),
        }
    }

    /// Returns true if processes of the session live, or may.
    #[must_use]
    pub fn is_active(&self, store: &Store, row: &InstanceRow) -> bool {
        is_active(store, row)
    }

    /// Opens the store for writing, and finds a session in which a checkpoint can be taken: it is active and records files.
    ///
    /// # Errors
    /// [`RecoveryError::Session`]; [`RecoveryError::NotActive`]; [`RecoveryError::NoMounts`].
    pub fn active_session(&self, wanted: &str) -> Result<(Store, InstanceRow), RecoveryError> {
        // A mistyped id makes no store where there was none.
        if !self.has_store()? {
            return Err(RecoveryError::no_store(wanted));
        }
        let store = self.store_for_writing()?;
        let row = find_called(&store, self.environment, wanted)?;
        ensure_outside_session(&store, self.environment, Allowed::Checkpoint(&row.id))?;
        if !is_active(&store, &row) {
            return Err(RecoveryError::NotActive(row.id));
        }
        if row.mounts.is_empty() {
            return Err(RecoveryError::NoMounts {
                instance: row.id,
                mode: row.mode,
            });
        }
        Ok((store, row))
    }
}

/// Explains a missing snapshot by a mode that records no files.
pub(crate) fn no_files(row: &InstanceRow, error: SessionError) -> RecoveryError {
    if row.is_imported() || Mode::parse(&row.mode).is_some_and(Mode::captures) {
        return error.into();
    }
    RecoveryError::NoFiles {
        instance: row.id.clone(),
        mode: row.mode.clone(),
    }
}

/// Fails for an imported session, whose paths belong to another machine.
pub(crate) fn refuse_imported(row: &InstanceRow) -> Result<(), RecoveryError> {
    match row.is_imported() {
        true => Err(RecoveryError::Imported(row.id.clone())),
        false => Ok(()),
    }
}
