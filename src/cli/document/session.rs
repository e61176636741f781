//! `explain`, `begin`, `end`, `checkpoint`, and the report of `launch`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeDocument, Head};
use crate::contract::Contract;
use crate::model::SnapshotRecord;

/// `explain --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ExplainDocument<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    contract: &'a Contract,
}

impl<'a> ExplainDocument<'a> {
    pub(in crate::cli) fn new(contract: &'a Contract) -> Self {
        Self {
            head: Head::default(),
            contract,
        }
    }
}

/// `begin --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct BeginDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The id of the session that has begun.
    pub(in crate::cli) instance: String,
    /// The baseline's id; none when no files are kept, or when it failed and `on_failure` is `run`.
    pub(in crate::cli) baseline: Option<String>,
    /// Whether the baseline lacks nothing.
    pub(in crate::cli) complete: Option<bool>,
}

/// `end --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct EndDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// The closing snapshot's id; none when no files are kept.
    pub(in crate::cli) closing: Option<String>,
    /// Whether the closing snapshot lacks nothing.
    pub(in crate::cli) complete: Option<bool>,
    /// What differs between baseline and closing snapshot.
    pub(in crate::cli) changes: Vec<ChangeDocument>,
}

/// `checkpoint --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct CheckpointDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// The checkpoint's id.
    pub(in crate::cli) snapshot: String,
    /// Its name, when one was given.
    pub(in crate::cli) name: Option<String>,
    /// It lacks nothing of what it covers.
    pub(in crate::cli) complete: bool,
    /// Files, directories and everything else below the mounts.
    pub(in crate::cli) entries: u64,
    /// Sum of the files' sizes.
    pub(in crate::cli) bytes: u64,
}

impl CheckpointDocument {
    /// Returns the document of a checkpoint that was taken.
    pub(in crate::cli) fn of(record: &SnapshotRecord) -> Self {
        Self {
            head: Head::default(),
            instance: record.instance.to_string(),
            snapshot: record.id.to_string(),
            name: record.name.clone(),
            complete: record.complete,
            entries: record.entries(),
            bytes: record.bytes(),
        }
    }
}

/// What `launch --report FILE` writes.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct ReportDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// `jackin recovery`, always the second field: by it `--report` recognizes a report that may be replaced.
    pub(in crate::cli) written_by: &'static str,
    /// The session's id.
    pub(in crate::cli) instance: String,
    /// What the command returned; none when a signal ended it.
    pub(in crate::cli) exit_code: Option<i32>,
    /// The signal that ended the command.
    pub(in crate::cli) signal: Option<i32>,
    /// The baseline's id.
    pub(in crate::cli) baseline: Option<String>,
    /// The closing snapshot's id.
    pub(in crate::cli) closing: Option<String>,
    /// Both were taken and lack nothing.
    pub(in crate::cli) complete: bool,
    /// Numbers of the session's processes that still lived.
    pub(in crate::cli) survivors: Vec<u32>,
    /// What differs between baseline and closing snapshot.
    pub(in crate::cli) changes: Vec<ChangeDocument>,
    /// The command that takes all of it back.
    pub(in crate::cli) undo: String,
}

impl ReportDocument {
    /// Its author, for [`ReportDocument::written_by`].
    pub(in crate::cli) const AUTHOR: &'static str = "jackin recovery";

    /// Returns true if a file that starts with these bytes is such a report.
    pub(in crate::cli) fn is_begun_by(first: &[u8]) -> bool {
        let second = format!("\"written_by\": \"{}\",", Self::AUTHOR);
        let Some(rest) = first.strip_prefix(b"{\n  \"schema\": ") else {
            return false;
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = rest.get(digits..).and_then(|rest| rest.strip_prefix(b",\n  "));
        digits > 0 && rest.is_some_and(|rest| rest.starts_with(second.as_bytes()))
    }
}
