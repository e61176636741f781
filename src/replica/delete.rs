//! Deletion in the replica, if the operator chose it: only objects of snapshots that the chain here records as pruned, and only
//! objects that this store noted as its own.

use std::collections::{HashMap, HashSet};

use super::bucket::{Bucket, BucketErrorKind};
use super::name::Name;
use super::upload::{Copying, noted_name};
use super::{ReplicaError, Stop};
use crate::model::{ArchiveId, Operation, SnapshotId};
use crate::store::{EarlierReplica, Store, StoreError};

/// Returns the noted objects of an earlier copy that hold what was forgotten or pruned here, each as its note.
///
/// Nothing is uploaded there any more, so no archive takes the place of one that was rewritten since: what was forgotten goes, even if other
/// snapshots there need the same archive.
///
/// # Errors
/// [`StoreError`].
pub fn forgotten_in(store: &Store, replica: &EarlierReplica) -> Result<Vec<(Name, String)>, StoreError> {
    let here: HashSet<ArchiveId> = store.archive_ids()?.into_iter().collect();
    let (mut snapshots, mut archives) = (HashSet::new(), HashSet::new());
    // The newest first: an archive goes, too, if it was packed into one that went later.
    for receipt in store.receipts()?.into_iter().rev() {
        let (pruned, from) = match receipt.act {
            Operation::Prune { snapshots, .. } => (snapshots, Vec::new()),
            Operation::Forget { snapshots, from, .. } => (snapshots, from),
            Operation::Repack { from, into, .. } if archives.contains(&into.id) => (Vec::new(), from),
            _ => continue,
        };
        for snapshot in pruned {
            archives.extend(snapshot.id.archives());
            snapshots.insert(snapshot.id);
        }
        archives.extend(from);
    }
    let is_gone = |name: &Name| match name {
        Name::Record(id) => snapshots.contains(id),
        Name::Archive(id, _) => archives.contains(id) && !here.contains(id),
        Name::Key(_) | Name::Moved(..) | Name::Receipts(_) => false,
    };
    let names = replica.notes.iter().filter_map(|note| {
        let name = Name::parse(noted_name(note))?;
        is_gone(&name).then(|| (name, note.clone()))
    });
    let mut names: Vec<(Name, String)> = names.collect();
    names.sort();
    Ok(names)
}

/// Deletes objects of an earlier copy in its bucket, and returns how many were deleted.
///
/// # Errors
/// [`ReplicaError`]; what was deleted until then is noted.
pub fn remove_earlier(
    store: &Store,
    bucket: &dyn Bucket,
    replica: &EarlierReplica,
    names: Vec<(Name, String)>,
    stop: &Stop,
) -> Result<u64, ReplicaError> {
    let mut removed: HashSet<Name> = HashSet::new();
    for (name, note) in names {
        if stop() {
            return Err(ReplicaError::Interrupted);
        }
        let deleted = bucket.delete(&format!("{}/{name}", replica.store));
        deleted.map_err(|source| match source.kind {
            BucketErrorKind::Interrupted => ReplicaError::Interrupted,
            _ => ReplicaError::Bucket {
                place: bucket.place(),
                source,
            },
        })?;
        store.note_earlier_replica(replica, &[note])?;
        removed.insert(name);
    }
    Ok(removed.len() as u64)
}

impl Copying<'_> {
    /// Removes from the replica what was pruned here. Call it after [`Copying::run`], so that the receipts of the prune are there.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn remove_given_up(&mut self) -> Result<(), ReplicaError> {
        let mut pruned: HashSet<SnapshotId> = HashSet::new();
        let mut packed: HashSet<ArchiveId> = HashSet::new();
        for receipt in self.store.receipts()? {
            match receipt.act {
                Operation::Prune { snapshots, .. } => {
                    pruned.extend(snapshots.into_iter().map(|pruned| pruned.id))
                }
                Operation::Repack { from, .. } => packed.extend(from),
                Operation::Forget { snapshots, from, .. } => {
                    pruned.extend(snapshots.into_iter().map(|pruned| pruned.id));
                    packed.extend(from);
                }
                _ => {}
            }
        }
        let records: Vec<Name> = pruned.iter().cloned().map(Name::Record).collect();
        for name in records {
            if self.notes.contains(&name.to_string()) {
                self.remove(&name)?;
            }
        }
        let mut moved: HashMap<ArchiveId, ArchiveId> = HashMap::new();
        let mut needed: HashSet<ArchiveId> = self.store.archive_ids()?.into_iter().collect();
        for (id, into, _) in self.store.moved_to_copy()? {
            needed.insert(into.id.clone());
            moved.insert(id, into.id);
        }
        for (id, names) in self.noted_archives() {
            let of_pruned = pruned.iter().any(|snapshot| snapshot.archives().contains(&id));
            if needed.contains(&id) || !(of_pruned || packed.contains(&id)) {
                continue;
            }
            // The name that leads on is needed, and must be there before what it stands for goes.
            let leads = moved.get(&id).map(|into| Name::Moved(id.clone(), into.clone()));
            if leads
                .as_ref()
                .is_some_and(|leads| !self.notes.contains(&leads.to_string()))
            {
                continue;
            }
            for name in names {
                if Some(&name) != leads.as_ref() {
                    self.remove(&name)?;
                }
            }
        }
        Ok(())
    }
}
