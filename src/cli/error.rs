//! The one error of the command line: what went wrong, why, what to do about it, and which exit code it is.

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;

use super::called_as::CalledAs;
use super::document::Head;
use super::exit_code::ExitCode;
use crate::features::{Feature, NotBuilt};
use crate::terminal::style::{self, Role};
use crate::terminal::{Terminal, sanitize};

/// What kind of failure. The words in JSON are the names in kebab case; they are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// Something failed that has no kind of its own.
    Failed,
    /// A file, a directory or a stream could not be read or written.
    Io,
    /// The operator stopped it.
    Interrupted,
    /// A snapshot that had to be taken could not be taken.
    SnapshotFailed,
    /// A limit of the configuration would be exceeded.
    LimitExceeded,
    /// The command line is wrong.
    Usage,
    /// The configuration is wrong.
    Config,
    /// The target is too broad (`/`, `$HOME`, a mount that holds the store) and `--allow-broad` was not given.
    TooBroad,
    /// The instance is active.
    RefusedActive,
    /// Another active instance lies on the same paths.
    RefusedOverlap,
    /// A process works on a repository that would change.
    RefusedLocked,
    /// The caller runs inside a session, which may not do this.
    RefusedInside,
    /// Nobody said yes.
    NotConfirmed,
    /// There is no such instance.
    UnknownInstance,
    /// There is no such snapshot or receipt.
    UnknownSnapshot,
    /// The instance has no snapshot to go back to.
    NothingToRestore,
    /// Some of it was done, some was not.
    Partial,
    /// Stored data is damaged.
    Integrity,
    /// Stored data was written by a newer version.
    NewerStore,
    /// The object store that snapshots are copied to cannot be reached, or refuses.
    ObjectStore,
    /// An interrupted restore waits.
    Pending,
    /// The command to launch cannot be executed.
    CannotExecute,
    /// The command to launch was not found.
    CommandNotFound,
}

impl ErrorKind {
    /// The exit code of every verb but `launch`.
    #[must_use]
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Failed
            | Self::Io
            | Self::Interrupted
            | Self::SnapshotFailed
            | Self::LimitExceeded
            | Self::ObjectStore => ExitCode::Failed,
            Self::Usage | Self::Config | Self::TooBroad => ExitCode::Usage,
            Self::RefusedActive | Self::RefusedOverlap | Self::RefusedLocked | Self::RefusedInside => {
                ExitCode::Active
            }
            Self::NotConfirmed => ExitCode::NotConfirmed,
            Self::UnknownInstance | Self::UnknownSnapshot | Self::NothingToRestore => {
                ExitCode::NothingToRestore
            }
            Self::Partial => ExitCode::Partial,
            Self::Integrity | Self::NewerStore => ExitCode::Integrity,
            Self::Pending => ExitCode::Pending,
            Self::CannotExecute => ExitCode::CannotExecute,
            Self::CommandNotFound => ExitCode::CommandNotFound,
        }
    }

    /// The exit code of `launch` before its command ran. What the operator wrote wrongly stays 2; every other failure
    /// of ours is 125, so that it cannot be taken for the command's own status.
    #[must_use]
    pub fn launch_code(self) -> ExitCode {
        match self.exit_code() {
            code @ (ExitCode::Usage | ExitCode::CannotExecute | ExitCode::CommandNotFound) => code,
            _ => ExitCode::LaunchFailed,
        }
    }
}

/// Error of the command line. Its texts may hold anything and are sanitized when printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// Kind of the failure.
    pub kind: ErrorKind,
    /// Names the object and says what happened to it; lower case, no full stop.
    pub message: String,
    /// Causes, from the nearest to the deepest.
    pub causes: Vec<String>,
    /// Hints for the operator. A line that begins with a space (a command to copy) is never wrapped.
    pub hints: Vec<String>,
    /// Commands to type. [`CliError::as_called`] makes hints of them.
    pub next: Vec<Next>,
}

/// Command of this program that helps. The name that the program was called by is added later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Purpose of the command; no full stop.
    pub purpose: String,
    /// Verb and arguments, quoted for a shell.
    pub words: String,
}

impl CliError {
    /// An error without a cause.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            next: Vec::new(),
        }
    }

    /// The error of a stage, with every error that lies behind it.
    #[must_use]
    pub fn from_error(kind: ErrorKind, error: &(dyn Error + 'static)) -> Self {
        let mut made = Self::new(kind, error.to_string());
        made.add_causes(error.source());
        made
    }

    /// Refuses what needs an optional part that this build lacks.
    ///
    /// # Errors
    /// [`NotBuilt`], with what to install.
    pub fn require(feature: Feature) -> Result<(), Self> {
        match feature.is_built() {
            true => Ok(()),
            false => Err(Self::not_built(feature)),
        }
    }

    /// The refusal of a command that needs an optional part that this build lacks.
    #[must_use]
    pub fn not_built(feature: Feature) -> Self {
        let name = feature.name();
        Self::from_error(ErrorKind::Usage, &NotBuilt(feature)).hint(format!(
            "install a released binary, which has all features, or build with `--features {name}`"
        ))
    }

    /// Adds `cause`, and every error behind it.
    #[must_use]
    pub fn because(mut self, cause: &(dyn Error + 'static)) -> Self {
        self.add_causes(Some(cause));
        self
    }

    /// Adds something that can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a command of this program that can be typed: the verb and what follows it, quoted for a shell.
    #[must_use]
    pub fn command(mut self, purpose: impl Into<String>, words: impl Into<String>) -> Self {
        let (purpose, words) = (purpose.into(), words.into());
        self.next.push(Next { purpose, words });
        self
    }

    /// The commands among the hints, as the operator types them; each on a line of its own, ready to copy.
    #[must_use]
    pub fn as_called(mut self, called_as: CalledAs) -> Self {
        let prefix = called_as.prefix();
        let typed = self.next.drain(..);
        self.hints
            .extend(typed.map(|Next { purpose, words }| format!("{purpose}:\n  {prefix} {words}")));
        self
    }

    /// Tells it on stderr: as one JSON document when `json`, else in words.
    pub fn print(&self, terminal: &Terminal, json: bool) {
        if json {
            terminal.record_error(&self.render(usize::MAX));
            terminal.err_json(&self.document());
        } else {
            terminal.error(&self.render(terminal.width_err()));
        }
    }

    /// In words, for a terminal of `columns`.
    #[must_use]
    pub fn render(&self, columns: usize) -> String {
        let part = |role, label, text: &str| style::labelled(role, label, &sanitize::text(text), columns);
        let mut lines = vec![part(Role::Error, "error", &self.message)];
        lines.extend(self.causes.iter().map(|cause| part(Role::Dim, "because", cause)));
        lines.extend(self.hints.iter().map(|hint| part(Role::Heading, "hint", hint)));
        lines.join("\n")
    }

    /// Returns the error as JSON: `{"schema":1,"error":{"kind","message","hints":[…]}}`, with `causes` if there are any.
    #[must_use]
    pub fn document(&self) -> impl Serialize + use<'_> {
        let error = Described {
            kind: self.kind,
            message: &self.message,
            causes: &self.causes,
            hints: &self.hints,
        };
        ErrorDocument {
            head: Head::default(),
            error,
        }
    }

    /// A cause whose words stand in the text before it already says nothing new.
    fn add_causes(&mut self, mut next: Option<&(dyn Error + 'static)>) {
        while let Some(cause) = next {
            let text = cause.to_string();
            if !self.causes.last().unwrap_or(&self.message).contains(&text) {
                self.causes.push(text);
            }
            next = cause.source();
        }
    }
}

/// What stands on stderr when a verb with `--json` fails.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorDocument<'a> {
    #[serde(flatten)]
    head: Head,
    error: Described<'a>,
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct Described<'a> {
    kind: ErrorKind,
    /// Names the object and says what happened to it.
    message: &'a str,
    /// Why, from the nearest cause to the deepest.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    causes: &'a [String],
    /// What can be done; commands to type stand on lines of their own.
    hints: &'a [String],
}

/// Document on stderr if a `--json` command succeeded but stdout failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LostResult {
    #[serde(flatten)]
    head: Head,
    warning: DescribedWarning,
    /// The document meant for stdout.
    result: Option<serde_json::Value>,
}

/// A problem beside the work itself.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Warning")]
struct DescribedWarning {
    kind: WarningKind,
    /// Description of the problem.
    message: String,
    /// Why.
    causes: Vec<String>,
}

/// The kind of a warning.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum WarningKind {
    /// The command did its work, and its result could not be written to stdout.
    ResultNotWritten,
}

impl LostResult {
    /// Prints the result on stderr, with the reason why it does not stand on stdout.
    pub(super) fn print(terminal: &Terminal, json: bool, cause: &std::io::Error) {
        let message = "the command did its work, but cannot write the result to stdout";
        let lost = terminal.lost_result();
        if !json {
            terminal.warn(&format!("{message}: {cause}"));
            if let Some(text) = lost {
                terminal.err(text.trim_end());
            }
            return;
        }
        terminal.err_json(&Self {
            head: Head::default(),
            warning: DescribedWarning {
                kind: WarningKind::ResultNotWritten,
                message: message.to_owned(),
                causes: vec![cause.to_string()],
            },
            result: lost.and_then(|text| serde_json::from_str(&text).ok()),
        });
    }
}
