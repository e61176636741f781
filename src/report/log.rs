//! `log`: the receipts, with the facts that single ones lack.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;

use super::Head;
use crate::model::{Digest, InstanceId, Operation, Receipt, SnapshotId};
use crate::store::{Anchor, SnapshotRow, Store, StoreError};

/// `log --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LogDocument {
    #[serde(flatten)]
    head: Head,
    /// The chain holds and lacks nothing; else these are the receipts before its break, and the error stands on stderr.
    verified: bool,
    /// The last link, as `--anchor` prints it.
    pub(crate) anchor: String,
    /// Newest first.
    pub(crate) receipts: Vec<ReceiptDocument>,
    /// Error of the first link that does not hold.
    #[serde(skip)]
    pub(crate) broken: Option<String>,
    /// Names and messages of snapshots; of deleted ones the name alone.
    #[serde(skip)]
    pub(crate) names: HashMap<SnapshotId, Vec<String>>,
    /// Names of all users of the log, by uid; `None`: this machine knows none.
    #[serde(skip)]
    pub(crate) users: HashMap<u32, Option<OsString>>,
    /// A session restored itself, from within.
    #[serde(skip)]
    pub(crate) some_inside: bool,
}

/// One link of the chain.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReceiptDocument {
    #[serde(flatten)]
    pub(crate) receipt: Receipt,
    /// Of a restore that was undone: the number of the receipt of the undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) taken_back_by: Option<u64>,
    /// Its hash, which the next link holds.
    #[serde(skip)]
    pub(crate) hash: Digest,
}

/// `log --anchor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnchorDocument {
    #[serde(flatten)]
    head: Head,
    /// The last link: its number, a colon, and its hash.
    anchor: String,
}

impl AnchorDocument {
    pub(crate) fn new(anchor: Anchor) -> Self {
        Self {
            head: Head::default(),
            anchor: anchor.to_string(),
        }
    }
}

impl LogDocument {
    /// Reads the receipts of a store as far as the chain holds; `only` those of one session, if it is given.
    pub(crate) fn until_break(store: &Store, only: Option<&InstanceId>) -> Result<Self, StoreError> {
        let (receipts, head, broken) = store.chain_until_break()?;
        let snapshots = store.catalog().all_snapshots()?;
        Ok(Self::of(receipts, head, broken.as_ref(), &snapshots, only))
    }

    /// Makes the report of a whole chain, and what there is of its snapshots; `only` the receipts of one session are listed, if it is
    /// given.
    pub(crate) fn of(
        all: Vec<Receipt>,
        head: Anchor,
        broken: Option<&StoreError>,
        snapshots: &[SnapshotRow],
        only: Option<&InstanceId>,
    ) -> Self {
        let mut names: HashMap<SnapshotId, Vec<String>> = HashMap::new();
        let mut undone: HashMap<u64, u64> = HashMap::new();
        let mut some_inside = false;
        for receipt in &all {
            match &receipt.act {
                Operation::Prune { snapshots, .. } | Operation::Forget { snapshots, .. } => {
                    let told = snapshots.iter();
                    names.extend(told.filter_map(|gone| Some((gone.id.clone(), vec![gone.name.clone()?]))));
                }
                Operation::Restore { undoes, inside, .. } => {
                    undone.extend(undoes.map(|undone| (undone, receipt.number)));
                    some_inside |= *inside;
                }
                _ => {}
            }
        }
        for row in snapshots {
            let own = [&row.name, &row.message].into_iter().flatten().cloned();
            names.insert(row.id.clone(), own.collect());
        }
        let users: HashSet<u32> = all.iter().map(|receipt| receipt.uid).collect();
        // What the next link says of the one before it is the hash of that.
        let hashes = all.iter().skip(1).map(|next| next.previous);
        let hashes: Vec<Digest> = hashes.chain(std::iter::once(head.hash)).collect();
        let receipts = all.into_iter().zip(hashes).rev();
        let receipts = receipts.filter(|(receipt, _)| only.is_none_or(|only| concerns(receipt, only)));
        Self {
            head: Head::default(),
            verified: broken.is_none(),
            anchor: head.to_string(),
            receipts: receipts
                .map(|(receipt, hash)| ReceiptDocument {
                    taken_back_by: undone.get(&receipt.number).copied(),
                    receipt,
                    hash,
                })
                .collect(),
            broken: broken.map(ToString::to_string),
            names,
            users: users
                .into_iter()
                .map(|uid| (uid, handle_fs::name_of(uid)))
                .collect(),
            some_inside,
        }
    }
}

/// Returns true for a receipt of a session, also if it is about several.
fn concerns(receipt: &Receipt, session: &InstanceId) -> bool {
    if receipt.instance.as_ref() == Some(session) {
        return true;
    }
    match &receipt.act {
        Operation::Prune { snapshots, .. } => snapshots.iter().any(|gone| gone.instance == *session),
        Operation::Forget {
            snapshots, amended, ..
        } => {
            snapshots.iter().any(|gone| gone.instance == *session)
                || amended.iter().any(|amended| amended.instance == *session)
        }
        _ => false,
    }
}
