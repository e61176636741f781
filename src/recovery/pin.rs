//! Pins: sessions and snapshots that the retention policy leaves alone.

use super::{Recovery, RecoveryError, no_files};
use crate::model::{Operation, SnapshotId};
use crate::session::{Allowed, ensure_outside_session, find_called, find_snapshot, refuse_forgotten};
use crate::store::InstanceRow;

/// Result of pinning or unpinning.
pub struct Pinned {
    /// The session.
    pub row: InstanceRow,
    /// The snapshot; `None` for the whole session.
    pub snapshot: Option<SnapshotId>,
    /// True if it was so before, and nothing was recorded.
    pub was_so: bool,
    /// True if the whole session was pinned before.
    pub was_whole: bool,
    /// Number of the receipt, if one was written.
    pub receipt: Option<u64>,
}

impl Recovery<'_> {
    /// Pins a session, or one of its snapshots.
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
    /// assert!(!recovery.pin(session.as_str(), None)?.was_so);
    /// assert!(recovery.pin(session.as_str(), None)?.was_so);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if a session or a snapshot is not found, or the caller runs in a session; [`RecoveryError::NoFiles`].
    pub fn pin(&self, session: &str, snapshot: Option<&str>) -> Result<Pinned, RecoveryError> {
        self.set_pinned(session, snapshot, true)
    }

    /// Unpins a session with all of its snapshots, or one snapshot.
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub fn unpin(&self, session: &str, snapshot: Option<&str>) -> Result<Pinned, RecoveryError> {
        self.set_pinned(session, snapshot, false)
    }

    fn set_pinned(
        &self,
        session: &str,
        snapshot: Option<&str>,
        pinned: bool,
    ) -> Result<Pinned, RecoveryError> {
        // A mistyped id makes no store where there was none.
        if !self.has_store()? {
            return Err(RecoveryError::no_store(session));
        }
        let store = self.store_for_writing()?;
        // Held until the receipt is written: no prune decides in between, and none that ended before is unknown here.
        let _shared = store.share()?;
        let row = find_called(&store, self.environment, session)?;
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        if pinned {
            refuse_forgotten(&store, &row.id)?;
        }
        let snapshot = match snapshot {
            Some(wanted) => {
                let found = find_snapshot(&store, &row, wanted).map_err(|error| no_files(&row, error))?;
                Some(found.id)
            }
            None => None,
        };
        let pins = store.catalog().pins()?;
        let concerns =
            |pin: &&(_, Option<_>)| pin.0 == row.id && (pin.1 == snapshot || (!pinned && snapshot.is_none()));
        let was_so = pins.iter().any(|pin| concerns(&pin)) == pinned;
        let mut receipt = None;
        if !was_so {
            let snapshot = snapshot.clone();
            let act = match pinned {
                true => Operation::Pin { snapshot },
                false => Operation::Unpin { snapshot },
            };
            let (now, uid) = (self.services.clock.now(), self.services.uid);
            receipt = Some(store.append(now, uid, &row.id, act)?.number);
        }
        Ok(Pinned {
            was_whole: pins.contains(&(row.id.clone(), None)),
            row,
            snapshot,
            was_so,
            receipt,
        })
    }
}
