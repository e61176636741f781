//! `replicate`, and what `import --from` brought back.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DroppedDocument, Head};
use crate::model::SnapshotId;
use crate::transfer::DroppedWhat;

/// How `replicate` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum ReplicateOutcome {
    /// `--dry-run`: this waits.
    Planned,
    /// Everything is there.
    Copied,
    /// Everything was there already.
    Nothing,
    /// Another process copies, and finds what there is.
    Busy,
    /// What is hurt here was not copied.
    Partial,
}

/// `replicate --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ReplicateDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) outcome: ReplicateOutcome,
    /// The address, as configured.
    pub(in crate::cli) place: String,
    /// The store's name there; none before it was ever copied.
    pub(in crate::cli) store: Option<String>,
    /// The snapshots that are there now and were not noted before.
    pub(in crate::cli) snapshots: Vec<String>,
    /// How many receipts.
    pub(in crate::cli) receipts: u64,
    /// How many objects.
    pub(in crate::cli) objects: u64,
    /// How many bytes were sent.
    pub(in crate::cli) bytes: u64,
    /// How many objects were removed there, because their snapshots were given up here.
    pub(in crate::cli) removed: u64,
    /// What is not there yet.
    pub(in crate::cli) waiting: WaitingDocument,
    /// Snapshots that cannot be copied.
    pub(in crate::cli) hurt: Vec<HurtDocument>,
}

/// What is not there yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct WaitingDocument {
    pub(in crate::cli) snapshots: u64,
    pub(in crate::cli) receipts: u64,
}

/// A snapshot that could not be taken along.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct HurtDocument {
    /// Its id.
    pub(in crate::cli) snapshot: String,
    /// Why, in words.
    pub(in crate::cli) why: String,
}

/// How `import --from` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum AdoptOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// All of it is here.
    Imported,
    /// Something of it is missing or hurt; the rest is here.
    Partial,
}

/// `import --from … --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct AdoptDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) outcome: AdoptOutcome,
    /// The address.
    pub(in crate::cli) place: String,
    /// The store's name there.
    pub(in crate::cli) store: String,
    /// The last of its receipts that holds, as `log --anchor` prints it.
    pub(in crate::cli) anchor: String,
    /// How many receipts hold.
    pub(in crate::cli) receipts: u64,
    /// Nothing is dropped, and the sessions are this machine's own, because `--trust` was given.
    pub(in crate::cli) trusted: bool,
    /// How many snapshots there are.
    pub(in crate::cli) available: u64,
    /// The sessions that were not known here before.
    pub(in crate::cli) sessions: Vec<String>,
    /// The snapshots that were brought back.
    pub(in crate::cli) snapshots: Vec<String>,
    /// How many were here before.
    pub(in crate::cli) there: u64,
    /// How many were given up here before, and left so.
    pub(in crate::cli) given_up: u64,
    /// How many paths lost a right, in all snapshots together.
    pub(in crate::cli) dropped: u64,
    /// How many more became the importing user's, and lost nothing else.
    pub(in crate::cli) owners: u64,
    /// The first twenty that lost something.
    pub(in crate::cli) dropped_paths: Vec<LostDocument>,
    /// What is missing there, or was changed, in words.
    pub(in crate::cli) troubles: Vec<String>,
    /// Snapshots that could not be brought back.
    pub(in crate::cli) failed: Vec<HurtDocument>,
}

/// A path of a snapshot of which something was dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct LostDocument {
    /// The snapshot.
    snapshot: String,
    #[serde(flatten)]
    what: DroppedDocument,
}

impl LostDocument {
    pub(in crate::cli) fn new(snapshot: &SnapshotId, what: &DroppedWhat) -> Self {
        Self {
            snapshot: snapshot.to_string(),
            what: DroppedDocument::new(what),
        }
    }
}
