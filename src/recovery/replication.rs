//! Copies of the store in the object store that the configuration names.

use std::sync::Arc;

use super::{Recovery, RecoveryError};
use crate::config::{Config, Replication};
use crate::model::{Digest, SnapshotId};
use crate::replica::{
    Copied, Copying, KEPT, ReplicaError, S3, Stop, Waiting, has_several_recipients, waiting,
};
use crate::store::encryption::Recipients;
use crate::store::{Patience, ReplicaOutcome, Store};

/// Maximum number of snapshots that are recorded as incomplete in a copy.
const MOST_INCOMPLETE: usize = 20;

/// Thoroughness of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationCare {
    /// Trusts the notes about earlier uploads.
    Passing,
    /// Checks the objects in the bucket.
    Thorough,
}

/// Attempt to copy the store, as it ended.
pub struct Replicated {
    /// Snapshots and receipts that were copied.
    pub copied: Copied,
    /// True if another process is copying, so nothing was done.
    pub is_busy: bool,
    /// Error of the object store, if the attempt failed.
    pub ended: Result<(), ReplicaError>,
}

impl Recovery<'_> {
    /// Returns the configured replication, if any. Root that acts for a user copies nothing, for it would sign in with other
    /// credentials. Commands that need the configuration report what is wrong with it.
    #[must_use]
    pub fn replication(&self) -> Option<Replication> {
        if self.environment.operator.is_some() {
            return None;
        }
        Config::load(self.environment).ok()?.replication()
    }

    /// Returns the numbers of snapshots and receipts that are not copied yet.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn waiting_for_replica(
        &self,
        store: &Store,
        replication: &Replication,
    ) -> Result<Waiting, RecoveryError> {
        Ok(waiting(store, &replication.digest())?)
    }

    /// Returns true if a part of the copy opens only with private keys of earlier recipients.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn has_earlier_recipients(
        &self,
        store: &Store,
        replication: &Replication,
    ) -> Result<bool, RecoveryError> {
        Ok(has_several_recipients(store, &replication.digest())?)
    }

    /// Copies what waits, and records the outcome in the store.
    ///
    /// # Errors
    /// [`RecoveryError::ReplicaRecipients`]; [`RecoveryError::Store`]. A failure of the object store is in the result.
    pub fn replicate(
        &self,
        store: &Store,
        replication: &Replication,
        stop: &Stop,
        care: ReplicationCare,
    ) -> Result<Replicated, RecoveryError> {
        let names: Vec<String> = replication
            .recipients
            .iter()
            .map(|recipient| recipient.value.clone())
            .collect();
        let recipients =
            Recipients::parse(&names).map_err(|error| RecoveryError::ReplicaRecipients(error.to_string()))?;
        let patience = match care {
            ReplicationCare::Passing => Patience::Short,
            ReplicationCare::Thorough => Patience::Long,
        };
        let mut copied = Copied::default();
        let Some(_copying) = store.lock_replica(patience)? else {
            return Ok(Replicated {
                copied,
                is_busy: true,
                ended: Ok(()),
            });
        };
        let place = replication.digest();
        let identity = store.make_replica_identity(self.services.entropy)?;
        let work = || -> Result<(), ReplicaError> {
            let bucket = S3::open(&replication.place.value, Arc::clone(stop)).map_err(|source| {
                ReplicaError::Bucket {
                    place: replication.place.value.to_string(),
                    source,
                }
            })?;
            let keys = (&recipients, names.as_slice());
            let mut copying = Copying::new(store, &bucket, identity, keys, place, self.services.observer)?;
            let mut all = || {
                if care == ReplicationCare::Thorough {
                    copying.look()?;
                }
                copying.run()?;
                match replication.prune {
                    true => copying.remove_given_up(),
                    false => Ok(()),
                }
            };
            let ended = all();
            copied = copying.copied;
            ended
        };
        let ended = work();
        self.record_outcome(store, &place, &ended, &copied, care)?;
        Ok(Replicated {
            copied,
            is_busy: false,
            ended,
        })
    }

    fn record_outcome(
        &self,
        store: &Store,
        place: &Digest,
        ended: &Result<(), ReplicaError>,
        copied: &Copied,
        care: ReplicationCare,
    ) -> Result<(), RecoveryError> {
        // An interrupted attempt says nothing about the object store.
        if matches!(ended, Err(ReplicaError::Interrupted)) {
            return Ok(());
        }
        let at = self.services.clock.now();
        let error = ended.as_ref().err().map(ToString::to_string);
        let before = store.replica_outcome(place);
        let since = before.as_ref().and_then(|before| before.failing_since);
        let mut incomplete = match care {
            ReplicationCare::Thorough if error.is_none() => Vec::new(),
            _ => before.map(|before| before.incomplete).unwrap_or_default(),
        };
        let ids = store.record_ids()?;
        let is_of = |line: &String, id: &SnapshotId| line.starts_with(&format!("{id}: "));
        incomplete.retain(|line| {
            ids.iter().any(|id| is_of(line, id)) && !copied.snapshots.iter().any(|id| is_of(line, id))
        });
        for (id, why) in copied.damaged.iter().filter(|(_, why)| why != KEPT) {
            incomplete.retain(|line| !is_of(line, id));
            incomplete.push(format!("{id}: {why}"));
        }
        incomplete.truncate(MOST_INCOMPLETE);
        let outcome = ReplicaOutcome {
            at,
            failing_since: error.is_some().then(|| since.unwrap_or(at)),
            error,
            incomplete,
        };
        Ok(store.set_replica_outcome(place, &outcome)?)
    }
}
