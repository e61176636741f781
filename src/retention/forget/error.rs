//! Refusals and errors of `forget`.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, shell};
use crate::model::{InstanceId, SnapshotId, SnapshotKind};
use crate::session::{Reason, SessionError};
use crate::store::StoreError;

/// So many pins are named.
const NAMED: usize = 5;

/// Reason why nothing is forgotten.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A session is active.
    #[error("{instance} is active")]
    Active {
        /// The session.
        instance: InstanceId,
        /// Reasons why it counts as active.
        reasons: Vec<Reason>,
    },
    /// Sessions or snapshots are pinned.
    #[error("{} is pinned, so nothing was forgotten", pinned(pins))]
    Pinned {
        /// The pins; without a snapshot a whole session is pinned.
        pins: Vec<(InstanceId, Option<SnapshotId>)>,
    },
    /// An interrupted restore needs a session.
    #[error("a restore of {instance} was interrupted and needs its snapshots")]
    Interrupted {
        /// The session.
        instance: InstanceId,
    },
    /// A snapshot is still kept in a snapshot of the file system.
    #[error("the {} snapshot of {instance} is not stored yet", kind.word())]
    NotStored {
        /// The session.
        instance: InstanceId,
        /// Kind of the snapshot.
        kind: SnapshotKind,
    },
    /// No snapshot has a path.
    #[error("no snapshot has {}", path.display())]
    Nowhere {
        /// The path.
        path: PathBuf,
        /// The session, when one was named.
        of: Option<InstanceId>,
        /// True if it was forgotten.
        is_forgotten: bool,
    },
    /// A path is all that a session covers, or lies above that.
    #[error("{} is all that {instance} covers, or contains it", path.display())]
    Whole {
        /// The path.
        path: PathBuf,
        /// The session.
        instance: InstanceId,
    },
    /// The contents of a snapshot lie in a snapshot of the file system, out of which no file can be removed.
    #[error(
        "{} of {instance} keeps its files in a file-system snapshot, out of which no single path can be deleted",
        snapshot
    )]
    Native {
        /// The session.
        instance: InstanceId,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// A path is in an encrypted bundle.
    #[error(
        "{} is encrypted in one bundle with other private files of {instance}, so it cannot be deleted alone",
        path.display()
    )]
    Sealed {
        /// The session.
        instance: InstanceId,
        /// The path.
        path: PathBuf,
    },
    /// The store changed since the plan was shown.
    #[error("the store changed since the plan was printed; nothing was forgotten")]
    Outdated,
}

fn pinned(pins: &[(InstanceId, Option<SnapshotId>)]) -> String {
    let name = |(instance, snapshot): &(InstanceId, Option<SnapshotId>)| match snapshot {
        Some(snapshot) => format!("{snapshot} of {instance}"),
        None => instance.to_string(),
    };
    match pins {
        [] => "it".to_owned(),
        [one] => name(one),
        [first, rest @ ..] => format!("{} (and {} more)", name(first), rest.len()),
    }
}

impl Diagnostic for ForgetError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Active { .. } => ErrorKind::RefusedActive,
            Self::Interrupted { .. } => ErrorKind::Pending,
            Self::Nowhere { .. } | Self::Whole { .. } => ErrorKind::Usage,
            Self::Pinned { .. }
            | Self::NotStored { .. }
            | Self::Native { .. }
            | Self::Sealed { .. }
            | Self::Outdated => ErrorKind::Failed,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Store(error) => error.hints(),
            Self::Active { instance, reasons } => SessionError::Active {
                instance: instance.clone(),
                other: false,
                reasons: reasons.clone(),
            }
            .hints(),
            Self::Pinned { pins } => {
                let command = |(instance, snapshot): &(InstanceId, Option<SnapshotId>)| match snapshot {
                    Some(snapshot) => format!("unpin {instance} {snapshot}"),
                    None => format!("unpin {instance}"),
                };
                let named = pins.iter().take(NAMED);
                named
                    .map(|pin| Hint::command("to unpin it", command(pin)))
                    .collect()
            }
            Self::Interrupted { instance } => vec![
                Hint::command("to finish it", format!("resume {instance}")),
                Hint::command("to roll it back", format!("abort {instance}")),
            ],
            Self::NotStored { .. } => vec![Hint::command("to store it", "prune")],
            Self::Nowhere {
                is_forgotten: true, ..
            } => vec![
                Hint::text("other paths with the same content are forgotten by their own names"),
                Hint::text(
                    "with a copy in an object store, forget --replica deletes there what was forgotten here",
                ),
            ],
            Self::Nowhere { path, of, .. } => {
                let known = "paths that are excluded, or that are secrets jackin knows, are in no snapshot";
                let list = match of {
                    Some(instance) => Hint::command("to list changed paths", format!("diff {instance}")),
                    None => Hint::command("to list the sessions and their directories", "list"),
                };
                let relative = path.is_relative();
                let mut hints = vec![Hint::text(known), list];
                hints.extend(relative.then(|| Hint::text("a relative path starts at the current directory")));
                hints
            }
            Self::Whole { instance, .. } | Self::Native { instance, .. } | Self::Sealed { instance, .. } => {
                vec![Hint::command(
                    "to delete the whole session",
                    format!("forget {}", shell::word(instance.as_str())),
                )]
            }
            Self::Outdated => vec![Hint::text("run the command again")],
        }
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Nowhere {
                path,
                is_forgotten: true,
                ..
            } => format!(
                "{} was forgotten before, so no snapshot has it",
                sanitize::path(path)
            ),
            Self::Nowhere { path, .. } => format!("no snapshot has {}", sanitize::path(path)),
            Self::Whole { path, instance } => format!(
                "{} is all that {instance} covers, or contains it",
                sanitize::path(path)
            ),
            Self::Sealed { path, instance } => format!(
                "{} is encrypted in one bundle with other private files of {instance}, so it cannot be deleted alone",
                sanitize::path(path)
            ),
            Self::Store(error) => error.message(),
            _ => self.to_string(),
        }
    }
}
