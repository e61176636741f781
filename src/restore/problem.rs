//! Reasons why a path could not be changed, or not exactly, and errors that concern a whole file system.

use std::{fmt, io};

use crate::capture::words;

/// Reason why a path is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Description of the problem.
    pub words: String,
    /// True if the system denied this user the change.
    pub denied: bool,
    /// True if the path may be right: it was changed, and could not be read back.
    pub unread: bool,
}

impl Problem {
    /// Returns a problem that another user would have as well.
    pub(super) fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            denied: false,
            unread: false,
        }
    }

    /// Returns a problem that a user with more rights would not have.
    pub(super) fn denied(words: impl Into<String>) -> Self {
        Self {
            denied: true,
            ..Self::new(words)
        }
    }

    /// Returns the problem of a path that was changed and could not be read back.
    pub(super) fn unread(why: impl fmt::Display) -> Self {
        Self {
            unread: true,
            ..Self::new(format!("it could not be verified: {why}"))
        }
    }

    /// Returns a problem from an error of the system, in `words`.
    pub(super) fn caused(words: String, error: &io::Error) -> Self {
        Self {
            denied: is_denial(error),
            ..Self::new(words)
        }
    }

    /// Returns several problems of one path as one.
    pub(super) fn joined(problems: Vec<Self>) -> Self {
        Self {
            denied: problems.iter().any(|problem| problem.denied),
            unread: problems.iter().all(|problem| problem.unread),
            words: problems
                .into_iter()
                .map(|problem| problem.words)
                .collect::<Vec<_>>()
                .join("; "),
        }
    }
}

impl From<&io::Error> for Problem {
    fn from(error: &io::Error) -> Self {
        Self::caused(words(error), error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Returns true if the system denied access (EACCES, EPERM).
pub(super) fn is_denial(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Returns true if an error concerns the whole file system, so that later operations would fail as well.
pub(super) fn concerns_all(error: &io::Error) -> bool {
    let gone = matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::StaleNetworkFileHandle
    );
    gone || is_out_of_space(error) || handle_fs::is_io_failure(error)
}

/// Returns true if the system refused a move within one mount: the directory takes only objects that were made in it.
pub(super) fn is_foreign_object(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// No blocks, no inodes, no quota left: nothing that follows would work either.
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
