//! `replicate`, and what `import --from` brought back.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DroppedDocument, Head};
use crate::config::BucketPlace;
use crate::model::{InstanceId, SnapshotId, StoreId};
use crate::recovery::{Adopted, Anchor, Copied, FoundReplica, Waiting};
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
    /// Objects of no single snapshot that are damaged in the replica, each with what to do.
    pub(crate) cut: Vec<String>,
}

impl ReplicateDocument {
    /// Makes the report of a copy to `place`, or of what waits for one.
    pub(crate) fn of(
        place: &BucketPlace,
        outcome: ReplicateOutcome,
        store: Option<&StoreId>,
        left: Waiting,
        copied: &Copied,
    ) -> Self {
        Self {
            head: Head::default(),
            outcome,
            place: place.to_string(),
            store: store.map(ToString::to_string),
            snapshots: copied.snapshots.iter().map(ToString::to_string).collect(),
            receipts: copied.receipts,
            objects: copied.objects,
            bytes: copied.bytes,
            removed: copied.removed,
            waiting: WaitingDocument {
                snapshots: left.snapshots,
                receipts: left.receipts,
            },
            hurt: copied
                .damaged
                .iter()
                .map(|(id, why)| HurtDocument::new(id, why))
                .collect(),
            cut: copied.cut.clone(),
        }
    }
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

impl HurtDocument {
    fn new(snapshot: &SnapshotId, why: &str) -> Self {
        Self {
            snapshot: snapshot.to_string(),
            why: why.to_owned(),
        }
    }
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
    /// Number of sessions that an earlier import without `--trust` brought here. They stay another machine's, although `--trust` was given.
    pub(crate) untrusted: u64,
    /// Number of them that were pruned here before and were not imported.
    pub(crate) given_up: u64,
    /// Number of snapshots that were forgotten there, whose objects are still there, and which are not imported.
    pub(crate) forgotten: u64,
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
    /// Number of sessions in the replica.
    #[serde(skip)]
    pub(crate) available_sessions: u64,
    /// Bytes in the replica.
    #[serde(skip)]
    pub(crate) available_bytes: u64,
}

impl AdoptDocument {
    /// Makes the report of a replica that was found, and of what was imported from it.
    pub(crate) fn of(found: &FoundReplica<'_>, adopted: Option<&Adopted>, trusted: bool) -> Self {
        let none = Adopted::default();
        let done = adopted.unwrap_or(&none);
        let mut sessions: Vec<&InstanceId> = found.records.iter().map(|record| &record.instance).collect();
        sessions.sort();
        sessions.dedup();
        Self {
            head: Head::default(),
            outcome: match adopted {
                None => AdoptOutcome::Planned,
                Some(done) if done.failed.is_empty() && found.troubles.is_empty() => AdoptOutcome::Imported,
                Some(_) => AdoptOutcome::Partial,
            },
            place: found.place.clone(),
            store: found.store.to_string(),
            anchor: found.chain.head.unwrap_or(Anchor::NOTHING).to_string(),
            receipts: found.chain.receipts.len() as u64,
            trusted,
            available: found.records.len() as u64,
            sessions: done.sessions.iter().map(ToString::to_string).collect(),
            snapshots: done.snapshots.iter().map(ToString::to_string).collect(),
            there: done.there,
            untrusted: done.untrusted,
            given_up: done.given_up,
            forgotten: found.forgotten,
            dropped: done.dropped,
            owners: done.owners,
            dropped_paths: done
                .named
                .iter()
                .map(|(id, what)| LostDocument::new(id, what))
                .collect(),
            troubles: found.troubles.clone(),
            failed: done
                .failed
                .iter()
                .map(|(id, why)| HurtDocument::new(id, why))
                .collect(),
            available_sessions: sessions.len() as u64,
            available_bytes: found.index.bytes,
        }
    }
}

/// A path of a snapshot of which something was dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LostDocument {
    /// The snapshot.
    pub(crate) snapshot: String,
    #[serde(flatten)]
    pub(crate) what: DroppedDocument,
}

impl LostDocument {
    pub(crate) fn new(snapshot: &SnapshotId, what: &DroppedWhat) -> Self {
        Self {
            snapshot: snapshot.to_string(),
            what: DroppedDocument::new(what),
        }
    }
}
