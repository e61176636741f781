//! `doctor`, `init`, `completions`, `man`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument};
use crate::doctor::{Group, Severity};

/// `doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct DoctorDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// The heaviest finding.
    pub(in crate::cli) outcome: Severity,
    pub(in crate::cli) findings: Vec<FindingDocument>,
    pub(in crate::cli) versions: VersionsDocument,
    /// None when jackin's home is not known.
    pub(in crate::cli) store: Option<StoreDocument>,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct FindingDocument {
    pub(in crate::cli) group: Group,
    pub(in crate::cli) severity: Severity,
    /// Stored data is damaged or comes from a newer version.
    pub(in crate::cli) integrity: bool,
    /// In words.
    pub(in crate::cli) what: String,
    #[serde(flatten)]
    pub(in crate::cli) path: Option<HostPathDocument>,
    /// What to type or to do.
    pub(in crate::cli) next: Option<String>,
}

/// The versions in use.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct VersionsDocument {
    pub(in crate::cli) program: &'static str,
    /// Format of snapshot records.
    pub(in crate::cli) record: u32,
    /// Format of archives.
    pub(in crate::cli) archive: u32,
    /// Format of the catalog.
    pub(in crate::cli) catalog: i64,
    pub(in crate::cli) sqlite: &'static str,
    pub(in crate::cli) zstd: &'static str,
}

/// The store. Sizes in bytes; none where it is not there or cannot be told.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct StoreDocument {
    #[serde(flatten)]
    pub(in crate::cli) path: HostPathDocument,
    pub(in crate::cli) files: Option<u64>,
    pub(in crate::cli) bytes: Option<u64>,
    /// Room on its file system.
    pub(in crate::cli) free: Option<u64>,
}

/// How far `init` went.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum InitOutcome {
    /// `--dry-run`: this would be added.
    Planned,
    /// It was added.
    Written,
}

/// `init --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct InitDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    /// Whose file it is.
    pub(in crate::cli) workspace: String,
    pub(in crate::cli) outcome: InitOutcome,
    /// The file.
    #[serde(flatten)]
    pub(in crate::cli) file: HostPathDocument,
    /// The line where the addition begins, from 1.
    pub(in crate::cli) line: usize,
    /// What is added.
    pub(in crate::cli) added: String,
}

/// `completions --json` and `man --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct FileDocument<'a> {
    #[serde(flatten)]
    head: Head,
    /// The name under which a system keeps it, e.g. `jackin-recovery-restore.1`.
    name: &'a str,
    contents: &'a str,
}

impl<'a> FileDocument<'a> {
    pub(in crate::cli) fn new(name: &'a str, contents: &'a str) -> Self {
        Self {
            head: Head::default(),
            name,
            contents,
        }
    }
}
