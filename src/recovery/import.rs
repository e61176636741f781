//! The import of a file that `export` wrote, as a new session.

use std::path::Path;

use super::{Recovery, RecoveryError};
use crate::model::SnapshotRecord;
use crate::session::{ImportRequest, import};
use crate::transfer::Incoming;

impl Recovery<'_> {
    /// Reads a file that `export` wrote, and checks every digest. Unless `trusted`, owners and special rights are dropped from what it
    /// will store.
    ///
    /// # Errors
    /// [`RecoveryError::Transfer`] if it is damaged or comes from a newer version.
    pub fn read_export(&self, file: &Path, trusted: bool) -> Result<Incoming, RecoveryError> {
        let mut incoming = Incoming::read(file, self.services.observer)?;
        if !trusted {
            let operator = self.environment.operator;
            incoming.strip(operator.map_or_else(handle_fs::own_ids, |owner| (owner.uid, owner.gid)));
        }
        Ok(incoming)
    }

    /// Stores a file that was read as a new session with one snapshot.
    ///
    /// # Errors
    /// [`RecoveryError::Transfer`]; [`RecoveryError::Session`]; [`RecoveryError::Store`].
    pub fn import(
        &self,
        incoming: &Incoming,
        file: &Path,
        trusted: bool,
    ) -> Result<SnapshotRecord, RecoveryError> {
        let store = self.store_for_writing()?;
        let _needed = store.share()?;
        let request = ImportRequest {
            incoming,
            file,
            trusted,
        };
        Ok(import(&store, self.services, &request)?)
    }
}
