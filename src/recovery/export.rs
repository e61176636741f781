//! The export of a snapshot into one file that needs no store.

use std::path::Path;

use super::{Recovery, RecoveryError, no_files};
use crate::clock::random;
use crate::model::{ByteString, Operation, SnapshotId, SnapshotRecord};
use crate::session::{Allowed, ensure_outside_session, find_snapshot};
use crate::store::InstanceRow;
use crate::transfer::{ExportRequest, Exported, export};

/// Snapshot to export, found in the store.
pub struct ExportSubject {
    /// The session.
    pub row: InstanceRow,
    /// The snapshot.
    pub snapshot: SnapshotId,
}

/// Snapshot that was exported.
pub struct ExportedSnapshot {
    /// The session.
    pub row: InstanceRow,
    /// The snapshot.
    pub record: SnapshotRecord,
    /// Size and digest of the file.
    pub exported: Exported,
}

impl Recovery<'_> {
    /// Finds the snapshot to export; without `from` the baseline.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if a session or a snapshot is not found, or the caller runs in a session; [`RecoveryError::NoFiles`].
    pub fn export_subject(&self, session: &str, from: Option<&str>) -> Result<ExportSubject, RecoveryError> {
        let (reading, row) = self.recorded(session)?;
        ensure_outside_session(&reading, self.environment, Allowed::Nothing)?;
        let wanted = from.unwrap_or("baseline");
        let snapshot = find_snapshot(&reading, &row, wanted).map_err(|error| no_files(&row, error))?;
        Ok(ExportSubject {
            row,
            snapshot: snapshot.id,
        })
    }

    /// Writes a snapshot into a new file, and reads it back.
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
    /// # let session = recovery.begin(&(&contract).into())?.into_id();
    /// # drop(recovery.end(session.as_str())?);
    /// let file = scratch.path().join("before.tar.zst");
    /// let done = recovery.export(recovery.export_subject(session.as_str(), None)?, &file)?;
    /// assert_eq!(file.metadata()?.len(), done.exported.size);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Transfer`]; [`RecoveryError::Unlogged`] if everything but the receipt is written.
    pub fn export(&self, subject: ExportSubject, file: &Path) -> Result<ExportedSnapshot, RecoveryError> {
        let ExportSubject { row, snapshot } = subject;
        let store = self.store_for_writing()?;
        let _needed = store.share()?;
        let record = store.record(&snapshot)?;
        let operator = self.environment.operator;
        let request = ExportRequest {
            record: &record,
            mode: &row.mode,
            file,
            owner: operator.map(|owner| (owner.uid, owner.gid)),
            now: self.services.clock.now(),
            random: random(self.services.entropy),
        };
        let exported = export(&store, &request, self.services.observer)?;
        let act = Operation::Export {
            snapshot: record.id.clone(),
            file: ByteString::from(file),
            digest: exported.digest,
            size: exported.size,
        };
        let (now, uid) = (self.services.clock.now(), self.services.uid);
        store
            .append(now, uid, &row.id, act)
            .map_err(|source| RecoveryError::Unlogged {
                source: Box::new(source),
                written: file.to_path_buf(),
            })?;
        Ok(ExportedSnapshot {
            row,
            record,
            exported,
        })
    }
}
