//! `verify`, `log`, `rebuild`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, lossy};
use crate::snapshot::Receipt;
use crate::store::{Anchor, Finding};

/// Whether the store is whole.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum VerifyOutcome {
    /// Nothing was found.
    Whole,
    /// At least one thing is hurt.
    Damaged,
}

/// `verify --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct VerifyDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) outcome: VerifyOutcome,
    /// Every stored byte was read and checked.
    pub(in crate::cli) read_data: bool,
    /// How many snapshots were checked.
    pub(in crate::cli) snapshots: u64,
    /// How many archives were checked.
    pub(in crate::cli) archives: u64,
    /// How many receipts were checked.
    pub(in crate::cli) receipts: u64,
    /// How much content was read.
    pub(in crate::cli) bytes: u64,
    /// What is hurt.
    pub(in crate::cli) findings: Vec<DamageDocument>,
}

/// One thing that is hurt, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct DamageDocument {
    snapshot: Option<String>,
    archive: Option<String>,
    /// Label of the mount.
    mount: Option<String>,
    /// Below the mount.
    path: Option<String>,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What is wrong with it, in words.
    what: String,
}

impl From<&Finding> for DamageDocument {
    fn from(finding: &Finding) -> Self {
        let (path, path_bytes) = match &finding.path {
            Some((_, path)) => {
                let (text, bytes) = lossy(path);
                (Some(text), bytes)
            }
            None => (None, None),
        };
        Self {
            snapshot: finding.snapshot.as_ref().map(ToString::to_string),
            archive: finding.archive.as_ref().map(ToString::to_string),
            mount: finding.path.as_ref().map(|(mount, _)| mount.clone()),
            path,
            path_bytes,
            what: finding.what.clone(),
        }
    }
}

/// `log --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct LogDocument<'a> {
    #[serde(flatten)]
    head: Head,
    /// Every link of the chain holds. A broken chain is an error, so this is never false.
    verified: bool,
    /// The last link, as `--anchor` prints it.
    anchor: String,
    /// Newest first.
    receipts: Vec<&'a Receipt>,
}

/// `log --anchor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct AnchorDocument {
    #[serde(flatten)]
    head: Head,
    /// The last link: its number, a colon, and its hash.
    anchor: String,
}

impl AnchorDocument {
    pub(in crate::cli) fn new(anchor: Anchor) -> Self {
        Self {
            head: Head::default(),
            anchor: anchor.to_string(),
        }
    }
}

impl<'a> LogDocument<'a> {
    /// Of receipts whose links were checked.
    pub(in crate::cli) fn new(receipts: Vec<&'a Receipt>, anchor: Anchor) -> Self {
        Self {
            head: Head::default(),
            verified: true,
            anchor: anchor.to_string(),
            receipts,
        }
    }
}

/// `rebuild --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct RebuildDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// How many sessions the catalog knows now.
    pub(in crate::cli) instances: u64,
    /// Records that could not be read, and why.
    pub(in crate::cli) unreadable: Vec<String>,
}
