//! The catalog made again from records and receipts, and a broken chain of receipts repaired.

use super::{Recovery, RecoveryError};
use crate::model::Operation;
use crate::process::INSTANCE_VARIABLE;
use crate::session::{Allowed, SessionError, ensure_outside_session};
use crate::store::{LostRecord, Mended, Store, StoreError, mend_chain};

/// Damage found in the store, and its repair.
#[derive(Default)]
pub struct Rebuilt {
    /// Number of sessions in the catalog.
    pub sessions: u64,
    /// Records that cannot be read.
    pub unread: Vec<StoreError>,
    /// Records that are missing.
    pub lost: Vec<LostRecord>,
    /// Missing records that count as accepted from now on.
    pub accepted: Vec<LostRecord>,
    /// Repair of the chain of receipts; `None` if it held.
    pub mended: Option<Mended>,
}

impl Recovery<'_> {
    /// Makes the catalog again from records and receipts. With `accept_loss` what is damaged or missing without a copy is discarded.
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
    /// # drop(recovery.begin(&(&contract).into())?);
    /// assert_eq!(recovery.rebuild(false)?.sessions, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::BrokenChain`] if receipts are damaged and no copy has all of them; [`RecoveryError::Session`] if the caller runs
    /// in a session; [`RecoveryError::Store`].
    pub fn rebuild(&self, accept_loss: bool) -> Result<Rebuilt, RecoveryError> {
        // Where there is no store none is made.
        let Some(reading) = Store::open_read(self.layout()?)? else {
            return Ok(Rebuilt::default());
        };
        self.outside_as_far_as_known(&reading)?;
        drop(reading);
        let mended = mend_chain(&self.layout()?, accept_loss).map_err(|error| match error {
            StoreError::Chain { number, .. } => RecoveryError::BrokenChain {
                valid: number.saturating_sub(1),
                error: Box::new(error),
            },
            other => other.into(),
        })?;
        let store = self.store_for_writing()?;
        if !self.outside_as_far_as_known(&store)? {
            store.rebuild()?;
            ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        }
        Ok(Rebuilt {
            accepted: self.accept_loss(&store, accept_loss, mended.as_ref())?,
            unread: store.rebuild()?,
            lost: store.lost_records()?,
            mended,
            sessions: store.catalog().instances()?.len() as u64,
        })
    }

    /// Fails if the caller runs in a session; `false` if the catalog is too damaged to tell, and the caller's variables name no session.
    fn outside_as_far_as_known(&self, store: &Store) -> Result<bool, RecoveryError> {
        match ensure_outside_session(store, self.environment, Allowed::Nothing) {
            Ok(()) => Ok(true),
            Err(SessionError::Store(StoreError::Damaged { path, .. }))
                if path == store.layout().catalog() && self.environment.get(INSTANCE_VARIABLE).is_none() =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Records that missing receipts and records are accepted, so that they are not found again. Returns the records.
    fn accept_loss(
        &self,
        store: &Store,
        accept_loss: bool,
        mended: Option<&Mended>,
    ) -> Result<Vec<LostRecord>, RecoveryError> {
        if !accept_loss {
            store.check_told()?;
            return Ok(Vec::new());
        }
        let (snapshots, accepted) = (store.untold()?, store.lost_records()?);
        if !snapshots.is_empty() || !accepted.is_empty() || mended.is_some_and(|mended| mended.lost) {
            let records = accepted.iter().map(|lost| lost.snapshot.clone()).collect();
            let act = Operation::AcceptLoss { snapshots, records };
            let (now, uid) = (self.services.clock.now(), self.services.uid);
            store.append(now, uid, None, act)?;
        }
        Ok(accepted)
    }
}
