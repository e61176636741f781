//! The check of the whole store for damaged or missing data.

use super::{Keys, Recovery, RecoveryError};
use crate::model::InstanceId;
use crate::restore::damaged_journals;
use crate::store::{Finding, Store, StoreError, Verified};

/// Result of a check.
#[derive(Default)]
pub struct Verification {
    /// Counts, and what is damaged or missing.
    pub verified: Verified,
    /// Sessions whose interrupted restores can only be left as they are: their journals are damaged.
    pub lost_restores: Vec<InstanceId>,
}

impl Verification {
    /// Returns true if nothing is damaged or missing.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.verified.findings.is_empty()
    }
}

impl Recovery<'_> {
    /// Checks that every snapshot has all that it needs; with `read_data` every stored byte.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery, no_keys};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// # drop(recovery.begin(&(&contract).into())?);
    /// let found = recovery.verify(true, &no_keys)?;
    /// assert!(found.is_whole());
    /// assert_eq!(found.verified.snapshots, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Unverified`] if the observer stopped it; [`RecoveryError::Store`] if the store cannot be read at all.
    pub fn verify(&self, read_data: bool, keys: Keys<'_>) -> Result<Verification, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(Verification::default());
        };
        let store = store.unlocked_by(keys()?);
        let mut verified = store.verify(read_data, self.services.observer)?;
        if verified.interrupted {
            return Err(RecoveryError::Unverified);
        }
        let lost_restores = check_journals(&store, &mut verified);
        Ok(Verification {
            verified,
            lost_restores,
        })
    }
}

/// Adds damaged journals of interrupted restores. Returns the sessions whose restores can only be left as they are.
fn check_journals(store: &Store, verified: &mut Verified) -> Vec<InstanceId> {
    let mut lost = Vec::new();
    let found = |what| Finding {
        snapshot: None,
        archive: None,
        path: None,
        what,
    };
    let damaged = damaged_journals(store).unwrap_or_else(|error| {
        let what = format!("cannot check the journals of interrupted restores: {error}");
        verified.findings.push(found(what));
        Vec::new()
    });
    for journal in damaged {
        let mut what = journal.error.to_string();
        match journal.error {
            StoreError::DamagedJournal { instance, .. } if !journal.is_spare => lost.extend(instance),
            _ if journal.is_spare => what.push_str("; a valid copy exists, so `resume` and `abort` work"),
            _ => {}
        }
        verified.findings.push(found(what));
    }
    lost.dedup();
    lost
}
