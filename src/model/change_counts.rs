//! Counts of the paths that a step of a session changed, from one of its snapshots to the next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SnapshotId;

/// How many paths are different from one snapshot to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathCounts {
    /// New paths.
    pub added: u64,
    /// Paths whose content, type or metadata differ.
    pub changed: u64,
    /// Paths that are gone.
    pub deleted: u64,
    /// Renamed files, each counted here alone. In steps that were recorded before this field each counts as one added and one deleted path.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub renamed: u64,
    /// Paths that only one of both snapshots could read: whether they changed is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

impl PathCounts {
    /// Returns true if anything is counted.
    #[must_use]
    pub fn are_any(self) -> bool {
        self != Self::default()
    }

    /// Returns the number of paths that are known to have changed.
    #[must_use]
    pub fn known(self) -> u64 {
        self.added + self.changed + self.deleted + self.renamed
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl std::ops::AddAssign for PathCounts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.changed += other.changed;
        self.deleted += other.deleted;
        self.renamed += other.renamed;
        self.unknown += other.unknown;
    }
}

/// What changed up to a snapshot, and from which one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCounts {
    /// The snapshot before.
    pub since: SnapshotId,
    /// What changed since.
    #[serde(flatten)]
    pub counts: PathCounts,
}
