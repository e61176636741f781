//! Errors of a capture, with their kinds and hints.

use std::io;
use std::path::PathBuf;

use super::limit::Big;
use crate::contract::UNFROZEN;
use crate::diagnostic::denied::{denied_hint, is_closed_to_owner};
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, size};
use crate::model::SnapshotId;
use crate::store::StoreError;
use crate::store::archive::ArchiveError;
use handle_fs::MountError;

/// Reason for a failed capture. The store keeps nothing of it.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The operator stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The mount cannot be used.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The mount root cannot be listed.
    #[error("{} cannot be listed: {source}", path.display())]
    Root {
        /// The mount root.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The mount is larger than agreed.
    #[error(
        "{} exceeds the limit of {limit} {}",
        path.display(),
        match (entries, limit) {
            (true, 1) => "entry",
            (true, _) => "entries",
            (false, _) => "bytes",
        }
    )]
    Limit {
        /// The mount root.
        path: PathBuf,
        /// True if the limit counts entries, false if it counts bytes.
        entries: bool,
        /// The limit.
        limit: u64,
        /// The biggest directories so far.
        biggest: Vec<Big>,
    },
    /// The store may lack the room for the content that is not stored yet.
    #[error(
        "{} holds {} that are not stored yet, and the store's file system has {} free: {}",
        path.display(), size::bytes(*need), size::bytes(*free), store.display()
    )]
    Room {
        /// The mount root; of several, the one that needs most.
        path: PathBuf,
        /// Bytes that have to be stored, before compression.
        need: u64,
        /// Bytes that are free.
        free: u64,
        /// Directory of the store.
        store: PathBuf,
        /// The biggest directories.
        biggest: Vec<Big>,
    },
    /// The archive cannot be written in the store's directory.
    #[error("the new archive cannot be written in {}: {source}", store.display())]
    Unwritten {
        /// Directory of the store.
        store: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The excludes of the coverage cannot be used.
    #[error("the excludes of {} cannot be used: {reason}", path.display())]
    Excludes {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        reason: String,
    },
    /// A file-system snapshot is required, and cannot be made.
    #[error("{} has no file-system snapshot: {why}", path.display())]
    NotFrozen {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Write(io::Error),
    /// Credentials cannot be encrypted.
    #[error("the credentials in {} cannot be encrypted: {reason}", path.display())]
    Seal {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        reason: String,
    },
    /// The archive layer failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Stored content is missing or differs when it is read back.
    #[error("snapshot {snapshot} does not read back: {reason}")]
    ReadBack {
        /// ID of the snapshot.
        snapshot: SnapshotId,
        /// Reason, in words.
        reason: String,
    },
}

impl CaptureError {
    /// Returns true if the files are too many or too large to be stored, by a limit or for lack of room.
    #[must_use]
    pub fn is_lack_of_room(&self) -> bool {
        matches!(self, Self::Limit { .. } | Self::Room { .. })
    }

    /// Returns true if the mode of a mount root denies access to it, and its owner may change that.
    pub(crate) fn is_root_closed(&self) -> bool {
        match self {
            Self::Root { path, source } | Self::Mount(MountError::Io { path, source }) => {
                let is_denied = source.kind() == io::ErrorKind::PermissionDenied;
                is_denied && is_closed_to_owner(path, USE)
            }
            _ => false,
        }
    }
}

impl Diagnostic for CaptureError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Limit { .. } | Self::Room { .. } => ErrorKind::LimitExceeded,
            Self::Excludes { .. } | Self::Seal { .. } => ErrorKind::Config,
            Self::Store(error) => error.kind(),
            Self::Archive(error) => error.kind(),
            Self::ReadBack { .. } => ErrorKind::Integrity,
            Self::Unwritten { .. } => ErrorKind::Io,
            Self::NotFrozen { .. } | Self::Mount(_) | Self::Root { .. } | Self::Write(_) => {
                ErrorKind::SnapshotFailed
            }
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Room { biggest, .. } => {
                let mut hints: Vec<Hint> = biggest.iter().map(|big| exclude_hint(big, false)).collect();
                let or = if biggest.is_empty() { "" } else { "or " };
                hints.push(Hint::text(format!("{or}free disk space for the store")));
                hints
            }
            Self::Limit { entries, biggest, .. } => {
                let mut hints: Vec<Hint> = biggest.iter().map(|big| exclude_hint(big, *entries)).collect();
                let key = if *entries { "max_entries" } else { "max_bytes" };
                let or = if biggest.is_empty() { "" } else { "or " };
                hints.push(Hint::text(format!("{or}raise {key} in [recovery.limits]")));
                hints
            }
            Self::Unwritten { .. } | Self::Write(_) | Self::Archive(_) => vec![Hint::text(
                "nothing of the snapshot was stored; free disk space and try again",
            )],
            Self::NotFrozen { .. } => vec![Hint::text(UNFROZEN)],
            Self::ReadBack { .. } => vec![Hint::command(
                "to list all damage in the store",
                "verify --read-data",
            )],
            Self::Store(error) => error.hints(),
            Self::Mount(error) => mount_hint(error).into_iter().collect(),
            Self::Root { path, source } => denied_hint(path, USE, source).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Room {
                path,
                need,
                free,
                store,
                ..
            } => format!(
                "{} has {} to store, and the store's file system has {} free: {}",
                sanitize::path(path),
                size::bytes(*need),
                size::bytes(*free),
                sanitize::path(store)
            ),
            other => other.to_string(),
        }
    }
}

/// Rights of the owner that a mount root needs.
const USE: u32 = 0o700;

/// Returns the advice for a root that is not what it was.
pub(crate) fn mount_hint(error: &MountError) -> Option<Hint> {
    let advice = match error {
        error if error.is_about_mounting() => {
            "mount the file systems as they were and repeat the command; `restore --to DIR` writes the files elsewhere"
        }
        MountError::BehindLink { .. } => {
            "put the directory back in place of the link and repeat the command; `restore --to DIR` writes the files elsewhere"
        }
        MountError::NotADirectory { .. } => {
            "move what is there away and repeat the command; `restore` makes the directory again"
        }
        MountError::Io { path, source } => return denied_hint(path, USE, source),
        _ => return None,
    };
    Some(Hint::text(advice))
}

/// Returns the exclude that leaves a big directory out. Agents' state has none: its mode does.
fn exclude_hint(big: &Big, by_entries: bool) -> Hint {
    let holds = if by_entries {
        size::counted(big.entries, "entry", "entries")
    } else {
        size::bytes(big.bytes)
    };
    let path = sanitize::name(big.path.as_bytes());
    if big.is_state {
        return Hint::text(format!(
            "{path} has {holds}; it is state of agents, which excludes do not apply to: without it the mode is `project`"
        ));
    }
    Hint::text(format!(
        "{path} has {holds}; to exclude it: exclude = [\"/{path}/\"] or --exclude '/{path}/'"
    ))
}
