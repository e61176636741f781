//! The receipt chain of another machine, up to its last valid link: the state of each snapshot, and a comparison with a saved link.

use std::collections::BTreeMap;

use crate::model::{Amendment, Digest, Operation, Receipt, SnapshotId, SnapshotRecord};
use crate::store::Anchor;

/// The chain as far as it is there.
#[derive(Debug, Default)]
pub struct Chain {
    /// The receipts, from the first.
    pub receipts: Vec<Receipt>,
    /// The last one that holds.
    pub head: Option<Anchor>,
    /// Descriptions of the problems with the chain.
    pub troubles: Vec<String>,
}

/// State of one snapshot according to the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Digest of its record, from its receipt; `None` if the chain has no receipt of its capture.
    pub captured: Option<Digest>,
    /// True if the other machine pruned the snapshot.
    pub given_up: bool,
    /// True if the other machine forgot it, for good.
    pub forgotten: bool,
    /// True if the other machine lost its record, and the operator accepted that.
    pub lost: bool,
}

impl Chain {
    /// Returns the state of each snapshot that the chain names.
    #[must_use]
    pub fn told(&self) -> BTreeMap<SnapshotId, Told> {
        let mut all: BTreeMap<SnapshotId, Told> = BTreeMap::new();
        for receipt in &self.receipts {
            match &receipt.act {
                Operation::Capture { snapshot, record, .. } => {
                    let told = all.entry(snapshot.clone()).or_default();
                    told.captured = told.captured.or(Some(*record));
                }
                Operation::Prune { snapshots, .. } | Operation::Forget { snapshots, .. } => {
                    for pruned in snapshots {
                        let told = all.entry(pruned.id.clone()).or_default();
                        told.given_up = true;
                        told.forgotten |= matches!(receipt.act, Operation::Forget { .. });
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

    /// Changes a record to what it says since paths were forgotten.
    pub fn amend(&self, record: &mut SnapshotRecord) {
        for receipt in &self.receipts {
            let Operation::Forget { amended, into, .. } = &receipt.act else {
                continue;
            };
            let id = record.id.clone();
            for amended in amended.iter().filter(|amended| amended.snapshot == id) {
                let (amended, archives) = (amended.clone(), into.clone());
                Amendment { amended, archives }.apply(record);
            }
        }
    }

    /// Returns true if the chain contains `anchor`, a link that was saved elsewhere.
    #[must_use]
    pub fn continues(&self, anchor: &Anchor) -> bool {
        let Some(head) = self.head else {
            return anchor.number == 0;
        };
        if anchor.number == head.number {
            return anchor.hash == head.hash;
        }
        // The next link contains the hash of the one before it.
        let next = usize::try_from(anchor.number)
            .ok()
            .and_then(|at| self.receipts.get(at));
        next.is_some_and(|next| next.previous == anchor.hash)
    }
}
