//! `explain`, `begin`, `end`, `checkpoint`, and the report of `launch`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeDocument, Head};
use crate::contract::Contract;
use crate::model::SnapshotRecord;
use crate::store::{InstanceRow, StoredContract};

/// `explain --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExplainDocument<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    contract: &'a Contract,
}

impl<'a> ExplainDocument<'a> {
    pub(crate) fn new(contract: &'a Contract) -> Self {
        Self {
            head: Head::default(),
            contract,
        }
    }
}

/// `show --contract --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionContractDocument {
    #[serde(flatten)]
    head: Head,
    /// The session's id.
    instance: String,
    /// True if the operator was shown it, in full or in short.
    shown: bool,
    /// Contract as `explain --json` printed it then.
    contract: serde_json::Value,
}

impl SessionContractDocument {
    pub(crate) fn new(row: &InstanceRow, stored: StoredContract) -> Self {
        Self {
            head: Head::default(),
            instance: row.id.to_string(),
            shown: stored.shown,
            contract: stored.contract,
        }
    }
}

/// `rename --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RenameDocument {
    #[serde(flatten)]
    head: Head,
    /// The session's id.
    instance: String,
    /// Its name now; none if it has none.
    name: Option<String>,
    /// Its description now; none if it has none.
    message: Option<String>,
}

impl RenameDocument {
    pub(crate) fn new(row: &InstanceRow) -> Self {
        Self {
            head: Head::default(),
            instance: row.id.to_string(),
            name: row.title.name.clone(),
            message: row.title.message.clone(),
        }
    }
}

/// `begin --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BeginDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The id of the session that has begun.
    pub(crate) instance: String,
    /// The baseline's id; none when no files are kept, or when it failed and `on_failure` is `run`.
    pub(crate) baseline: Option<String>,
    /// True if the baseline is complete.
    pub(crate) complete: Option<bool>,
}

/// `end --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EndDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// The closing snapshot's id; none when no files are kept.
    pub(crate) closing: Option<String>,
    /// True if the closing snapshot is complete.
    pub(crate) complete: Option<bool>,
    /// Differences between baseline and closing snapshot.
    pub(crate) changes: Vec<ChangeDocument>,
}

/// `checkpoint --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckpointDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// The checkpoint's id.
    pub(crate) snapshot: String,
    /// Its name, when one was given.
    pub(crate) name: Option<String>,
    /// It lacks nothing of what it covers.
    pub(crate) complete: bool,
    /// Files, directories and everything else below the mounts.
    pub(crate) entries: u64,
    /// Sum of the files' sizes.
    pub(crate) bytes: u64,
}

impl CheckpointDocument {
    /// Returns the document of a checkpoint that was taken.
    pub(crate) fn of(record: &SnapshotRecord) -> Self {
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

/// Document that `launch --report FILE` writes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReportDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// `jackin recovery`, always the second field: by it `--report` recognizes a report that may be replaced.
    pub(crate) written_by: &'static str,
    /// The session's id; absent if none was recorded: the mode is `off`, or the session could not begin and `on_failure` is `run`.
    pub(crate) instance: Option<String>,
    /// Exit status of the command; absent if a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// The signal that ended the command.
    pub(crate) signal: Option<i32>,
    /// The baseline's id.
    pub(crate) baseline: Option<String>,
    /// The closing snapshot's id.
    pub(crate) closing: Option<String>,
    /// Both were taken and lack nothing.
    pub(crate) complete: bool,
    /// Numbers of the session's processes that still lived.
    pub(crate) survivors: Vec<u32>,
    /// Differences between baseline and closing snapshot.
    pub(crate) changes: Vec<ChangeDocument>,
    /// The command that takes all of it back; absent if there is no baseline to restore.
    pub(crate) undo: Option<String>,
}

impl ReportDocument {
    /// Its author, for [`ReportDocument::written_by`].
    pub(crate) const AUTHOR: &'static str = "jackin recovery";

    /// Returns true if a file that starts with these bytes is such a report.
    pub(crate) fn is_begun_by(first: &[u8]) -> bool {
        let second = format!("\"written_by\": \"{}\",", Self::AUTHOR);
        let Some(rest) = first.strip_prefix(b"{\n  \"schema\": ") else {
            return false;
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = rest.get(digits..).and_then(|rest| rest.strip_prefix(b",\n  "));
        digits > 0 && rest.is_some_and(|rest| rest.starts_with(second.as_bytes()))
    }
}
