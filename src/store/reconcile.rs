//! Do records and receipts tell of the same snapshots? A record without its receipt is what a kill between the two leaves; more
//! than that is loss, of receipts or of records.

use std::collections::{HashMap, HashSet};

use super::{Layout, Store, StoreError, durable, log, record};
use crate::model::{InstanceId, Operation, Receipt, SnapshotId, SnapshotKind};

/// A snapshot that a receipt records, that was not pruned, and whose record is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRecord {
    /// Its id.
    pub snapshot: SnapshotId,
    /// Its kind.
    pub kind: SnapshotKind,
    /// A checkpoint's name, when its receipt tells it.
    pub name: Option<String>,
    /// The receipt that tells of it.
    pub receipt: u64,
}

impl std::fmt::Display for LostRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} snapshot {}", self.kind.word(), self.snapshot)?;
        self.name.iter().try_for_each(|name| write!(f, " {name:?}"))
    }
}

/// State of the snapshots according to the chain.
#[derive(Debug, Default)]
pub(super) struct Account {
    begun: HashSet<InstanceId>,
    captured: HashMap<SnapshotId, LostRecord>,
    /// Snapshots that were pruned, some because their records are lost.
    pruned: HashSet<SnapshotId>,
    /// Snapshots whose receipts are lost, which the operator has accepted.
    accepted: HashSet<SnapshotId>,
}

impl Account {
    /// Takes in the next link.
    pub(super) fn take(&mut self, receipt: &Receipt) {
        match &receipt.act {
            Operation::Begin { .. } | Operation::Adopt { .. } => self.begun.extend(receipt.instance.clone()),
            Operation::Capture {
                snapshot, kind, name, ..
            } => {
                let told = LostRecord {
                    snapshot: snapshot.clone(),
                    kind: *kind,
                    name: name.clone(),
                    receipt: receipt.number,
                };
                // The first one for a snapshot counts.
                self.captured.entry(snapshot.clone()).or_insert(told);
            }
            Operation::Prune { snapshots, .. } | Operation::Forget { snapshots, .. } => {
                self.pruned
                    .extend(snapshots.iter().map(|pruned| pruned.id.clone()));
            }
            Operation::AcceptLoss { snapshots, records } => {
                self.accepted.extend(snapshots.iter().cloned());
                self.pruned.extend(records.iter().cloned());
            }
            _ => {}
        }
    }

    /// Returns the snapshots whose records are gone, in the order of the chain. `ids` are the records that existed before the chain
    /// was read; those pruned since then are among them.
    pub(super) fn lost(&self, layout: &Layout, ids: &[SnapshotId]) -> Vec<LostRecord> {
        let is_gone = |told: &&LostRecord| {
            ids.binary_search(&told.snapshot).is_err()
                && !self.pruned.contains(&told.snapshot)
                && matches!(durable::is_there(&layout.record(&told.snapshot)), Ok(false))
        };
        let mut lost: Vec<LostRecord> = self.captured.values().filter(is_gone).cloned().collect();
        lost.sort_by_key(|told| told.receipt);
        lost
    }

    /// The records of `ids`, sorted, that no receipt tells of: those that a kill between record and receipt explains, and those
    /// whose receipts must have been lost. A session begins with a receipt, and one kill leaves one record: where two in a row
    /// have none, the chain has lost something. Records that cannot be read are in neither.
    pub(super) fn untold(&self, layout: &Layout, ids: &[SnapshotId]) -> (Vec<SnapshotId>, Vec<SnapshotId>) {
        let is_told = |id: &SnapshotId| self.captured.contains_key(id) || self.pruned.contains(id);
        let (mut explained, mut lost) = (Vec::new(), Vec::new());
        if ids.iter().all(|id| is_told(id) || self.accepted.contains(id)) {
            return (explained, lost);
        }
        // By session, in the order in which they were taken.
        let mut taken: HashMap<InstanceId, Vec<_>> = HashMap::new();
        for id in ids {
            if let Ok(record) = record::read(layout, id, None) {
                let moment = (record.taken_at, record.id);
                taken.entry(record.instance).or_default().push(moment);
            }
        }
        for (instance, mut moments) in taken {
            moments.sort();
            for row in moments.chunk_by(|(_, a), (_, b)| is_told(a) == is_told(b)) {
                let ids = row.iter().map(|(_, id)| id);
                let unknown: Vec<&SnapshotId> = ids
                    .filter(|id| !is_told(id) && !self.accepted.contains(*id))
                    .collect();
                match unknown.as_slice() {
                    [one] if self.begun.contains(&instance) => explained.push((*one).clone()),
                    several => lost.extend(several.iter().map(|id| (*id).clone())),
                }
            }
        }
        explained.sort();
        lost.sort();
        (explained, lost)
    }
}

/// Records and the chain, read in this order: a record comes before its receipt.
pub(super) fn read(layout: &Layout) -> Result<(Vec<SnapshotId>, Account), StoreError> {
    let ids = record::ids(layout)?;
    let mut account = Account::default();
    log::scan(&layout.receipts(), log::Place::BEGIN, |link| {
        account.take(&link.receipt);
        Ok(())
    })?;
    Ok((ids, account))
}

impl Store {
    /// Returns the snapshots that receipts record, that were not pruned, and whose records are gone; in the order of the chain.
    ///
    /// # Errors
    /// As [`Store::receipts`].
    pub fn lost_records(&self) -> Result<Vec<LostRecord>, StoreError> {
        let _kept = self.layout.enter()?;
        let (ids, account) = read(&self.layout)?;
        Ok(account.lost(&self.layout, &ids))
    }

    /// The snapshots that no receipt tells of any more although one must have: the chain was cut, or begun anew. A chain without a
    /// fault in itself does not show that.
    ///
    /// # Errors
    /// As [`Store::receipts`].
    pub fn untold(&self) -> Result<Vec<SnapshotId>, StoreError> {
        let _kept = self.layout.enter()?;
        let (ids, account) = read(&self.layout)?;
        Ok(account.untold(&self.layout, &ids).1)
    }

    /// The error that [`Store::untold`] amounts to, when there is something.
    ///
    /// # Errors
    /// [`StoreError::Untold`]; as [`Store::receipts`].
    pub fn check_told(&self) -> Result<(), StoreError> {
        self.untold_error(self.untold()?).map_or(Ok(()), Err)
    }

    /// The error that snapshots amount to of which no receipt tells any more.
    pub(super) fn untold_error(&self, snapshots: Vec<SnapshotId>) -> Option<StoreError> {
        let path = self.layout.receipts();
        (!snapshots.is_empty()).then_some(StoreError::Untold { path, snapshots })
    }
}
