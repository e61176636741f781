//! The chain of another machine, as far as it came: what it says of each snapshot, and whether it continues what somebody kept.

use std::collections::BTreeMap;

use crate::model::{Digest, Operation, Receipt, SnapshotId};
use crate::store::Anchor;

/// The chain as far as it is there.
#[derive(Debug, Default)]
pub struct Chain {
    /// The receipts, from the first.
    pub receipts: Vec<Receipt>,
    /// The last one that holds.
    pub head: Option<Anchor>,
    /// What is wrong with it, in words.
    pub troubles: Vec<String>,
}

/// What the chain says of one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The digest of its record, by the receipt that tells of it.
    pub captured: Option<Digest>,
    /// It was given up there.
    pub given_up: bool,
    /// Its record was lost there, which the operator knows.
    pub lost: bool,
}

impl Chain {
    /// What it says of each snapshot.
    #[must_use]
    pub fn told(&self) -> BTreeMap<SnapshotId, Told> {
        let mut all: BTreeMap<SnapshotId, Told> = BTreeMap::new();
        for receipt in &self.receipts {
            match &receipt.act {
                Operation::Capture { snapshot, record, .. } => {
                    let told = all.entry(snapshot.clone()).or_default();
                    told.captured = told.captured.or(Some(*record));
                }
                Operation::Prune { snapshots, .. } => {
                    for pruned in snapshots {
                        all.entry(pruned.id.clone()).or_default().given_up = true;
                    }
                }
                Operation::AcceptLoss { records, .. } => {
                    for id in records {
                        all.entry(id.clone()).or_default().lost = true;
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// Whether it has the link that somebody kept elsewhere.
    #[must_use]
    pub fn continues(&self, anchor: &Anchor) -> bool {
        let Some(head) = self.head else {
            return anchor.number == 0;
        };
        if anchor.number == head.number {
            return anchor.hash == head.hash;
        }
        // What the next link says of the one before it is the hash of that.
        let next = usize::try_from(anchor.number)
            .ok()
            .and_then(|at| self.receipts.get(at));
        next.is_some_and(|next| next.previous == anchor.hash)
    }
}
