//! The end of a session that the caller began.

use super::{Recovery, RecoveryError, SessionChanges, of_session};
use crate::model::{Ending, ProcessRef};
use crate::process::{self, Why};
use crate::session::{
    Allowed, Closed, EndRequest, SessionError, end, ensure_outside_session, find_called, is_active,
    may_have_launcher,
};
use crate::store::{InstanceRow, Store};

/// Session that ended, with its store.
pub struct EndedSession {
    /// The store, open for writing.
    pub store: Store,
    /// The session as it was before.
    pub row: InstanceRow,
    /// The closing snapshot, or the error of it.
    pub closed: Closed,
}

impl EndedSession {
    /// Compares the baseline with the closing snapshot.
    ///
    /// # Errors
    /// [`RecoveryError::Store`]; [`RecoveryError::Capture`].
    pub fn changes(&self) -> Result<SessionChanges, RecoveryError> {
        of_session(&self.store, &self.row, self.closed.closing.as_ref())
    }
}

impl Recovery<'_> {
    /// Ends a session: takes its closing snapshot and records the end. A snapshot that fails does not keep it from ending.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::write(project.join("new"), "")?;
    /// let ended = recovery.end(session.as_str())?;
    /// assert!(ended.closed.error.is_none());
    /// assert_eq!(ended.changes()?.mounts.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if it has ended, or another command is still ending it; [`RecoveryError::HeldByLauncher`].
    pub fn end(&self, wanted: &str) -> Result<EndedSession, RecoveryError> {
        self.end_with(wanted, |store, request| end(store, self.services, request))
    }

    /// Ends a session as [`Self::end`] does, by `close`: a caller may hold back signals while the closing snapshot is taken.
    ///
    /// # Errors
    /// As [`Self::end`].
    pub fn end_with(
        &self,
        wanted: &str,
        close: impl FnOnce(&Store, EndRequest<'_>) -> Result<Closed, SessionError>,
    ) -> Result<EndedSession, RecoveryError> {
        // A mistyped id makes no store where there was none.
        drop(self.recorded(wanted)?);
        let store = self.store_for_writing()?;
        let row = find_called(&store, self.environment, wanted)?;
        ensure_outside_session(&store, self.environment, Allowed::End(&row.id))?;
        if row.ended_at.is_none() && may_have_launcher(&row) && store.instance_locked(&row.id)? {
            return Err(RecoveryError::HeldByLauncher(row.id));
        }
        let request = EndRequest {
            row: &row,
            ending: Ending::Ended,
            survivors: survivors(&store, &row),
            lock: None,
        };
        let closed = close(&store, request)?;
        Ok(EndedSession { store, row, closed })
    }

    /// Returns the active sessions that [`Self::end`] can end, newest first: no launcher holds them.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn sessions_to_end(&self) -> Result<Vec<InstanceRow>, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(Vec::new());
        };
        let mut rows = store.catalog().open_instances()?;
        rows.retain(|row| {
            !row.is_imported()
                && is_active(&store, row)
                && !store.instance_locked(&row.id).unwrap_or_default()
        });
        Ok(rows)
    }
}

/// The instance's processes that still live: it stays active while they do.
pub(crate) fn survivors(store: &Store, row: &InstanceRow) -> Vec<ProcessRef> {
    let known: Vec<ProcessRef> = row.keeper.iter().cloned().collect();
    let members = process::members(store.processes(), &row.id, &known)
        .map(|probe| probe.members)
        .unwrap_or_default();
    // The keeper itself may go on: an agent's shell that calls `end` is no work of the session any more.
    let keeper = row.keeper.as_ref().map(|keeper| keeper.pid);
    members
        .iter()
        .filter(|member| member.why == Why::Environment && Some(member.pid) != keeper)
        .filter_map(|member| store.processes().reference(member.pid))
        .collect()
}
