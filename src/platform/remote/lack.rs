//! What a machine that is reached through its shell cannot do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a machine says that has not the tools.
pub const MISSING: &str = "these tools are missing";

/// What is lost on a machine without this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// Extended attributes, ACLs and the flags of `chattr` are neither recorded nor put back.
    Attributes,
    /// Files with holes come back without them.
    Holes,
    /// What is replaced is missing for a moment, for two names cannot be exchanged in one step.
    Exchange,
    /// Times of files are recorded and put back in whole seconds.
    FineTimes,
    /// A restore takes no lock there.
    Locks,
    /// Where a directory is mounted a second time cannot be told.
    Mounts,
}
