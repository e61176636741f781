//! `export` and `import`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Head;

/// `export --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ExportDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// Id of the snapshot.
    pub(in crate::cli) snapshot: String,
    /// The file that was written.
    pub(in crate::cli) file: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) file_bytes: Option<String>,
    /// Its length in bytes.
    pub(in crate::cli) size: u64,
    /// BLAKE3 of its bytes.
    pub(in crate::cli) digest: String,
    /// Whether the snapshot holds everything that it covers.
    pub(in crate::cli) complete: bool,
    /// How many entries it has.
    pub(in crate::cli) entries: u64,
}
