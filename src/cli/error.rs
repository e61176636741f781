//! The one error of the command line: what went wrong, why, what to do about it, and which exit code it is.

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;

use super::called_as::CalledAs;
use crate::diagnostic::{Diagnostic, Hint, Next, causes_behind};
use crate::features::{Feature, NotBuilt};
use crate::report::Head;
use crate::terminal::style::{self, Role};
use crate::terminal::{Terminal, sanitize};

pub use crate::diagnostic::ErrorKind;

/// Error of the command line. Its texts may hold anything and are sanitized when printed.
#[derive(Debug, thiserror::Error)]
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
    /// Typed error behind it, with its chain of sources; `None` if the command line itself found the problem.
    pub source: Option<anyhow::Error>,
}

impl<E: Diagnostic + Send + Sync + 'static> From<E> for CliError {
    fn from(error: E) -> Self {
        let made = Self {
            causes: error.causes(),
            ..Self::new(error.kind(), error.message())
        };
        let made = error.hints().into_iter().fold(made, Self::advise);
        Self {
            source: Some(error.into()),
            ..made
        }
    }
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
            source: None,
        }
    }

    /// Returns the error of an operator who left a list without a choice.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::NotConfirmed, "cancelled")
    }

    /// Refuses what needs an optional part that this build lacks.
    ///
    /// # Errors
    /// [`NotBuilt`], with what to install.
    pub fn require(feature: Feature) -> Result<(), Self> {
        match feature.is_built() {
            true => Ok(()),
            false => Err(NotBuilt(feature).into()),
        }
    }

    /// Adds `cause`, and every error behind it.
    #[must_use]
    pub fn because(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        let said = self.causes.last().unwrap_or(&self.message);
        let causes = causes_behind(said, Some(&cause));
        self.causes.extend(causes);
        Self {
            source: Some(cause.into()),
            ..self
        }
    }

    /// Adds a step that the error itself suggests.
    #[must_use]
    pub fn advise(self, hint: Hint) -> Self {
        match hint {
            Hint::Text(text) => self.hint(text),
            Hint::Command(Next { purpose, words }) => self.command(purpose, words),
        }
    }

    /// Adds something that can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a command of this program that can be typed: the command and what follows it, quoted for a shell.
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

    /// Prints it on stderr: as one JSON document when `json`, else in words. With `--verbose` the rest of the chain of causes follows.
    pub fn print(&self, terminal: &Terminal, json: bool) {
        if json {
            terminal.record_error(&self.render(usize::MAX));
            terminal.err_json(&self.document_after(terminal.take_warnings()));
        } else {
            terminal.error(&self.render(terminal.width_err()));
        }
        for text in self.unsaid() {
            let text = sanitize::text(&text);
            terminal.detail(&style::labeled(
                Role::Dim,
                "caused by",
                &text,
                terminal.width_err(),
            ));
        }
    }

    /// In words, for a terminal of `columns`.
    #[must_use]
    pub fn render(&self, columns: usize) -> String {
        let part = |role, label, text: &str| style::labeled(role, label, &sanitize::text(text), columns);
        let mut lines = vec![part(Role::Error, "error", &self.message)];
        lines.extend(self.causes.iter().map(|cause| part(Role::Dim, "because", cause)));
        lines.extend(self.hints.iter().map(|hint| part(Role::Heading, "hint", hint)));
        lines.join("\n")
    }

    /// Returns the error as JSON: `{"schema":1,"error":{"kind","message","hints":[…]}}`, with `causes` if there are any.
    #[must_use]
    pub fn document(&self) -> impl Serialize + use<'_> {
        self.document_after(Vec::new())
    }

    /// Returns the document with the warnings that came before the error.
    fn document_after(&self, warnings: Vec<String>) -> impl Serialize + use<'_> {
        let error = Described {
            kind: self.kind,
            message: &self.message,
            causes: &self.causes,
            hints: &self.hints,
            warnings,
        };
        ErrorDocument {
            head: Head::default(),
            error,
        }
    }

    /// Returns the errors behind this one that say more than its message and causes, from the nearest to the deepest.
    fn unsaid(&self) -> Vec<String> {
        let mut unsaid: Vec<String> = Vec::new();
        let said = || [&self.message].into_iter().chain(&self.causes);
        for error in self.source.iter().flat_map(anyhow::Error::chain) {
            let text = error.to_string();
            if !said().chain(&unsaid).any(|said| said.contains(&text)) {
                unsaid.push(text);
            }
        }
        unsaid
    }
}

/// Document on stderr if a command with `--json` fails.
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
    /// Warnings from before the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
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
