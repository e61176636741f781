//! Limits of a machine that is reached through its shell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Beginning of the error for a machine without the required tools.
pub const MISSING: &str = "these tools are missing";

/// A limit of a machine without this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limitation {
    /// Extended attributes, ACLs and the flags of `chattr` are neither recorded nor restored.
    Attributes,
    /// Files with holes come back without them.
    Holes,
    /// A replaced path is missing for a moment, as two names cannot be exchanged in one step.
    Exchange,
    /// Times of files are recorded and restored in whole seconds.
    FineTimes,
    /// A restore takes no lock there.
    Locks,
    /// Second mounts of a directory are not detected.
    Mounts,
}
