//! Errors of a directory to write a snapshot into, with their kinds and hints.

use std::io;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, shell};
use handle_fs::MountError;

/// Reason that a directory cannot be written into. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The path is the address of another machine.
    #[error("{shown} is an address, and files are written into directories of this machine alone")]
    Address {
        /// The address, without what may be a password.
        shown: String,
    },
    /// The path is there and is no directory.
    #[error("{} is there already, and is not a directory", sanitize::path(path))]
    NoDirectory {
        /// The path.
        path: PathBuf,
    },
    /// A part of a copy is in the directory: another process writes it, or was killed.
    #[error("{} holds an unfinished copy: a restore --to or a fork still writes it, or was killed", path.display())]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// The directory has entries.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory above is missing.
    #[error(
        "{} cannot be made: there is no directory {}",
        sanitize::path(path),
        sanitize::path(parent)
    )]
    NoParent {
        /// The path.
        path: PathBuf,
        /// The directory above it.
        parent: PathBuf,
    },
    /// The volume or claim cannot be opened.
    #[error("nothing can be written into {}", sanitize::path(path))]
    Volume {
        /// The address.
        path: PathBuf,
        /// Error from the connection.
        source: MountError,
    },
    /// The directory cannot be listed.
    #[error("{} cannot be read", sanitize::path(path))]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// The program that makes claims is missing.
    #[error("{0}")]
    NoProgram(String),
    /// The claim is not there, and cannot be made.
    #[error(
        "{} cannot be written into, nor made: {}",
        sanitize::path(path),
        sanitize::text(why)
    )]
    NoClaim {
        /// The address.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The cluster refused to make the claim.
    #[error("{} cannot be made: {}", sanitize::path(path), sanitize::text(why))]
    ClaimFailed {
        /// The address.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The claim was made, and cannot be used.
    #[error("{error}")]
    AfterClaim {
        /// The error.
        error: Box<OutputError>,
        /// Name of the claim.
        claim: String,
    },
    /// A fork would lie in what its session covers.
    #[error(
        "{} is in {}, which the session covers",
        sanitize::path(path),
        sanitize::path(root)
    )]
    InMount {
        /// The path.
        path: PathBuf,
        /// Root of the mount, or the covered path in it.
        root: PathBuf,
    },
    /// The directory would lie in the store.
    #[error("{} is in the store, which takes no other files", sanitize::path(path))]
    InStore {
        /// The path.
        path: PathBuf,
    },
}

impl Diagnostic for OutputError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Address { .. }
            | Self::NoDirectory { .. }
            | Self::NotEmpty { .. }
            | Self::Unfinished { .. }
            | Self::NoParent { .. }
            | Self::Volume { .. }
            | Self::InMount { .. }
            | Self::InStore { .. } => ErrorKind::Usage,
            Self::Unreadable { .. }
            | Self::NoProgram(_)
            | Self::NoClaim { .. }
            | Self::ClaimFailed { .. } => ErrorKind::Io,
            Self::AfterClaim { error, .. } => error.kind(),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            Self::Address { .. } => "name a place here, and copy it there yourself".to_owned(),
            Self::Unfinished { .. } => {
                "if none is running, delete it; or choose another directory".to_owned()
            }
            Self::NoDirectory { .. } | Self::NotEmpty { .. } => {
                "choose an absent or empty directory".to_owned()
            }
            Self::NoParent { parent, .. } => match shell::make_directory(parent) {
                Some(make) => format!("make it first:\n  {make}"),
                None => "make it in the volume first".to_owned(),
            },
            Self::Volume { .. } => {
                "make the volume or the claim first, and name a directory that is there and empty".to_owned()
            }
            Self::NoClaim { .. } => "make the claim yourself, when it has to be another one".to_owned(),
            Self::InStore { .. } => "choose a directory elsewhere".to_owned(),
            Self::InMount { .. } => {
                "choose a directory elsewhere, or omit it to use data/forks in jackin's home".to_owned()
            }
            Self::AfterClaim { error, claim } => {
                let mut hints = error.hints();
                hints.push(Hint::text(format!("the claim {claim} is made, and is empty")));
                return hints;
            }
            Self::Unreadable { .. } | Self::NoProgram(_) | Self::ClaimFailed { .. } => return Vec::new(),
        };
        vec![Hint::text(hint)]
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::AfterClaim { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}
