//! `doctor`: looks at configuration, store, sessions, mounts and program, judges what it sees, and names the next step. It
//! changes nothing, and nothing that it meets stops it: a damaged thing is a finding.

mod clusters;
mod configuration;
mod permissions;
mod program;
mod replica;
mod sessions;
mod shell;
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
    /// The word that people and scripts read.
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
    /// Versions, and what runs when the program's name is typed.
    Program,
}

/// What to do about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A verb of this program with its arguments.
    Verb(String),
    /// A line for the shell.
    Shell(String),
    /// Something that no single line does.
    Words(String),
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub group: Group,
    /// How much it weighs.
    pub severity: Severity,
    /// What was found. May hold text from outside, which is cleaned when it is shown.
    pub what: String,
    /// The file or directory that it is about, when it is about one.
    pub path: Option<PathBuf>,
    /// What to do; always there for a warning or an error.
    pub step: Option<Step>,
    /// For an error: stored data is damaged, or comes from a newer version.
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

/// The versions that are in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// This program.
    pub program: &'static str,
    /// The form of snapshot records.
    pub record: u32,
    /// The form of archives.
    pub archive: u32,
    /// The catalog's tables.
    pub catalog: i64,
    /// The SQLite library.
    pub sqlite: &'static str,
    /// The zstd library.
    pub zstd: &'static str,
}

/// Sizes of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// Where it lies or will lie.
    pub path: PathBuf,
    /// Files in it; `None` when it is not there.
    pub files: Option<u64>,
    /// Bytes that it takes up on the disk; `None` when it is not there.
    pub bytes: Option<u64>,
    /// Bytes that are free where it lies; `None` when that cannot be told.
    pub free: Option<u64>,
}

/// Everything that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    /// In the order of [`Group`]; within one the heaviest first.
    pub findings: Vec<Finding>,
    /// What is in use.
    pub versions: Versions,
    /// The store; `None` when nobody knows where it would lie.
    pub space: Option<Space>,
}

impl Checkup {
    /// The heaviest finding.
    #[must_use]
    pub fn worst(&self) -> Severity {
        self.findings
            .iter()
            .map(|finding| finding.severity)
            .max()
            .unwrap_or(Severity::Ok)
    }

    /// Whether some error is damage of stored data, or data of a newer version.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error && finding.integrity)
    }
}

/// Looks at everything. `program` is the file that runs, when that is known.
#[must_use]
pub fn look(environment: &Environment, program: Option<&Path>) -> Checkup {
    let mut findings = Vec::new();
    let config = config::survey(environment);
    configuration::judge(&config, &mut findings);
    let root = environment.store_directory();
    let root = root.map(|root| Layout::new(root).kept_by(environment.operator));
    let survey = root.as_ref().and_then(Survey::of);
    let space = permissions::judge(environment, survey.as_ref(), &mut findings);
    // Nothing is said about what could not be seen; why it could not is said above.
    let closed = survey.as_ref().is_some_and(Survey::is_closed);
    if let Some(survey) = survey.as_ref().filter(|_| !closed) {
        stored::judge(survey, &mut findings);
    }
    let seen = root.as_ref().filter(|_| !closed);
    sessions::judge(seen, &config, &mut findings);
    clusters::judge(
        environment,
        &config,
        survey.as_ref().filter(|_| !closed),
        &mut findings,
    );
    replica::judge(environment, seen, &mut findings);
    program::judge(environment, program, &mut findings);
    findings.sort_by_key(|finding| (finding.group, std::cmp::Reverse(finding.severity)));
    Checkup {
        findings,
        versions: program::versions(),
        space,
    }
}

/// `1 file`, `5 files`, `no files`.
fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
    }
}

/// A size in bytes as people say it.
fn size(bytes: u64) -> String {
    bytesize::ByteSize::b(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests;
