//! Deletion in the replica, if the operator chose it: only objects of snapshots that the chain here records as pruned, and only
//! objects that this store noted as its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::bucket::{Bucket, Listed};
use super::name::Name;
use super::pull::failed;
use super::upload::{Copying, LARGEST_RECORD, RECEIPTS, noted_name, sorted};
use super::{ReplicaError, Stop};
use crate::model::{ArchiveId, Operation, SnapshotId};
use crate::store::{EarlierReplica, Store, StoreError};

/// Returns the noted objects of an earlier copy that hold what was forgotten or pruned here, each with its notes.
///
/// Nothing is uploaded there any more, so no archive takes the place of one that was rewritten since: what was forgotten goes, even if other
/// snapshots there need the same archive.
///
/// # Errors
/// [`StoreError`].
pub fn forgotten_in(
    store: &Store,
    replica: &EarlierReplica,
) -> Result<BTreeMap<Name, Vec<String>>, StoreError> {
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
    let mut names: BTreeMap<Name, Vec<String>> = BTreeMap::new();
    for note in &replica.notes {
        if let Some(name) = Name::parse(noted_name(note)).filter(&is_gone) {
            names.entry(name).or_default().push(note.clone());
        }
    }
    Ok(names)
}

/// Deletes objects of an earlier copy in its bucket, and returns how many were deleted.
///
/// # Errors
/// [`ReplicaError::Foreign`] if another machine goes on with the copy: nothing was deleted then. Other [`ReplicaError`]s; what was
/// deleted until then is noted.
pub fn remove_earlier(
    store: &Store,
    bucket: &dyn Bucket,
    replica: &EarlierReplica,
    names: BTreeMap<Name, Vec<String>>,
    stop: &Stop,
) -> Result<u64, ReplicaError> {
    let own = format!("{}/", replica.store);
    let listed = bucket.list(&own).map_err(|error| failed(bucket, error))?;
    let there: HashSet<&str> = listed
        .iter()
        .filter_map(|listed| listed.name.strip_prefix(&own))
        .collect();
    let mut left = Vec::new();
    for (name, notes) in names {
        match there.contains(name.to_string().as_str()) {
            true => left.push((name, notes)),
            // Another machine has deleted it.
            false => store.note_earlier_replica(replica, &notes)?,
        }
    }
    if !left.is_empty() {
        refuse_continued(bucket, replica, &listed)?;
    }
    let mut removed = 0;
    for (name, notes) in left {
        if stop() {
            return Err(ReplicaError::Interrupted);
        }
        let deleted = bucket.delete(&format!("{own}{name}"));
        deleted.map_err(|error| failed(bucket, error))?;
        store.note_earlier_replica(replica, &notes)?;
        removed += 1;
    }
    Ok(removed)
}

/// Fails if an earlier copy has receipts that this store neither noted nor sent: another machine goes on with it.
///
/// A jackin home that was copied has the notes of the machine that it came from. That machine writes its next receipts behind the noted
/// ones.
fn refuse_continued(
    bucket: &dyn Bucket,
    replica: &EarlierReplica,
    listed: &[Listed],
) -> Result<(), ReplicaError> {
    let own = format!("{}/", replica.store);
    let (notes, sent) = sorted(replica.notes.clone());
    let noted: HashSet<&str> = notes
        .iter()
        .filter_map(|note| Some(note.split_once(' ')?.0))
        .collect();
    for object in listed {
        let name = object.name.strip_prefix(&own).unwrap_or_default();
        if !matches!(Name::parse(name), Some(Name::Receipts(_))) || noted.contains(name) {
            continue;
        }
        // The process may have ended before it noted what it sent.
        let sent = sent.get(name).map(Vec::as_slice).unwrap_or_default();
        let bytes = match sent {
            [] => None,
            _ => bucket
                .get(&object.name, RECEIPTS as u64 + LARGEST_RECORD)
                .map_err(|error| failed(bucket, error))?,
        };
        if !bytes.is_some_and(|bytes| sent.iter().any(|sent| sent.has(&bytes))) {
            return Err(ReplicaError::Foreign {
                place: bucket.place(),
                store: replica.store.clone(),
                name: name.to_owned(),
            });
        }
    }
    Ok(())
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
        let of_pruned: HashSet<ArchiveId> = pruned.iter().flat_map(SnapshotId::archives).collect();
        for (id, names) in self.noted_archives() {
            if needed.contains(&id) || !(of_pruned.contains(&id) || packed.contains(&id)) {
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
