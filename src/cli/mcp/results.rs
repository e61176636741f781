//! Results of the tools as JSON, short enough for a model to read.

use serde::Serialize;

use crate::model::{CallRef, PathCounts, Time};
use crate::report::{
    ChangeDocument, DiffDocument, Head, ReasonDocument, RestoreDocument, RestoreOutcome, SnapshotDocument,
};

/// Maximum number of paths or snapshots in a result; the total stands beside them.
pub(super) const MOST: usize = 200;

/// `snapshot_list`.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    #[serde(flatten)]
    pub(super) head: Head,
    /// The session's id; none before its first snapshot.
    pub(super) instance: Option<String>,
    /// How many there are.
    pub(super) total: u64,
    /// The newest 200 of them, newest first.
    pub(super) snapshots: Vec<Snapshot>,
}

/// A snapshot that was taken in the session.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) created: Time,
    /// It lacks nothing of what it covers.
    pub(super) complete: bool,
    /// What changed since the snapshot before it, when that is known.
    pub(super) changed: Option<PathCounts>,
    /// The tool call that it was taken before, by itself.
    pub(super) call: Option<CallRef>,
}

impl Snapshot {
    pub(super) fn new(row: SnapshotDocument, changed: Option<PathCounts>, call: Option<CallRef>) -> Self {
        Self {
            id: row.id,
            name: row.name,
            description: row.message,
            created: row.taken_at,
            complete: row.complete,
            changed,
            call,
        }
    }
}

/// `snapshot_diff`.
#[derive(Debug, Serialize)]
pub(super) struct Differing {
    #[serde(flatten)]
    head: Head,
    /// The session's id.
    instance: String,
    /// Id of the earlier snapshot.
    from: String,
    /// Id of the later snapshot, or `now`.
    to: String,
    /// How many paths changed.
    files_changed: u64,
    /// The first 200 of them.
    changes: Vec<ChangeDocument>,
    /// The first 200 that could not be compared.
    not_covered: Vec<ReasonDocument>,
}

impl From<DiffDocument<'_>> for Differing {
    fn from(made: DiffDocument<'_>) -> Self {
        Self {
            head: made.head,
            instance: made.instance,
            from: made.from,
            to: made.to,
            files_changed: made.changes.len() as u64,
            changes: first(made.changes),
            not_covered: first(made.not_covered),
        }
    }
}

/// `snapshot_restore`.
#[derive(Debug, Serialize)]
pub(super) struct Restored {
    #[serde(flatten)]
    head: Head,
    /// The session's id.
    instance: String,
    pub(super) outcome: RestoreOutcome,
    /// Id of the snapshot.
    pub(super) restored_to: String,
    /// How many paths were changed, or would be.
    pub(super) files_changed: u64,
    /// The first 200 of them.
    pub(super) changes: Vec<ChangeDocument>,
    /// How many stay, because others changed them.
    pub(super) conflicts_total: u64,
    /// The first 200 of them.
    pub(super) conflicts: Vec<ChangeDocument>,
    /// How many could not be changed.
    pub(super) failed_total: u64,
    /// The first 200 of them.
    pub(super) failed: Vec<ReasonDocument>,
    /// Id of the snapshot of what was there before.
    emergency: Option<String>,
}

impl From<RestoreDocument<'_>> for Restored {
    fn from(made: RestoreDocument<'_>) -> Self {
        Self {
            head: made.head,
            instance: made.instance,
            outcome: made.outcome,
            restored_to: made.target,
            files_changed: made.applied.len() as u64,
            changes: first(made.applied),
            conflicts_total: made.conflicts.len() as u64,
            conflicts: first(made.conflicts),
            failed_total: made.failed.len() as u64,
            failed: first(made.failed),
            emergency: made.emergency,
        }
    }
}

impl Restored {
    /// Returns the number of paths that differ from the snapshot.
    pub(super) fn stayed(&self) -> u64 {
        self.conflicts_total + self.failed_total
    }
}

/// `session_checkpoint`.
#[derive(Debug, Serialize)]
pub(super) struct Checkpointed {
    pub(super) checkpoint_id: String,
}

/// `session_checkpoints`. A structured result is an object in the protocol, never a list.
#[derive(Debug, Serialize)]
pub(super) struct LabeledList {
    /// The newest 200 of them, newest first.
    pub(super) checkpoints: Vec<Labeled>,
}

/// One of `session_checkpoints`.
#[derive(Debug, Serialize)]
pub(super) struct Labeled {
    id: String,
    /// What it was taken for, else its name.
    label: Option<String>,
    created: Time,
}

impl From<Snapshot> for Labeled {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            id: snapshot.id,
            label: snapshot.description.or(snapshot.name),
            created: snapshot.created,
        }
    }
}

/// `session_restore`.
#[derive(Debug, Serialize)]
pub(super) struct WentBack {
    /// Id of the checkpoint.
    pub(super) restored_to: String,
    pub(super) files_changed: u64,
    /// How many paths are not as they were then; missing when all are.
    #[serde(skip_serializing_if = "is_none")]
    pub(super) not_restored: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

fn first<T>(mut all: Vec<T>) -> Vec<T> {
    all.truncate(MOST);
    all
}
