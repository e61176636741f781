//! Kinds of snapshots, by the moment that one shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moment of a session that a snapshot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SnapshotKind")]
pub enum SnapshotKind {
    /// Before the session.
    Baseline,
    /// Asked for within the session.
    Checkpoint,
    /// After the session.
    Closing,
    /// Just before a restore.
    Emergency,
}

impl SnapshotKind {
    /// The word used on the command line and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Checkpoint => "checkpoint",
            Self::Closing => "closing",
            Self::Emergency => "emergency",
        }
    }
}
