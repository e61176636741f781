//! `doctor`: inspects configuration, store, sessions, mounts and program, judges them, and names the next step. It changes
//! nothing, and no damage stops it: a damaged object is a finding.

mod agents;
mod clusters;
mod configuration;
mod containers;
mod left_mounts;
mod permissions;
mod program;
mod replica;
mod sessions;
mod stored;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::config;
use crate::environment::Environment;
use crate::store::{Layout, Survey};

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is well.
    Ok,
    /// Worth knowing; nothing is wrong.
    Note,
    /// It works, and should not stay like this.
    Warning,
    /// Something does not work, or is damaged.
    Error,
}

impl Severity {
    /// Returns the word that people and scripts read.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a finding is about, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// jackin's configuration files.
    Configuration,
    /// jackin's home and the store's files and directories.
    Store,
    /// Records and archives.
    Snapshots,
    /// The chain of receipts.
    Receipts,
    /// The catalog.
    Catalog,
    /// Locks and drafts.
    Work,
    /// The copy in an object store.
    Copy,
    /// Instances.
    Sessions,
    /// Mount roots, and what a restore left at them.
    Mounts,
    /// Hooks of coding agents.
    Agents,
    /// Versions, and what runs when the program's name is typed.
    Program,
}

/// Next step for a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Arguments of a jackin command.
    Verb(String),
    /// Line for the shell.
    Shell(String),
    /// Advice that no single command can carry out.
    Words(String),
}

/// One result of an inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Group that it belongs to.
    pub group: Group,
    /// Severity of the finding.
    pub severity: Severity,
    /// Description. May hold text from outside, which is cleaned before it is shown.
    pub what: String,
    /// File or directory that it concerns, if any.
    pub path: Option<PathBuf>,
    /// Next step; always present for a warning or an error.
    pub step: Option<Step>,
    /// True for an error about stored data that is damaged, or comes from a newer version.
    pub integrity: bool,
}

impl Finding {
    fn new(group: Group, severity: Severity, what: impl Into<String>) -> Self {
        Self {
            group,
            severity,
            what: what.into(),
            path: None,
            step: None,
            integrity: false,
        }
    }

    fn at(self, path: &Path) -> Self {
        Self {
            path: Some(path.to_path_buf()),
            ..self
        }
    }

    fn verb(self, words: impl Into<String>) -> Self {
        Self {
            step: Some(Step::Verb(words.into())),
            ..self
        }
    }

    fn shell(self, line: impl Into<String>) -> Self {
        Self {
            step: Some(Step::Shell(line.into())),
            ..self
        }
    }

    fn words(self, words: impl Into<String>) -> Self {
        Self {
            step: Some(Step::Words(words.into())),
            ..self
        }
    }

    fn damage(self) -> Self {
        Self {
            integrity: true,
            ..self
        }
    }
}

/// Versions in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Version of this program.
    pub program: &'static str,
    /// Format of snapshot records.
    pub record: u32,
    /// Format of archives.
    pub archive: u32,
    /// Version of the catalog's tables.
    pub catalog: i64,
    /// Version of the SQLite library.
    pub sqlite: &'static str,
    /// Version of the zstd library.
    pub zstd: &'static str,
}

/// Sizes of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Directory of the store, which may not exist yet.
    pub path: PathBuf,
    /// Number of files in it; `None` if it does not exist.
    pub files: Option<u64>,
    /// Bytes that it takes up on the disk; `None` if it does not exist.
    pub bytes: Option<u64>,
    /// Free bytes on its file system; `None` if unknown.
    pub free: Option<u64>,
}

/// All findings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    /// Findings in the order of [`Group`], the most severe of each first.
    pub findings: Vec<Finding>,
    /// Versions in use.
    pub versions: Versions,
    /// Sizes of the store; `None` if its directory is unknown.
    pub space: Option<Space>,
}

impl Checkup {
    /// Returns the highest severity of all findings.
    #[must_use]
    pub fn worst(&self) -> Severity {
        self.findings
            .iter()
            .map(|finding| finding.severity)
            .max()
            .unwrap_or(Severity::Ok)
    }

    /// Returns true if an error is about stored data that is damaged or of a newer version.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error && finding.integrity)
    }
}

/// Inspects everything. `program` is the running file, if known.
#[must_use]
pub fn look(environment: &Environment, program: Option<&Path>) -> Checkup {
    let mut findings = Vec::new();
    let config = config::survey(environment);
    configuration::judge(&config, &mut findings);
    let root = environment.store_directory();
    let root = root.map(|root| Layout::of(root, environment));
    let survey = root.as_ref().and_then(Survey::of);
    let space = permissions::judge(environment, survey.as_ref(), &mut findings);
    // Parts that could not be read get no finding here; the reason is reported above.
    let closed = survey.as_ref().is_some_and(Survey::is_closed);
    if let Some(survey) = survey.as_ref().filter(|_| !closed) {
        stored::judge(survey, &mut findings);
    }
    let seen = root.as_ref().filter(|_| !closed);
    sessions::judge(environment, seen, &config, &mut findings);
    containers::judge(environment, &mut findings);
    clusters::judge(
        environment,
        &config,
        survey.as_ref().filter(|_| !closed),
        &mut findings,
    );
    replica::judge(environment, seen, &mut findings);
    agents::judge(environment, &mut findings);
    program::judge(environment, program, &mut findings);
    findings.sort_by_key(|finding| (finding.group, std::cmp::Reverse(finding.severity)));
    Checkup {
        findings,
        versions: program::versions(),
        space,
    }
}

/// Formats a number with its noun: `1 file`, `5 files`, `no files`.
fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

/// Formats a size in bytes for people.
fn size(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests;
