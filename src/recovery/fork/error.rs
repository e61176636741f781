//! Errors of forks and their references, with their kinds and hints.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::sanitize;
use crate::model::{ForkId, InstanceId};

/// Reason that no fork is made, or none is found. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// Another fork of the session has the name.
    #[error(
        "{instance} already has a fork {branch:?}: {fork}, in {}",
        sanitize::path(directory)
    )]
    Taken {
        /// The session.
        instance: InstanceId,
        /// The name.
        branch: String,
        /// The other fork.
        fork: ForkId,
        /// Its directory.
        directory: PathBuf,
    },
    /// A reference and a snapshot were given.
    #[error("the fork reference and --from name different snapshots")]
    TwoSnapshots,
    /// The text is not the reference of a fork.
    #[error("invalid fork reference: {why}")]
    Reference {
        /// Problem with it.
        why: String,
    },
    /// The store has no such fork.
    #[error("fork {0} not found in this store")]
    Unknown(ForkId),
    /// The reference differs from the receipt of the fork.
    #[error("the reference of {fork} was changed: {what}")]
    Changed {
        /// The fork.
        fork: ForkId,
        /// Its session.
        instance: InstanceId,
        /// Difference, in words.
        what: String,
    },
}

impl Diagnostic for ForkError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown(_) => ErrorKind::UnknownInstance,
            Self::Taken { .. } | Self::TwoSnapshots | Self::Reference { .. } | Self::Changed { .. } => {
                ErrorKind::Usage
            }
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Taken { .. } => vec![Hint::text("choose another name; names of forks are never reused")],
            Self::TwoSnapshots => vec![Hint::text("omit --from, or name the session instead of the fork")],
            Self::Reference { .. } => vec![Hint::text("use the line that `fork` printed, in single quotes")],
            Self::Unknown(_) => vec![
                Hint::text("a reference is valid only in the jackin home that made it"),
                Hint::command("to list forks", "list"),
            ],
            Self::Changed { instance, .. } => vec![Hint::command("details", format!("show {instance}"))],
        }
    }
}
