//! What a configured mount turns out to be on this host, and why one is never captured on its own.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::ContractError;
use super::terms::{MountState, NotCovered};
use crate::config::{Isolation, MountConfig, Subject, shown};

/// What a mount turned out to be on this host.
pub(super) struct Seen<'a> {
    pub(super) config: &'a MountConfig,
    pub(super) root: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Special,
}

impl Seen<'_> {
    /// Whether a mode that captures files would capture it.
    pub(super) fn is_capturable(&self) -> bool {
        self.kind == Kind::Directory && !self.config.readonly && self.config.isolation == Isolation::Shared
    }
}

/// Finds a mount on the host.
pub(super) fn look<'a>(
    config: &'a MountConfig,
    subject: &Subject,
    captures: bool,
) -> Result<Seen<'a>, ContractError> {
    let path = config.src.clone();
    let configured = config.source.clone();
    let root = match fs::canonicalize(&path) {
        Ok(root) => root,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ContractError::Missing { path, configured });
        }
        Err(source) => {
            return Err(ContractError::Unreadable {
                path,
                configured,
                source,
            });
        }
    };
    let metadata = match fs::symlink_metadata(&root) {
        Ok(metadata) => metadata,
        Err(source) => {
            return Err(ContractError::Unreadable {
                path,
                configured,
                source,
            });
        }
    };
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_file() => Kind::File,
        _ => Kind::Special,
    };
    if kind != Kind::Directory && matches!(subject, Subject::Directory { .. }) {
        return Err(ContractError::NotADirectory { path });
    }
    let seen = Seen { config, root, kind };
    if captures && seen.is_capturable() {
        fs::read_dir(&seen.root).map_err(|source| ContractError::Unreadable {
            path,
            configured,
            source,
        })?;
    }
    Ok(seen)
}

/// Why a mount is never captured on its own; `None` when it could be.
pub(super) fn uncaptured(mount: &Seen<'_>) -> Option<MountState> {
    if mount.config.isolation != Isolation::Shared {
        return Some(not_covered(NotCovered::Isolated));
    }
    if mount.config.readonly {
        return Some(MountState::Readonly);
    }
    match mount.kind {
        Kind::Directory => None,
        Kind::File => Some(not_covered(NotCovered::SingleFile)),
        Kind::Special => Some(not_covered(NotCovered::Special)),
    }
}

pub(super) fn not_covered(reason: NotCovered) -> MountState {
    MountState::NotCovered { reason }
}

pub(super) fn why_not(mount: &Seen<'_>) -> String {
    let why = match uncaptured(mount) {
        Some(MountState::Readonly) => "is read-only",
        Some(MountState::NotCovered {
            reason: NotCovered::Isolated,
        }) => "is handed out as a worktree or clone, which this version does not find yet",
        Some(MountState::NotCovered {
            reason: NotCovered::SingleFile,
        }) => "is a single file",
        _ => "is neither a directory nor a file",
    };
    format!("{} {why}", shown(&mount.root))
}
