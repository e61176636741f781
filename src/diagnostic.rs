//! Kind and hints of an error, implemented beside each error type.

pub(crate) mod denied;

use std::error::Error;

use schemars::JsonSchema;
use serde::Serialize;

/// Kind of a failure. The words in JSON are the names in kebab case; they are stable.
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
    /// The question was not confirmed.
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

/// Step that the operator can take after an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Advice in words. A line that begins with a space (a command to copy) is never wrapped.
    Text(String),
    /// Command of this program.
    Command(Next),
}

/// Command of this program that helps. The name that the program was called by is added later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Purpose of the command; no full stop.
    pub purpose: String,
    /// Verb and arguments, quoted for a shell.
    pub words: String,
}

impl Hint {
    /// Returns advice in words.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Returns a command of this program: its purpose, and the command with its arguments, quoted for a shell.
    #[must_use]
    pub fn command(purpose: impl Into<String>, words: impl Into<String>) -> Self {
        let (purpose, words) = (purpose.into(), words.into());
        Self::Command(Next { purpose, words })
    }
}

/// Error that reaches the operator. Implemented beside the error type, so that a new variant gets its kind and hints in one place.
pub trait Diagnostic: Error {
    /// Returns the kind, which decides the exit code.
    fn kind(&self) -> ErrorKind;

    /// Returns the next steps, the most useful first.
    fn hints(&self) -> Vec<Hint> {
        Vec::new()
    }

    /// Returns the error of a lower stage that this one adds nothing to, or only a message.
    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        None
    }

    /// Returns the message: names the object and says what happened to it; lower case, no full stop.
    fn message(&self) -> String {
        match self.wrapped() {
            Some(inner) => inner.message(),
            None => self.to_string(),
        }
    }

    /// Returns the causes that the message does not contain, from the nearest to the deepest.
    fn causes(&self) -> Vec<String> {
        match self.wrapped() {
            Some(inner) => inner.causes(),
            None => causes_behind(&self.to_string(), self.source()),
        }
    }
}

/// Returns the texts of `cause` and of every error behind it, except those that the text before already contains.
#[must_use]
pub fn causes_behind(message: &str, mut cause: Option<&(dyn Error + 'static)>) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    while let Some(error) = cause {
        let text = error.to_string();
        if !causes.last().map_or(message, String::as_str).contains(&text) {
            causes.push(text);
        }
        cause = error.source();
    }
    causes
}
