//! `doctor`, `init`, `completions`, `man`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument};
use crate::config::Edit;
use crate::doctor::{Checkup, Finding, Group, Severity, Step};

/// `doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The heaviest finding.
    pub(crate) outcome: Severity,
    pub(crate) findings: Vec<FindingDocument>,
    pub(crate) versions: VersionsDocument,
    /// None when jackin's home is not known.
    pub(crate) store: Option<StoreDocument>,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FindingDocument {
    pub(crate) group: Group,
    pub(crate) severity: Severity,
    /// Stored data is damaged or comes from a newer version.
    pub(crate) integrity: bool,
    /// In words.
    pub(crate) what: String,
    #[serde(flatten)]
    pub(crate) path: Option<HostPathDocument>,
    /// Next step, as a command or in words.
    pub(crate) next: Option<String>,
    /// That is advice, not a line to be copied as a whole.
    #[serde(skip)]
    pub(crate) is_advice: bool,
}

impl DoctorDocument {
    /// Makes the report of a checkup; `next` makes a step what is typed.
    pub(crate) fn of(checkup: &Checkup, next: impl Fn(&Step) -> String) -> Self {
        let finding = |finding: &Finding| FindingDocument {
            group: finding.group,
            severity: finding.severity,
            integrity: finding.integrity,
            what: finding.what.clone(),
            path: finding.path.as_deref().map(HostPathDocument::new),
            next: finding.step.as_ref().map(&next),
            is_advice: matches!(finding.step, Some(Step::Words(_))),
        };
        let versions = &checkup.versions;
        Self {
            head: Head::default(),
            outcome: checkup.worst(),
            findings: checkup.findings.iter().map(finding).collect(),
            versions: VersionsDocument {
                program: versions.program,
                record: versions.record,
                archive: versions.archive,
                catalog: versions.catalog,
                sqlite: versions.sqlite,
                zstd: versions.zstd,
            },
            store: checkup.space.as_ref().map(|space| StoreDocument {
                path: HostPathDocument::new(&space.path),
                files: space.files,
                bytes: space.bytes,
                free: space.free,
            }),
        }
    }
}

/// The versions in use.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VersionsDocument {
    pub(crate) program: &'static str,
    /// Format of snapshot records.
    pub(crate) record: u32,
    /// Format of archives.
    pub(crate) archive: u32,
    /// Format of the catalog.
    pub(crate) catalog: i64,
    pub(crate) sqlite: &'static str,
    pub(crate) zstd: &'static str,
}

/// The store. Sizes in bytes; none where it is not there or is unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoreDocument {
    #[serde(flatten)]
    pub(crate) path: HostPathDocument,
    pub(crate) files: Option<u64>,
    pub(crate) bytes: Option<u64>,
    /// Room on its file system.
    pub(crate) free: Option<u64>,
}

/// Result of `init`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InitOutcome {
    /// `--dry-run`: this would be added.
    Planned,
    /// It was added.
    Written,
}

/// `init --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InitDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// Whose file it is.
    pub(crate) workspace: String,
    pub(crate) outcome: InitOutcome,
    /// The file.
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// The file does not exist yet: the addition is all of it.
    pub(crate) creates: bool,
    /// The line where the addition begins, from 1.
    pub(crate) line: usize,
    /// Text to add.
    pub(crate) added: String,
    /// The addition begins a line of its own.
    #[serde(skip)]
    begins_line: bool,
}

impl InitDocument {
    /// Makes the report of an edit.
    pub(crate) fn new(edit: &Edit, outcome: InitOutcome) -> Self {
        let (line, begins_line) = edit.line();
        Self {
            head: Head::default(),
            workspace: edit.name().to_owned(),
            outcome,
            file: HostPathDocument::new(edit.file()),
            creates: edit.creates(),
            line,
            added: edit.added().to_owned(),
            begins_line,
        }
    }

    /// Returns the added lines, the number of the first one, and whether they begin a line of their own.
    pub(crate) fn addition(&self) -> (&str, usize, bool) {
        (&self.added, self.line, self.begins_line)
    }
}

/// `completions --json` and `man --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileDocument<'a> {
    #[serde(flatten)]
    head: Head,
    /// The name under which a system keeps it, e.g. `jackin-recovery-restore.1`.
    name: &'a str,
    contents: &'a str,
}

impl<'a> FileDocument<'a> {
    pub(crate) fn new(name: &'a str, contents: &'a str) -> Self {
        Self {
            head: Head::default(),
            name,
            contents,
        }
    }
}

/// Result of `completions --install`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum InstallOutcome {
    /// `--dry-run`: these files would be written.
    Planned,
    /// They were written.
    Written,
    /// Nothing had to be written.
    Unchanged,
}

/// State of a file of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CompletionState {
    /// There was no such file.
    New,
    /// It replaces an earlier file of jackin's.
    Replaced,
    /// It has this content already.
    Unchanged,
    /// It is not from jackin, or cannot be read, and stays.
    Kept,
}

/// File of completions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompletionFileDocument {
    #[serde(flatten)]
    pub(crate) path: HostPathDocument,
    pub(crate) state: CompletionState,
    /// Reason that it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// `completions --install --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CompletionsInstallDocument {
    #[serde(flatten)]
    head: Head,
    /// The shell: `bash`, `zsh` or `fish`.
    shell: String,
    pub(crate) outcome: InstallOutcome,
    pub(crate) files: Vec<CompletionFileDocument>,
    /// Line that the shell's start-up file needs to read the directory; none if it reads it anyway.
    pub(crate) line: Option<String>,
}

impl CompletionsInstallDocument {
    /// Makes the report.
    pub(crate) fn new(
        shell: &str,
        outcome: InstallOutcome,
        files: Vec<CompletionFileDocument>,
        line: Option<&str>,
    ) -> Self {
        Self {
            head: Head::default(),
            shell: shell.to_owned(),
            outcome,
            files,
            line: line.map(str::to_owned),
        }
    }

    /// Returns the files that stay because they are not from jackin.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &CompletionFileDocument> {
        let files = self.files.iter();
        files.filter(|file| file.state == CompletionState::Kept)
    }
}
