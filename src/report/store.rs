//! `verify`, `rebuild`, `prune`, `pin`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::path::lossy;
use super::{Head, HostPathDocument};
use crate::model::{PruneReason, PrunedSnapshot, RelPath, SnapshotId, Time};
use crate::recovery::{LostRecord, Pinned, Rebuilt, Verification};
use crate::retention::{Chosen, Held, PrunePlan, Shortage};
use crate::store::Finding;

/// Result of the check of a store.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VerifyOutcome {
    /// Nothing was found.
    Whole,
    /// At least one item is damaged.
    Damaged,
}

/// `verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VerifyDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: VerifyOutcome,
    /// Every stored byte was read and checked.
    pub(crate) read_data: bool,
    /// Number of snapshots checked.
    pub(crate) snapshots: u64,
    /// Number of archives checked.
    pub(crate) archives: u64,
    /// Number of receipts checked.
    pub(crate) receipts: u64,
    /// Content read, in bytes.
    pub(crate) bytes: u64,
    /// Number of encrypted bundles that none of the given keys opens.
    pub(crate) unopened: u64,
    /// The damaged items.
    pub(crate) findings: Vec<DamageDocument>,
    /// Sessions whose interrupted restores can only be left as they are.
    #[serde(skip)]
    pub(crate) lost_restores: Vec<String>,
}

impl VerifyDocument {
    /// Makes the report of a check.
    pub(crate) fn of(found: &Verification, read_data: bool) -> Self {
        let verified = &found.verified;
        Self {
            head: Head::default(),
            outcome: if found.is_whole() {
                VerifyOutcome::Whole
            } else {
                VerifyOutcome::Damaged
            },
            read_data,
            snapshots: verified.snapshots,
            archives: verified.archives,
            receipts: verified.receipts,
            bytes: verified.bytes,
            unopened: verified.unopened,
            findings: verified.findings.iter().map(DamageDocument::from).collect(),
            lost_restores: found.lost_restores.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A damaged item, and where it is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DamageDocument {
    pub(crate) snapshot: Option<String>,
    pub(crate) archive: Option<String>,
    /// Label of the mount.
    pub(crate) mount: Option<String>,
    /// Below the mount.
    path: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// Problem, in words.
    pub(crate) what: String,
    /// Exact path of `path`.
    #[serde(skip)]
    pub(crate) place: Option<RelPath>,
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
            place: finding.path.as_ref().map(|(_, path)| path.clone()),
        }
    }
}

/// `rebuild --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RebuildDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// Number of sessions in the catalog.
    pub(crate) instances: u64,
    /// Records that could not be read, and why.
    pub(crate) unreadable: Vec<String>,
    /// Snapshots of which a receipt tells, and whose records are gone.
    pub(crate) lost: Vec<String>,
    /// Others, which are discarded now: they are not missed any more.
    pub(crate) given_up: Vec<String>,
    /// Number of receipts taken from the catalog's copy; absent if the log was valid.
    pub(crate) regained: Option<u64>,
    /// Path that the damaged log was moved to.
    pub(crate) damaged_log: Option<HostPathDocument>,
    /// Entries of `lost` and `given_up`, for the text.
    #[serde(skip)]
    pub(crate) lost_records: Vec<LostRecord>,
    #[serde(skip)]
    pub(crate) discarded_records: Vec<LostRecord>,
    /// Number of receipts in the repaired log.
    #[serde(skip)]
    pub(crate) links: u64,
}

impl RebuildDocument {
    /// Makes the report of a repair.
    pub(crate) fn of(found: Rebuilt) -> Self {
        let ids = |lost: &[LostRecord]| lost.iter().map(|lost| lost.snapshot.to_string()).collect();
        let mended = found.mended.as_ref();
        Self {
            head: Head::default(),
            instances: found.sessions,
            unreadable: found.unread.iter().map(ToString::to_string).collect(),
            lost: ids(&found.lost),
            given_up: ids(&found.accepted),
            regained: mended.map(|mended| mended.regained),
            damaged_log: mended.map(|mended| HostPathDocument::new(&mended.aside)),
            links: mended.map_or(0, |mended| mended.links),
            lost_records: found.lost,
            discarded_records: found.accepted,
        }
    }

    /// Returns true if no record is missing or unreadable.
    pub(crate) fn is_whole(&self) -> bool {
        self.unreadable.is_empty() && self.lost.is_empty()
    }
}

/// Result of `prune`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PruneOutcome {
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
pub(crate) struct PruneDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: PruneOutcome,
    /// Snapshots to delete, oldest first.
    pub(crate) snapshots: Vec<PrunedDocument>,
    /// The same by reason.
    pub(crate) reasons: Vec<PruneShareDocument>,
    /// Number of snapshots that are kept although a rule matches, by reason.
    pub(crate) held: BTreeMap<Held, u64>,
    /// Bytes of the store before: the sum of the next three.
    pub(crate) size: u64,
    /// Bytes of all archives before.
    pub(crate) archive_bytes: u64,
    /// Bytes of all records of snapshots before.
    pub(crate) record_bytes: u64,
    /// Bytes of the receipts and the catalog, which are never deleted.
    pub(crate) lasting_bytes: u64,
    /// Bytes that nothing needs any more; of a plan about as many.
    pub(crate) freed: u64,
    /// Archives that are packed anew.
    pub(crate) repacked: u64,
    /// Bytes that are free because of that; of a plan about as many.
    pub(crate) repacked_bytes: u64,
    /// Bytes by which the store stays larger than `max_bytes`.
    pub(crate) lacking: u64,
    /// Too little is free on the disk of the store, and no snapshot goes for that: deleting would not reach `min_free`.
    pub(crate) shortage: Option<ShortageDocument>,
    /// Number of snapshots kept by each reason, if all that remain are kept.
    pub(crate) left: BTreeMap<Held, u64>,
    /// Snapshots whose records are gone or cannot be read: while there are any no archive goes.
    pub(crate) unreadable: Vec<String>,
    /// Baselines that are not stored, and whose process is gone: what was frozen for those that do not fit goes.
    pub(crate) frozen: Vec<String>,
    /// File-system snapshots that `--forget` forgets without deleting them.
    pub(crate) forgotten: Vec<String>,
    /// The number in `log`.
    pub(crate) receipt: Option<u64>,
    /// Bytes of `freed` that a killed command left behind.
    #[serde(skip)]
    pub(crate) idle: u64,
    /// Number of archives that a killed command was replacing.
    #[serde(skip)]
    pub(crate) half_replaced: u64,
}

impl PruneDocument {
    /// Makes the report of a plan; `stuck` are baselines that are not stored and do not fit.
    pub(crate) fn of(plan: &PrunePlan, stuck: &[SnapshotId]) -> Self {
        let groups = plan.repack.iter().flat_map(|plan| &plan.groups);
        Self {
            head: Head::default(),
            outcome: if plan.is_empty() && stuck.is_empty() {
                PruneOutcome::Nothing
            } else {
                PruneOutcome::Planned
            },
            snapshots: plan.chosen.iter().map(PrunedDocument::from).collect(),
            reasons: plan
                .reasons
                .iter()
                .map(|(reason, share)| PruneShareDocument {
                    reason: *reason,
                    snapshots: share.snapshots,
                    bytes: share.bytes,
                })
                .collect(),
            held: plan.held.clone(),
            size: plan.size.all(),
            archive_bytes: plan.size.archives,
            record_bytes: plan.size.records,
            lasting_bytes: plan.size.lasting,
            freed: plan.freed.saturating_add(plan.idle),
            repacked: groups.map(|group| group.from.len() as u64).sum(),
            repacked_bytes: plan.repack_gain(),
            lacking: plan.lacking,
            shortage: plan.shortage.map(ShortageDocument::from),
            left: plan.left.clone(),
            unreadable: plan.unreadable.iter().map(ToString::to_string).collect(),
            frozen: stuck.iter().map(ToString::to_string).collect(),
            forgotten: Vec::new(),
            receipt: None,
            idle: plan.idle,
            half_replaced: plan.half_replaced,
        }
    }
}

/// A snapshot that goes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrunedDocument {
    #[serde(flatten)]
    pub(crate) snapshot: PrunedSnapshot,
    /// RFC 3339, UTC.
    pub(crate) taken_at: Time,
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
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct ShortageDocument {
    /// Free now.
    pub(crate) free: u64,
    /// Free space required, in bytes.
    pub(crate) floor: u64,
    /// Bytes missing after deletions for other reasons.
    pub(crate) missing: u64,
    /// Bytes freed if everything eligible were deleted.
    pub(crate) within_reach: u64,
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

/// Snapshots to delete for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PruneShareDocument {
    pub(crate) reason: PruneReason,
    /// Number of snapshots.
    pub(crate) snapshots: u64,
    /// Bytes that nothing needs any more because of them.
    pub(crate) bytes: u64,
}

/// `pin --json`, `unpin --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PinDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// The snapshot's id; none: the whole session.
    pub(crate) snapshot: Option<String>,
    /// True if it is pinned now.
    pub(crate) pinned: bool,
    /// The number in `log`; none when it was so already.
    pub(crate) receipt: Option<u64>,
    /// True if an unpinned snapshot is kept because its whole session is pinned.
    #[serde(skip)]
    pub(crate) is_kept_by_session: bool,
}

impl PinDocument {
    /// Makes the report of a pin (`pinned`), or of its removal.
    pub(crate) fn of(done: &Pinned, pinned: bool) -> Self {
        let is_kept_by_session = !pinned && done.snapshot.is_some() && done.was_whole;
        Self {
            head: Head::default(),
            instance: done.row.id.to_string(),
            snapshot: done.snapshot.as_ref().map(ToString::to_string),
            pinned: pinned || is_kept_by_session,
            receipt: done.receipt,
            is_kept_by_session,
        }
    }
}
