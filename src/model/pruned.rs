//! Record of a pruned snapshot in a receipt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InstanceId, SnapshotId, SnapshotKind};

/// Reason that a snapshot was pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PruneReason {
    /// There are more sessions of its workspace than are kept.
    Instances,
    /// Its session is older than sessions are kept.
    Days,
    /// There are more checkpoints, or emergency snapshots, of its workspace than are kept.
    Checkpoints,
    /// It is older than checkpoints are kept.
    CheckpointDays,
    /// The store is larger than it may be.
    MaxBytes,
    /// There is less room on the store's file system than must be left.
    MinFree,
    /// The operator asked for it with `forget`.
    Forgotten,
}

/// A snapshot that was pruned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrunedSnapshot {
    /// Its id.
    pub id: SnapshotId,
    /// The session that it belonged to.
    pub instance: InstanceId,
    /// Its kind.
    pub kind: SnapshotKind,
    /// Its name, when it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Why.
    pub reason: PruneReason,
}

impl PrunedSnapshot {
    /// Returns a description of the snapshot: kind, id and name.
    #[must_use]
    pub fn called(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map(|name| format!(" {name:?}"))
            .unwrap_or_default();
        format!("the {} snapshot {}{name}", self.kind.word(), self.id)
    }
}
