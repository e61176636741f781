//! A process as others record it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A process, so that a later one with the same number is not taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRef {
    /// Process number.
    pub pid: u32,
    /// Start time in the kernel's own unit (Linux: field 22 of `/proc/PID/stat`, clock ticks since boot; macOS: seconds since 1970).
    pub start: u64,
    /// The boot it lived in.
    pub boot: String,
}
