//! Reference to a fork: a short text that scripts keep, and that `fork` and `show` accept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ByteString, ForkId, SnapshotId};

/// A fork as one line of JSON. It is only a name: what it says is compared with the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkReference {
    /// Who made it: [`ForkReference::PROVIDER`].
    pub provider: String,
    /// The fork.
    pub id: ForkId,
    /// The snapshot that it holds.
    pub snapshot: SnapshotId,
    /// Where the files of each mount lie.
    pub mounts: Vec<ForkMount>,
}

/// One mount of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkMount {
    /// Its label in the snapshot.
    pub label: String,
    /// The directory with its files: a host path.
    pub path: ByteString,
}

impl ForkReference {
    /// This program.
    pub const PROVIDER: &str = "jackin-recovery";

    /// Creates a reference to a fork of this program.
    #[must_use]
    pub fn new(id: ForkId, snapshot: SnapshotId, mounts: Vec<ForkMount>) -> Self {
        Self {
            provider: Self::PROVIDER.to_owned(),
            id,
            snapshot,
            mounts,
        }
    }
}
