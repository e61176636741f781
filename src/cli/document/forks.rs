//! `fork`, and the forks in `list` and `show`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument, ReasonDocument};
use crate::model::{ForkReference, Time};
use crate::store::ForkRow;

/// `fork --json`. Whole or in its own four fields (`provider`, `id`, `snapshot`, `mounts`) it is taken back by `fork` and `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ForkDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    #[serde(flatten)]
    pub(in crate::cli) reference: ForkReference,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// What the fork is called.
    pub(in crate::cli) branch: Option<String>,
    pub(in crate::cli) outcome: ForkOutcome,
    /// Where it was written.
    pub(in crate::cli) directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) directory_bytes: Option<String>,
    /// Whether the snapshot holds everything that it covers.
    pub(in crate::cli) complete: bool,
    /// How many paths were written.
    pub(in crate::cli) paths: u64,
    /// How many of them this user may not read, so that they were compared while they were written, and not read back.
    pub(in crate::cli) unread: u64,
    /// What could not be written, or is not exactly as the snapshot has it.
    pub(in crate::cli) failed: Vec<ReasonDocument>,
}

/// How a fork ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum ForkOutcome {
    /// Everything is as the snapshot has it.
    Forked,
    /// Something is not; each path is named.
    Partial,
}

/// A fork that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ForkedDocument {
    /// Its id.
    id: String,
    /// What it is called.
    branch: Option<String>,
    /// The session that its snapshot belongs to.
    instance: String,
    /// The snapshot.
    snapshot: String,
    /// When it was made.
    at: Time,
    /// Where.
    directory: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory_bytes: Option<String>,
    /// Whether there is a directory now.
    is_there: bool,
    /// How many paths were written.
    paths: u64,
    /// How many could not be written, or not exactly.
    failed: u64,
}

impl ForkedDocument {
    pub(in crate::cli) fn new(row: &ForkRow) -> Self {
        let place = HostPathDocument::new(&row.directory);
        Self {
            id: row.id.to_string(),
            branch: row.branch.clone(),
            instance: row.instance.to_string(),
            snapshot: row.snapshot.to_string(),
            at: row.at,
            directory: place.path,
            directory_bytes: place.path_bytes,
            is_there: is_there(row),
            paths: row.paths,
            failed: row.failed,
        }
    }
}

/// Whether there is a directory where a fork was written.
pub(in crate::cli) fn is_there(row: &ForkRow) -> bool {
    std::fs::symlink_metadata(&row.directory).is_ok_and(|found| found.is_dir())
}
