//! Probe of a configured mount on this host, and the reasons that one is never captured on its own.

use std::io;
use std::path::{Path, PathBuf};

use super::ContractError;
use super::model::{MountState, NotCovered};
use crate::config::{Isolated, Isolation, MountConfig, Subject, shown};
use crate::environment::Environment;
use crate::model::{ByteString, ground};
use handle_fs::NodeKind;
use handle_fs::remote::Transports;

/// Configured mount as found on this host.
pub(super) struct Seen<'a> {
    /// Connections to other machines, and the settings by which they were made.
    pub(super) environment: &'a Environment,
    pub(super) config: &'a MountConfig,
    pub(super) root: PathBuf,
    /// Root in a form in which mounts can be compared: one directory of another machine may have several addresses.
    pub(super) ground: PathBuf,
    pub(super) kind: Kind,
    /// Candidate containers of an isolated mount and unreadable files, if its container is not known.
    pub(super) isolated: Option<NotCovered>,
    /// The container whose copy of an isolated mount `root` is.
    pub(super) container: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Special,
}

impl Seen<'_> {
    /// Returns true if a mode that captures files would capture the mount.
    pub(super) fn is_capturable(&self) -> bool {
        self.kind == Kind::Directory && !self.config.readonly && self.isolated.is_none()
    }
}

/// Finds a mount on the host.
pub(super) fn look<'a>(
    environment: &'a Environment,
    config: &'a MountConfig,
    subject: &Subject,
    captures: bool,
    isolated: &Isolated,
) -> Result<Seen<'a>, ContractError> {
    let transports = &environment.transports;
    let (path, container, isolated) = place(config, isolated);
    let configured = config.source.clone();
    let root = match transports.canonical(&path) {
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
    let stat = match transports
        .stat_path(&root)
        .and_then(|stat| stat.ok_or_else(|| io::ErrorKind::NotFound.into()))
    {
        Ok(stat) => stat,
        Err(source) => {
            return Err(ContractError::Unreadable {
                path,
                configured,
                source,
            });
        }
    };
    let kind = match stat.kind {
        NodeKind::Directory => Kind::Directory,
        NodeKind::File => Kind::File,
        _ => Kind::Special,
    };
    if kind != Kind::Directory && matches!(subject, Subject::Directory { .. }) {
        return Err(ContractError::NotADirectory { path });
    }
    let seen = Seen {
        environment,
        config,
        ground: ground(
            &ByteString::from(root.as_path()),
            transports.machine_of(&root).as_deref(),
        ),
        root,
        kind,
        isolated,
        container,
    };
    if captures && seen.is_capturable() {
        let opened = transports.open_root(&seen.root);
        opened.map_err(|source| ContractError::Unreadable {
            path,
            configured,
            source,
        })?;
    }
    Ok(seen)
}

/// Returns the path of a mount, the container that has it for itself, and the reason if that is unknown. With several containers,
/// or a file that may name another, the session's container is ambiguous. Writes by the others must not count as its work.
fn place(config: &MountConfig, isolated: &Isolated) -> (PathBuf, Option<String>, Option<NotCovered>) {
    if config.isolation == Isolation::Shared {
        return (config.src.clone(), None, None);
    }
    let copies = config.dst.as_deref().map(|dst| isolated.copies(dst));
    match copies.unwrap_or_default() {
        [(container, place)] if isolated.unread.is_empty() => (place.clone(), Some(container.clone()), None),
        several => {
            let reason = NotCovered::Isolated {
                containers: several.iter().map(|(name, _)| name.clone()).collect(),
                unread: isolated.unread.clone(),
            };
            (config.src.clone(), None, Some(reason))
        }
    }
}

/// Returns the state of a mount that is never captured on its own; `None` if it could be.
pub(super) fn uncaptured(mount: &Seen<'_>) -> Option<MountState> {
    if let Some(reason) = &mount.isolated {
        return Some(not_covered(reason.clone()));
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
        Some(MountState::Readonly) => "is read-only".to_owned(),
        Some(MountState::NotCovered {
            reason: NotCovered::Isolated { containers, unread },
        }) => {
            let copies = match (containers.as_slice(), unread.as_slice()) {
                ([], []) => "no container has one now".to_owned(),
                (_, [first, ..]) => {
                    let path = shown(&first.path.to_path());
                    format!("cannot find which container has one: {path}: {}", first.reason)
                }
                _ => "several containers have one: give the directory of one".to_owned(),
            };
            format!("is handed out as a worktree or clone, and {copies}")
        }
        Some(MountState::NotCovered {
            reason: NotCovered::SingleFile,
        }) => "is a single file".to_owned(),
        _ => "is neither a directory nor a file".to_owned(),
    };
    format!("{} {why}", shown(&mount.root))
}

/// Returns the kind of the node at a host path; links are not followed.
pub(super) fn kind_of(transports: &Transports, path: &Path) -> Option<NodeKind> {
    Some(transports.stat_path(path).ok()??.kind)
}
