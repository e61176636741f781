//! `replicate`, and what `import --from` brought back.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DroppedDocument, Head};
use crate::model::SnapshotId;
use crate::transfer::DroppedWhat;

/// Result of `replicate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReplicateOutcome {
    /// `--dry-run`: this waits.
    Planned,
    /// Everything is there.
    Copied,
    /// Everything was there already.
    Nothing,
    /// Another process copies, and finds what there is.
    Busy,
    /// Damaged data was not copied.
    Partial,
}

/// `replicate --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplicateDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: ReplicateOutcome,
    /// The address, as configured.
    pub(crate) place: String,
    /// The store's name there; none before it was ever copied.
    pub(crate) store: Option<String>,
    /// The snapshots that are there now and were not noted before.
    pub(crate) snapshots: Vec<String>,
    /// Number of receipts.
    pub(crate) receipts: u64,
    /// Number of objects.
    pub(crate) objects: u64,
    /// Number of bytes sent.
    pub(crate) bytes: u64,
    /// Number of objects deleted from the replica because their snapshots were pruned here.
    pub(crate) removed: u64,
    /// Data that is not copied yet.
    pub(crate) waiting: WaitingDocument,
    /// Snapshots that cannot be copied.
    pub(crate) hurt: Vec<HurtDocument>,
}

/// Data that is not copied yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitingDocument {
    pub(crate) snapshots: u64,
    pub(crate) receipts: u64,
}

/// A snapshot that could not be taken along.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HurtDocument {
    /// Its id.
    pub(crate) snapshot: String,
    /// Why, in words.
    pub(crate) why: String,
}

/// Result of `import --from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AdoptOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// All of it is here.
    Imported,
    /// A part is missing or damaged; the rest is here.
    Partial,
}

/// `import --from … --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AdoptDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: AdoptOutcome,
    /// The address.
    pub(crate) place: String,
    /// The store's name there.
    pub(crate) store: String,
    /// The last of its receipts that holds, as `log --anchor` prints it.
    pub(crate) anchor: String,
    /// Number of valid receipts.
    pub(crate) receipts: u64,
    /// Nothing is dropped, and the sessions are this machine's own, because `--trust` was given.
    pub(crate) trusted: bool,
    /// Number of snapshots in the replica.
    pub(crate) available: u64,
    /// The sessions that were not known here before.
    pub(crate) sessions: Vec<String>,
    /// The snapshots that were brought back.
    pub(crate) snapshots: Vec<String>,
    /// Number of them that were in this store before.
    pub(crate) there: u64,
    /// Number of them that were pruned here before and were not imported.
    pub(crate) given_up: u64,
    /// Number of paths that lost a right, in all snapshots.
    pub(crate) dropped: u64,
    /// Number of other paths whose owner became the importing user.
    pub(crate) owners: u64,
    /// The first twenty that lost something.
    pub(crate) dropped_paths: Vec<LostDocument>,
    /// Missing or changed data in the replica, in words.
    pub(crate) troubles: Vec<String>,
    /// Snapshots that could not be brought back.
    pub(crate) failed: Vec<HurtDocument>,
}

/// A path of a snapshot of which something was dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LostDocument {
    /// The snapshot.
    snapshot: String,
    #[serde(flatten)]
    what: DroppedDocument,
}

impl LostDocument {
    pub(crate) fn new(snapshot: &SnapshotId, what: &DroppedWhat) -> Self {
        Self {
            snapshot: snapshot.to_string(),
            what: DroppedDocument::new(what),
        }
    }
}
