//! The log of a store: its chain of receipts, and the first link that does not hold.

use super::{Recovery, RecoveryError};
use crate::model::{Digest, InstanceId, Receipt};
use crate::session::find_called;
use crate::store::{Anchor, Store, StoreError};

/// Chain of receipts, as far as it can be read.
pub struct Log {
    /// The store; `None` if there is none.
    pub store: Option<Store>,
    /// Receipts, oldest first.
    pub receipts: Vec<Receipt>,
    /// The last link.
    pub head: Anchor,
    /// Error of the first link that does not hold.
    pub broken: Option<StoreError>,
}

impl Recovery<'_> {
    /// Reads the log and checks every link.
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
    /// drop(recovery.begin(&(&contract).into())?);
    /// let log = recovery.log()?;
    /// assert!(log.broken.is_none() && log.receipts.len() == 2);
    /// log.check(&log.head)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`]; [`RecoveryError::Store`] if nothing of the log can be read.
    pub fn log(&self) -> Result<Log, RecoveryError> {
        let store = self.store_for_reading()?;
        let (receipts, head, broken) = match &store {
            Some(store) => store.chain_as_told()?,
            None => (Vec::new(), Anchor::NOTHING, None),
        };
        Ok(Log {
            store,
            receipts,
            head,
            broken,
        })
    }

    /// Returns the id of a session whose receipts are meant.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or several go by this name.
    pub fn session_of_log(&self, log: &Log, wanted: &str) -> Result<InstanceId, RecoveryError> {
        match &log.store {
            Some(store) => Ok(find_called(store, self.environment, wanted)?.id),
            None => Err(RecoveryError::no_store(wanted)),
        }
    }
}

impl Log {
    /// Checks that the chain has a link that was saved elsewhere, at its place.
    ///
    /// # Errors
    /// [`RecoveryError::ReceiptsGone`]; [`RecoveryError::ReceiptChanged`].
    pub fn check(&self, known: &Anchor) -> Result<(), RecoveryError> {
        if known.number > self.head.number {
            return Err(RecoveryError::ReceiptsGone {
                last: self.head.number,
                known: known.number,
            });
        }
        // What the next link says of the one before it is the hash of that.
        let next = usize::try_from(known.number).ok();
        let next = next.and_then(|at| self.receipts.get(at));
        let found: Digest = next.map_or(self.head.hash, |next| next.previous);
        match found == known.hash {
            true => Ok(()),
            false => Err(RecoveryError::ReceiptChanged { known: *known, found }),
        }
    }
}
