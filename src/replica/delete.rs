//! Deletion in the replica, if the operator chose it: only objects of snapshots that the chain here records as pruned, and only
//! objects that this store noted as its own.

use std::collections::{HashMap, HashSet};

use super::ReplicaError;
use super::name::Name;
use super::upload::Copying;
use crate::model::{ArchiveId, Operation, SnapshotId};

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
