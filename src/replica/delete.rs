//! Deletion in the replica, if the operator chose it: only what the chain here records as pruned, forgotten or repacked and no record
//! needs, and only below the store's own name.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::bucket::{Bucket, Listed};
use super::name::Name;
use super::pull::failed;
use super::upload::{Copying, LARGEST_RECORD, RECEIPTS, noted_name, sorted};
use super::{ReplicaError, Stop};
use crate::model::{ArchiveId, Operation, SnapshotId};
use crate::store::{ArchiveNeeds, EarlierReplica, Store, StoreError};

/// Treatment of an archive in a copy.
enum Fate {
    /// The chain never discarded it, or it is needed.
    Stays,
    Goes,
    /// It was discarded, and a record that cannot be read may need it.
    Unknown,
}

/// Snapshots and archives that the chain discarded.
struct Discarded {
    snapshots: HashSet<SnapshotId>,
    /// Archives that a receipt replaced, or found to be needed by nothing.
    replaced: HashSet<ArchiveId>,
    /// Archives of snapshots that are gone, and those that took the place of others. They go if nothing needs them.
    used: HashSet<ArchiveId>,
    needs: ArchiveNeeds,
}

impl Discarded {
    /// With `is_left` for a copy that nothing is uploaded to any more: what was packed into another archive goes only if that one goes,
    /// too.
    fn of(store: &Store, is_left: bool) -> Result<Self, StoreError> {
        let mut found = Self {
            snapshots: HashSet::new(),
            replaced: HashSet::new(),
            used: HashSet::new(),
            needs: store.archive_needs()?,
        };
        // The newest first, for what became of the archive that others were packed into.
        for receipt in store.receipts()?.into_iter().rev() {
            let pruned = match receipt.act {
                Operation::Prune { snapshots, .. } => snapshots,
                Operation::Forget {
                    snapshots,
                    from,
                    into,
                    ..
                } => {
                    found.replaced.extend(from);
                    found.used.extend(into.into_iter().map(|into| into.id));
                    snapshots
                }
                Operation::Repack { from, into, .. } => {
                    if !is_left || found.replaced.contains(&into.id) {
                        found.replaced.extend(from);
                    } else if !found.is_needed(&into.id) {
                        found.used.extend(from);
                    }
                    found.used.insert(into.id);
                    continue;
                }
                _ => continue,
            };
            for snapshot in pruned {
                found.used.extend(snapshot.id.archives());
                found.snapshots.insert(snapshot.id);
            }
        }
        Ok(found)
    }

    fn is_needed(&self, archive: &ArchiveId) -> bool {
        self.needs.archives.contains(archive) || self.needs.missing.contains(archive)
    }

    fn fate(&self, archive: &ArchiveId) -> Fate {
        if self.needs.archives.contains(archive) {
            Fate::Stays
        } else if self.replaced.contains(archive) {
            Fate::Goes
        } else if self.is_needed(archive) || !self.used.contains(archive) {
            Fate::Stays
        } else if self.needs.is_vague {
            Fate::Unknown
        } else {
            Fate::Goes
        }
    }
}

/// Objects of an earlier copy that hold what was forgotten or pruned here.
#[derive(Debug, Default)]
pub struct ForgottenObjects {
    /// Those that may be deleted, each with its notes.
    pub names: BTreeMap<Name, Vec<String>>,
    /// Number of those that a record that cannot be read may need.
    pub withheld: u64,
}

/// Returns the noted objects of an earlier copy that hold what was forgotten or pruned here.
///
/// Nothing is uploaded there any more, so no archive takes the place of one that was rewritten since: what was forgotten goes, even if other
/// snapshots there need the same archive.
///
/// # Errors
/// [`StoreError`].
pub fn forgotten_in(store: &Store, replica: &EarlierReplica) -> Result<ForgottenObjects, StoreError> {
    let discarded = Discarded::of(store, true)?;
    let mut found = ForgottenObjects::default();
    for (name, notes) in by_name(replica.notes.iter().cloned()) {
        match &name {
            Name::Record(id) if discarded.snapshots.contains(id) => {}
            Name::Archive(id, _) => match discarded.fate(id) {
                Fate::Goes => {}
                Fate::Unknown => {
                    found.withheld += 1;
                    continue;
                }
                Fate::Stays => continue,
            },
            _ => continue,
        }
        found.names.insert(name, notes);
    }
    Ok(found)
}

/// Returns notes by the object that they are about.
fn by_name(notes: impl IntoIterator<Item = String>) -> BTreeMap<Name, Vec<String>> {
    let mut found: BTreeMap<Name, Vec<String>> = BTreeMap::new();
    for note in notes {
        if let Some(name) = Name::parse(noted_name(&note)) {
            found.entry(name).or_default().push(note);
        }
    }
    found
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
    /// Removes from the replica what was pruned here, also what may have arrived there and was not noted. Call it after
    /// [`Copying::run`], so that the receipts of the prune are there.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn remove_given_up(&mut self) -> Result<(), ReplicaError> {
        let discarded = Discarded::of(self.store, false)?;
        let mut known = by_name(self.store.replica_notes(&self.place)?);
        for name in self.seen.iter().filter_map(|name| Name::parse(name)) {
            known.entry(name).or_default();
        }
        let mut archives: BTreeMap<ArchiveId, Vec<(Name, Vec<String>)>> = BTreeMap::new();
        for (name, notes) in known {
            match &name {
                Name::Record(id) if discarded.snapshots.contains(id) => self.remove(&name, &notes)?,
                Name::Archive(id, _) | Name::Moved(id, _) => {
                    archives.entry(id.clone()).or_default().push((name, notes));
                }
                Name::Record(_) | Name::Key(_) | Name::Receipts(_) => {}
            }
        }
        let moved = self.store.moved_to_copy()?.into_iter();
        let moved: HashMap<ArchiveId, ArchiveId> = moved.map(|(id, into, _)| (id, into.id)).collect();
        for (id, objects) in archives {
            // The name that leads on is needed, and must be there before what it stands for goes.
            let leads = moved.get(&id).map(|into| Name::Moved(id.clone(), into.clone()));
            let is_led = leads
                .as_ref()
                .is_none_or(|leads| self.notes.contains(&leads.to_string()));
            let objects = objects
                .into_iter()
                .filter(|(name, _)| Some(name) != leads.as_ref());
            match discarded.fate(&id) {
                Fate::Stays => {}
                Fate::Goes if is_led => {
                    for (name, notes) in objects {
                        self.remove(&name, &notes)?;
                    }
                }
                Fate::Goes | Fate::Unknown => self.copied.withheld += objects.count() as u64,
            }
        }
        Ok(())
    }
}
