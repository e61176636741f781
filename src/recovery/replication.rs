//! Copies of the store in the object store that the configuration names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Recovery, RecoveryError};
use crate::config::{BucketPlace, Config, Replication};
use crate::model::{Digest, SnapshotId};
use crate::replica::{
    Copied, Copying, ForgottenObjects, KEPT, Name, ReplicaError, S3, Stop, Waiting, forgotten_in,
    has_several_recipients, remove_earlier, waiting,
};
use crate::store::encryption::Recipients;
use crate::store::{EarlierReplica, Patience, ReplicaOutcome, Store};

/// Maximum number of snapshots that are recorded as incomplete in a copy.
const MOST_INCOMPLETE: usize = 20;

/// Reason why something is not deleted in a copy.
const UNREADABLE: &str =
    "a record here cannot be read, and it may need what would be deleted there; `verify` names it";

/// Thoroughness of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationCare {
    /// Trusts the notes about earlier uploads.
    Passing,
    /// Checks the objects in the bucket.
    Thorough,
}

/// Deletes objects of an earlier copy; a failure is returned in words.
fn remove_there(
    store: &Store,
    earlier: &EarlierReplica,
    names: BTreeMap<Name, Vec<String>>,
    stop: &Stop,
) -> Result<u64, String> {
    let Some(address) = &earlier.address else {
        return Err(
            "its address was not recorded; set `replicate` to that address and run `replicate`, which records it, then repeat this command"
                .to_owned(),
        );
    };
    let place = BucketPlace::parse(address)?;
    let bucket = S3::open(&place, Arc::clone(stop)).map_err(|error| format!("{address}: {error}"))?;
    let removed = remove_earlier(store, &bucket, earlier, names, stop);
    let folder = &earlier.store;
    removed.map_err(|error| match error {
        ReplicaError::Foreign { name, .. } => format!(
            "{name} there is not from this store, so another machine uses that copy and nothing was deleted; forget it on that machine, or, if this store came from \
            a backup and there is none, delete {address}/{folder} yourself"
        ),
        other => other.to_string(),
    })
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

/// Copy of this store under an earlier name, or at an earlier place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierCopy {
    /// Address and name of the store there; without an address if an older version made the copy.
    pub place: String,
    /// Number of objects there that hold what was forgotten or pruned here.
    pub left: u64,
    /// Number of objects that were deleted there.
    pub removed: u64,
    /// Reason why some could not be deleted.
    pub failed: Option<String>,
}

impl Recovery<'_> {
    /// Returns the copies of the store that nothing is uploaded to any more. If `stop` is given, deletes there what was forgotten or pruned
    /// here, as far as they can be reached.
    ///
    /// # Errors
    /// [`RecoveryError::Store`]. What keeps a copy from losing it is in the result.
    pub fn earlier_copies(
        &self,
        store: &Store,
        replication: Option<&Replication>,
        stop: Option<&Stop>,
    ) -> Result<Vec<EarlierCopy>, RecoveryError> {
        let current = replication.map(|copy| copy.place.value.to_string());
        let alone = stop.map(|_| store.lock_replica(Patience::Long)).transpose()?;
        let is_busy = matches!(alone, Some(None));
        let mut copies = Vec::new();
        for earlier in store.earlier_replicas(current.as_deref())? {
            let ForgottenObjects { names, withheld } = forgotten_in(store, &earlier)?;
            let place = match &earlier.address {
                Some(address) => format!("{address}/{}", earlier.store),
                None => format!("an object store of an earlier configuration ({})", earlier.store),
            };
            let mut copy = EarlierCopy {
                place,
                left: names.len() as u64 + withheld,
                removed: 0,
                failed: None,
            };
            if let (Some(stop), false) = (stop, names.is_empty()) {
                let removed = match is_busy {
                    true => Err("another process is copying; repeat the command".to_owned()),
                    false => remove_there(store, &earlier, names, stop),
                };
                match removed {
                    Ok(removed) => (copy.removed, copy.left) = (removed, withheld),
                    Err(why) => copy.failed = Some(why),
                }
            }
            if stop.is_some() && withheld > 0 && copy.failed.is_none() {
                copy.failed = Some(UNREADABLE.to_owned());
            }
            copies.push(copy);
        }
        Ok(copies)
    }

    /// Returns the configured replication, if any. Root that acts for a user copies nothing, for it would sign in with other
    /// credentials. Commands that need the configuration report what is wrong with it.
    #[must_use]
    pub fn replication(&self) -> Option<Replication> {
        if self.environment.operator.is_some() {
            return None;
        }
        Config::load(self.environment).ok()?.replication()
    }

    /// Returns the configured replication for a command that is about the copy.
    ///
    /// # Errors
    /// [`RecoveryError::Config`]; [`RecoveryError::ReplicaOfUser`] for root that acts for a user.
    pub fn own_replication(&self) -> Result<Option<Replication>, RecoveryError> {
        match self.environment.operator {
            Some(operator) => Err(RecoveryError::ReplicaOfUser(operator.uid)),
            None => Ok(Config::load(self.environment)?.replication()),
        }
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

    /// Makes the store use a new name in object stores. Returns false if another process is copying, so that nothing was done.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn rename_replica(&self, store: &Store) -> Result<bool, RecoveryError> {
        let Some(_copying) = store.lock_replica(Patience::Long)? else {
            return Ok(false);
        };
        store.forget_replica_identity()?;
        Ok(true)
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
        let is_object = |line: &str| line.split(' ').next().and_then(Name::parse).is_some();
        incomplete.retain(|line| {
            let is_known = ids.iter().any(|id| is_of(line, id)) || is_object(line);
            is_known && !copied.snapshots.iter().any(|id| is_of(line, id))
        });
        for why in &copied.cut {
            incomplete.retain(|line| line != why);
            incomplete.push(why.clone());
        }
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
