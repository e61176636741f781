//! The import of every session of a store from its copy in an object store.

use super::{Recovery, RecoveryError};
use crate::config::BucketPlace;
use crate::model::{SnapshotRecord, StoreId};
use crate::replica::{Bucket, Chain, Index, Remote, ReplicaError, S3, Stop, stores};
use crate::session::{AdoptRequest, Adopted, adopt};
use crate::store::Anchor;
use crate::store::encryption::Identities;

/// Store found in a bucket, with its records and receipts.
pub struct FoundReplica<'a> {
    /// The address of the bucket.
    pub place: String,
    /// The store.
    pub store: StoreId,
    /// Its objects.
    pub index: Index,
    /// Its chain of receipts.
    pub chain: Chain,
    /// Its snapshots.
    pub records: Vec<SnapshotRecord>,
    /// Number of snapshots that were forgotten on the other machine, whose objects are still there. They are not imported.
    pub forgotten: u64,
    /// Problems with objects that are not as they should be.
    pub troubles: Vec<String>,
    remote: Remote<'a>,
}

/// Request to find a store in a bucket.
pub struct ReplicaRequest<'a> {
    /// The bucket, as [`Recovery::open_bucket`] opened it.
    pub bucket: &'a S3,
    /// The store; `None` for the only one.
    pub store: Option<StoreId>,
    /// Private keys that open it.
    pub keys: &'a Identities,
    /// Link that its receipts must continue.
    pub anchor: Option<Anchor>,
}

impl<'a> Recovery<'a> {
    /// Opens the bucket of a copy.
    ///
    /// # Errors
    /// [`RecoveryError::Replica`].
    pub fn open_bucket(&self, place: &BucketPlace, stop: Stop) -> Result<S3, RecoveryError> {
        let opened = S3::open(place, stop);
        Ok(opened.map_err(|source| ReplicaError::Bucket {
            place: place.to_string(),
            source,
        })?)
    }

    /// Finds a store in a bucket, and reads its records and receipts.
    ///
    /// # Errors
    /// [`RecoveryError::Replica`]; [`RecoveryError::SeveralStores`] if no store was named; [`RecoveryError::OtherChain`].
    pub fn find_replica(&self, request: &ReplicaRequest<'a>) -> Result<FoundReplica<'a>, RecoveryError> {
        let bucket = request.bucket;
        let store = match &request.store {
            Some(wanted) => wanted.clone(),
            None => only_store(bucket)?,
        };
        let remote = Remote::open(bucket, store, request.keys, self.services.observer)?;
        let (index, mut troubles) = remote.index()?;
        troubles.extend(Remote::strange(&index));
        let chain = remote.chain(&index)?;
        troubles.extend(chain.troubles.iter().cloned());
        let found = remote.records(&index, &chain)?;
        troubles.extend(found.troubles);
        let found = FoundReplica {
            place: bucket.place(),
            store: remote.store().clone(),
            index,
            chain,
            records: found.records,
            forgotten: found.forgotten,
            troubles,
            remote,
        };
        match &request.anchor {
            Some(anchor) if !found.chain.continues(anchor) => Err(RecoveryError::OtherChain {
                place: found.place,
                store: found.store,
                receipt: anchor.number,
            }),
            _ => Ok(found),
        }
    }

    /// Stores the sessions of a copy that was found. If `trusted`, they are this machine's own, and nothing is dropped.
    ///
    /// # Errors
    /// [`RecoveryError::Adopt`]; [`RecoveryError::Store`].
    pub fn import_replica(&self, found: &FoundReplica<'_>, trusted: bool) -> Result<Adopted, RecoveryError> {
        let store = self.store_for_writing()?;
        let _needed = store.share()?;
        let operator = self.environment.operator;
        let request = AdoptRequest {
            place: &found.place,
            remote: &found.remote,
            index: &found.index,
            chain: &found.chain,
            trusted,
            owner: operator.map_or_else(handle_fs::own_ids, |owner| (owner.uid, owner.gid)),
        };
        Ok(adopt(&store, self.services, &request, found.records.clone())?)
    }
}

/// Returns the only store of a bucket.
fn only_store(bucket: &S3) -> Result<StoreId, RecoveryError> {
    let all = stores(bucket)?;
    match all.as_slice() {
        [] => Err(ReplicaError::NoStore {
            place: bucket.place(),
        }
        .into()),
        [one] => Ok(one.clone()),
        _ => Err(RecoveryError::SeveralStores {
            place: bucket.place(),
            stores: all,
        }),
    }
}
