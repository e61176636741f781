//! Errors that keep jackin from making a contract. Each text names the mount or path, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::{BroadReason, PatternError};
use crate::config::{ConfigError, Unread, ValueSource, shown};
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::shell;
use handle_fs::remote::ADDRESSES;

/// Describes a directory to protect: a mount of a workspace with its line, or what was named.
fn place(path: &Path, configured: &ValueSource) -> String {
    match configured {
        ValueSource::Flag { .. } => format!("the directory {}", shown(path)),
        ValueSource::File { .. } | ValueSource::Default => {
            format!("the mount {} ({configured})", shown(path))
        }
    }
}

/// Reason that no contract can be made.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// A configuration file or a flag is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The target is an address that is not understood.
    #[error("{scheme}://… is not the address of a mount; use {ADDRESSES}, with the whole path")]
    Address {
        /// Text before `://`. The rest may hold a password and is not repeated.
        scheme: String,
    },
    /// No target, the current directory belongs to no workspace, and nothing sets a mode.
    #[error("{} is not in a configured workspace; use --snapshot project", shown(current))]
    NoTarget {
        /// The current directory.
        current: PathBuf,
    },
    /// The target is a jackin container that has no workspace.
    #[error("jackin's container {container:?} has no workspace; name the directory that its agent works on")]
    NoWorkspaceOfContainer {
        /// Its name.
        container: String,
    },
    /// The target is a jackin container, and jackin's record of it cannot be read.
    #[error(
        "what jackin wrote down of this container cannot be read: {}: {}; name its workspace instead",
        shown(&.0.path.to_path()),
        .0.reason
    )]
    ContainerUnread(Unread),
    /// A mount does not exist.
    #[error("{} does not exist", place(path, configured))]
    Missing {
        /// Host path.
        path: PathBuf,
        /// Source of the mount's configuration.
        configured: ValueSource,
    },
    /// A mount cannot be read or listed.
    #[error("{} cannot be read: {source}", place(path, configured))]
    Unreadable {
        /// Host path.
        path: PathBuf,
        /// Source of the mount's configuration.
        configured: ValueSource,
        /// The system's reason.
        source: io::Error,
    },
    /// The target is a file.
    #[error("{} is not a directory, and only a directory can be protected", shown(path))]
    NotADirectory {
        /// Host path.
        path: PathBuf,
    },
    /// A mount is too broad to be captured without `--allow-broad`.
    #[error(
        "the mount {} {}; choose a smaller directory, or use --allow-broad",
        shown(root),
        reasons.iter().map(|reason| reason.words()).collect::<Vec<_>>().join(" and ")
    )]
    Broad {
        /// Canonical root.
        root: PathBuf,
        /// Reasons, at least one.
        reasons: Vec<BroadReason>,
    },
    /// A mount is one of the operator's secrets.
    #[error(
        "the mount {} is or is inside {}, which holds your secrets; set sensitive = \"capture\" to store it anyway",
        shown(root),
        shown(place)
    )]
    Sensitive {
        /// Canonical root.
        root: PathBuf,
        /// The sensitive place.
        place: PathBuf,
    },
    /// A mount is a credential of an agent's.
    #[error(
        "the mount {} is or is inside {}, which holds an agent's credentials; they are never stored",
        shown(root),
        shown(place)
    )]
    Credential {
        /// Canonical root.
        root: PathBuf,
        /// The credential.
        place: PathBuf,
    },
    /// A mount is the store, or a part of it.
    #[error(
        "the mount {} is inside the recovery store {}, which never captures itself",
        shown(root),
        shown(store)
    )]
    InStore {
        /// Canonical root.
        root: PathBuf,
        /// The store.
        store: PathBuf,
    },
    /// A mount is a snapshot that `mount` shows.
    #[error(
        "{} is a mounted snapshot, and the recovery store never captures itself",
        shown(root)
    )]
    Mounted {
        /// Canonical root.
        root: PathBuf,
    },
    /// File-system snapshots are required, and a mount cannot be frozen.
    #[error(
        "native = \"require\" ({required}), and {} has no file-system snapshot: {why}",
        shown(root)
    )]
    NotFrozen {
        /// Canonical root.
        root: PathBuf,
        /// Source of the requirement.
        required: ValueSource,
        /// Reason that the root cannot be frozen.
        why: String,
    },
    /// Contents that stay in file-system snapshots would be missing from the replica.
    #[error(
        "native = \"require\" ({required}) keeps contents in snapshots of file systems, and those are not copied to \
        where replicate ({replicated}) says"
    )]
    KeptAndReplicated {
        /// Source of the requirement.
        required: ValueSource,
        /// Source of the setting that the store is replicated.
        replicated: ValueSource,
    },
    /// The home directory is unknown, so the operator's secrets cannot be found.
    #[error("the home directory is unknown, so its secrets cannot be skipped; set HOME")]
    NoHome,
    /// There is no place for the store.
    #[error(
        "there is no place for the recovery store: neither JACKIN_HOME_DIR nor the home directory is known"
    )]
    NoStore,
    /// A snapshot is asked for, and no mount can be captured.
    #[error("a snapshot is asked for, but nothing can be captured: {}", reasons.join("; "))]
    NothingToCapture {
        /// One for each mount.
        reasons: Vec<String>,
    },
    /// `paths` and `exclude` contradict each other.
    #[error(
        "paths names {} below the mount {}, but the exclude {pattern:?} leaves it out; remove one of the two",
        shown(path),
        shown(root)
    )]
    PathExcluded {
        /// Canonical root.
        root: PathBuf,
        /// The entry of `paths`.
        path: PathBuf,
        /// The exclude.
        pattern: String,
    },
    /// An entry of `paths` leads through a link, which a capture never follows.
    #[error(
        "paths names {}, but {} is a symbolic link, which a capture does not follow; name the real directory",
        shown(path),
        shown(link)
    )]
    PathThroughLink {
        /// The entry of `paths` on the host.
        path: PathBuf,
        /// The link.
        link: PathBuf,
    },
    /// An exclude cannot be compiled.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl Diagnostic for ContractError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(error) => error.kind(),
            Self::Broad { .. } => ErrorKind::TooBroad,
            Self::NoTarget { .. } | Self::Address { .. } => ErrorKind::Usage,
            _ => ErrorKind::Config,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            Self::Config(error) => return error.hints(),
            Self::Missing { path, .. } => match shell::make_directory(path) {
                Some(make) => format!("name another directory, or create it:\n  {make}"),
                None => "name another directory, or create it in the volume".to_owned(),
            },
            Self::Unreadable { source, .. } if is_private(source) => {
                "let your terminal read it: System Settings, Privacy & Security, Files and Folders".to_owned()
            }
            Self::NothingToCapture { .. } => {
                "a snapshot needs a directory: mount the directory that holds the file, or set snapshot = \"off\""
                    .to_owned()
            }
            Self::NotFrozen { .. } => UNFROZEN.to_owned(),
            Self::KeptAndReplicated { .. } => {
                "native = \"auto\" in [recovery] stores the contents in archives, which are copied".to_owned()
            }
            _ => return Vec::new(),
        };
        vec![Hint::Text(hint)]
    }
}

/// Returns true if macOS' privacy protection may have closed a directory: what its mode or its owner refuses is EACCES.
fn is_private(error: &io::Error) -> bool {
    cfg!(any(feature = "portable", target_vendor = "apple")) && handle_fs::is_bound(error)
}

/// Hint for mounts without file-system snapshots.
pub(crate) const UNFROZEN: &str =
    "native = \"auto\" in [recovery] reads the files directly if there is no such snapshot";
