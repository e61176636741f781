//! Errors of a directory to mount snapshots on, with their kinds and hints.

use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, shell};
use crate::model::InstanceId;

/// Reason that snapshots cannot be mounted on a directory. Nothing was mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountPointError {
    /// There is no directory.
    #[error("there is no directory {}", sanitize::path(.0))]
    Missing(PathBuf),
    /// It is something else.
    #[error("{} is not a directory", sanitize::path(.0))]
    NoDirectory(PathBuf),
    /// It has entries, which a mount would hide.
    #[error("{} is not empty", sanitize::path(.0))]
    NotEmpty(PathBuf),
    /// Snapshots are mounted on it already.
    #[error("snapshots are mounted on {} already", sanitize::path(.0))]
    Mounted(PathBuf),
    /// A session would see the mount in its own files.
    #[error(
        "{} lies in {}, which {instance} protects",
        sanitize::path(path),
        sanitize::path(root)
    )]
    Protected {
        /// The directory.
        path: PathBuf,
        /// The directory of the session.
        root: PathBuf,
        /// The session.
        instance: InstanceId,
    },
    /// It lies in the store.
    #[error("{} lies in the store, which takes no other files", sanitize::path(.0))]
    InStore(PathBuf),
    /// It cannot be looked at.
    #[error("{} cannot be read", sanitize::path(path))]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
}

impl Diagnostic for MountPointError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreadable { .. } => ErrorKind::Io,
            _ => ErrorKind::Usage,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let word = |path: &Path| shell::word(path.as_os_str());
        match self {
            Self::Missing(path) => vec![Hint::text(format!("make it first:\n  mkdir -p {}", word(path)))],
            Self::NoDirectory(_) | Self::NotEmpty(_) => vec![Hint::text("name an empty directory")],
            Self::Mounted(path) => vec![Hint::text(format!("to end that mount:\n  umount {}", word(path)))],
            Self::Protected { .. } | Self::InStore(_) => vec![Hint::text(
                "choose an empty directory elsewhere:\n  mkdir -p /tmp/snapshots",
            )],
            Self::Unreadable { path, source } if handle_fs::is_disconnected(source) => {
                vec![Hint::text(format!(
                    "another program left its mount there:\n  umount {}",
                    word(path)
                ))]
            }
            Self::Unreadable { .. } => Vec::new(),
        }
    }
}
