//! `verify`, `log`, `rebuild`.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument, lossy};
use crate::model::{PruneReason, PrunedSnapshot, Receipt, Time};
use crate::retention::{Chosen, Held, Shortage};
use crate::store::{Anchor, Finding};

/// Whether the store is whole.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum VerifyOutcome {
    /// Nothing was found.
    Whole,
    /// At least one thing is hurt.
    Damaged,
}

/// `verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct VerifyDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) outcome: VerifyOutcome,
    /// Every stored byte was read and checked.
    pub(in crate::cli) read_data: bool,
    /// How many snapshots were checked.
    pub(in crate::cli) snapshots: u64,
    /// How many archives were checked.
    pub(in crate::cli) archives: u64,
    /// How many receipts were checked.
    pub(in crate::cli) receipts: u64,
    /// How much content was read.
    pub(in crate::cli) bytes: u64,
    /// What is hurt.
    pub(in crate::cli) findings: Vec<DamageDocument>,
}

/// One thing that is hurt, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct DamageDocument {
    snapshot: Option<String>,
    archive: Option<String>,
    /// Label of the mount.
    mount: Option<String>,
    /// Below the mount.
    path: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What is wrong with it, in words.
    what: String,
}

impl From<&Finding> for DamageDocument {
    fn from(finding: &Finding) -> Self {
        let (path, path_bytes) = match &finding.path {
            Some((_, path)) => {
                let (text, bytes) = lossy(path);
                (Some(text), bytes)
            }
            None => (None, None),
        };
        Self {
            snapshot: finding.snapshot.as_ref().map(ToString::to_string),
            archive: finding.archive.as_ref().map(ToString::to_string),
            mount: finding.path.as_ref().map(|(mount, _)| mount.clone()),
            path,
            path_bytes,
            what: finding.what.clone(),
        }
    }
}

/// `log --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct LogDocument<'a> {
    #[serde(flatten)]
    head: Head,
    /// The chain holds and lacks nothing; else these are the receipts before its break, and the error stands on stderr.
    verified: bool,
    /// The last link, as `--anchor` prints it.
    anchor: String,
    /// Newest first.
    receipts: Vec<ReceiptDocument<'a>>,
}

/// One link of the chain.
#[derive(Debug, Serialize, JsonSchema)]
struct ReceiptDocument<'a> {
    #[serde(flatten)]
    receipt: &'a Receipt,
    /// Of a restore that was taken back: the number of the receipt of the undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_back_by: Option<u64>,
}

/// `log --anchor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct AnchorDocument {
    #[serde(flatten)]
    head: Head,
    /// The last link: its number, a colon, and its hash.
    anchor: String,
}

impl AnchorDocument {
    pub(in crate::cli) fn new(anchor: Anchor) -> Self {
        Self {
            head: Head::default(),
            anchor: anchor.to_string(),
        }
    }
}

impl<'a> LogDocument<'a> {
    /// Of receipts whose links were checked; `undone` has each restore that was taken back, with its undo.
    pub(in crate::cli) fn new(
        receipts: Vec<&'a Receipt>,
        undone: &HashMap<u64, u64>,
        anchor: Anchor,
        verified: bool,
    ) -> Self {
        let receipts = receipts.into_iter().map(|receipt| ReceiptDocument {
            receipt,
            taken_back_by: undone.get(&receipt.number).copied(),
        });
        Self {
            head: Head::default(),
            verified,
            anchor: anchor.to_string(),
            receipts: receipts.collect(),
        }
    }
}

/// `rebuild --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RebuildDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// How many sessions the catalog knows now.
    pub(in crate::cli) instances: u64,
    /// Records that could not be read, and why.
    pub(in crate::cli) unreadable: Vec<String>,
    /// Snapshots of which a receipt tells, and whose records are gone.
    pub(in crate::cli) lost: Vec<String>,
    /// Others, which are given up now: they are not missed any more.
    pub(in crate::cli) given_up: Vec<String>,
    /// How many receipts came from the catalog's copy; none when the chain held.
    pub(in crate::cli) regained: Option<u64>,
    /// Where the damaged log was laid aside.
    pub(in crate::cli) damaged_log: Option<HostPathDocument>,
}

/// How a prune ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum PruneOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// There was nothing to do.
    Nothing,
    /// It was done.
    Pruned,
    /// Done, but the store is still larger than it may be, or too little room is free: what is left is held.
    Lacking,
}

/// `prune --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct PruneDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) outcome: PruneOutcome,
    /// What goes, oldest first.
    pub(in crate::cli) snapshots: Vec<PrunedDocument>,
    /// The same by reason.
    pub(in crate::cli) reasons: Vec<PruneShareDocument>,
    /// How many snapshots stay although a rule would give them up, by what holds them.
    pub(in crate::cli) held: BTreeMap<Held, u64>,
    /// Bytes of the store before: the sum of the next three.
    pub(in crate::cli) size: u64,
    /// Bytes of all archives before.
    pub(in crate::cli) archive_bytes: u64,
    /// Bytes of all records of snapshots before.
    pub(in crate::cli) record_bytes: u64,
    /// Bytes of the receipts and the catalog, which are never given up.
    pub(in crate::cli) lasting_bytes: u64,
    /// Bytes that nothing needs any more; of a plan about as many.
    pub(in crate::cli) freed: u64,
    /// Archives that are packed anew.
    pub(in crate::cli) repacked: u64,
    /// Bytes that are free because of that; of a plan about as many.
    pub(in crate::cli) repacked_bytes: u64,
    /// Bytes by which the store stays larger than `max_bytes`.
    pub(in crate::cli) lacking: u64,
    /// Too little is free on the disk of the store, and no snapshot goes for that: deleting would not reach `min_free`.
    pub(in crate::cli) shortage: Option<ShortageDocument>,
    /// What holds all that is left, when that is so: how many snapshots each.
    pub(in crate::cli) left: BTreeMap<Held, u64>,
    /// Snapshots whose records are gone or cannot be read: while there are any no archive goes.
    pub(in crate::cli) unreadable: Vec<String>,
    /// Baselines that are not stored, and whose process is gone: what was frozen for those that do not fit goes.
    pub(in crate::cli) frozen: Vec<String>,
    /// What `--forget` leaves where it lies, and forgets.
    pub(in crate::cli) forgotten: Vec<String>,
    /// The number in `log`.
    pub(in crate::cli) receipt: Option<u64>,
}

/// A snapshot that goes.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct PrunedDocument {
    #[serde(flatten)]
    snapshot: PrunedSnapshot,
    /// RFC 3339, UTC.
    taken_at: Time,
}

impl From<&Chosen> for PrunedDocument {
    fn from(chosen: &Chosen) -> Self {
        Self {
            snapshot: chosen.snapshot.clone(),
            taken_at: chosen.taken_at,
        }
    }
}

/// Free space that is missing on the disk of the store, in bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ShortageDocument {
    /// Free now.
    free: u64,
    /// Free space required, in bytes.
    floor: u64,
    /// Bytes missing after deletions for other reasons.
    missing: u64,
    /// Bytes freed if everything eligible were deleted.
    within_reach: u64,
}

impl From<Shortage> for ShortageDocument {
    fn from(shortage: Shortage) -> Self {
        Self {
            free: shortage.free,
            floor: shortage.floor,
            missing: shortage.missing,
            within_reach: shortage.within_reach,
        }
    }
}

/// What goes for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct PruneShareDocument {
    pub(in crate::cli) reason: PruneReason,
    /// How many snapshots.
    pub(in crate::cli) snapshots: u64,
    /// Bytes that nothing needs any more because of them.
    pub(in crate::cli) bytes: u64,
}

/// `pin --json`, `unpin --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct PinDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// The snapshot's id; none: the whole session.
    pub(in crate::cli) snapshot: Option<String>,
    /// Whether it is pinned now.
    pub(in crate::cli) pinned: bool,
    /// The number in `log`; none when it was so already.
    pub(in crate::cli) receipt: Option<u64>,
}
