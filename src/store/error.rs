//! Errors of the store. Every error names its object, and the remedy where there is one.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::archive::ArchiveError;
use super::held_lock::Holder;
use crate::diagnostic::denied::{out_of_handles_hint, own_mode_hint};
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, size};
use crate::model::{ArchiveId, DecodeError, Digest, InstanceId, SnapshotId};
use handle_fs::NodeKind;
use handle_fs::remote::is_elsewhere;

/// Something that another process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockedObject {
    /// An instance: its launcher lives, or another command works on it.
    Instance(InstanceId),
    /// A mount root: a restore works on it, above it or below it, in these processes as far as the system tells.
    Root(PathBuf, Vec<Holder>),
    /// A branch of forks: one with it is being written.
    Branch(String),
    /// A checkpoint's name: one with it is being taken.
    Checkpoint(String),
    /// The whole store: a capture or a prune is under way.
    Store(PathBuf),
    /// A lock that is held for moments only, and was not released in time.
    File(PathBuf),
}

impl fmt::Display for LockedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance(id) => write!(f, "the session {id} is in use by another process"),
            Self::Root(root, holders) => {
                write!(
                    f,
                    "another restore works on {root:?} or on a directory above or below it"
                )?;
                for (number, holder) in holders.iter().enumerate() {
                    let sign = if number == 0 { ": " } else { ", " };
                    write!(f, "{sign}{}", holder.described())?;
                }
                Ok(())
            }
            Self::Branch(branch) => {
                write!(f, "another process is writing a fork with the branch {branch:?}")
            }
            Self::Checkpoint(name) => {
                write!(f, "another process is taking the checkpoint {name:?}")
            }
            Self::Store(root) => {
                write!(
                    f,
                    "the store {root:?} is in use by another capture or prune; try again when it is done"
                )
            }
            Self::File(path) => write!(f, "another process did not release the lock {path:?} in time"),
        }
    }
}

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operator stopped it.
    #[error("interrupted; everything in the store is as it was")]
    Interrupted,
    /// A directory or file of the store cannot be made.
    #[error("cannot create {path:?}: {source}")]
    Create {
        /// The first thing that could not be made.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file or directory that others could tamper with, or that leads elsewhere.
    #[error("the store cannot be used: {path:?}: {why}")]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// Description of the problem, with the remedy.
        why: String,
    },
    /// The system refused an operation on a file of the store.
    #[error("cannot {action} {path:?}: {source}")]
    Io {
        /// Operation that failed.
        action: &'static str,
        /// File that it was tried on.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file was written by a later version; it is not touched.
    #[error(
        "{path:?} has format {found}, written by a newer version of jackin recovery; this one \
         knows formats up to {known}"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The newest version that this program knows.
        known: u64,
    },
    /// The content of a file is invalid.
    #[error("{path:?} is damaged: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// The content of a file of an interrupted restore is invalid, or the file is missing.
    #[error("{path:?} is damaged: {why}")]
    DamagedJournal {
        /// The file.
        path: PathBuf,
        /// Session of the restore; `None` if unknown.
        instance: Option<InstanceId>,
        /// Description of the problem.
        why: String,
    },
    /// The chain of receipts is broken.
    #[error(
        "{path:?} is damaged at receipt {number}: {why}; no snapshot is affected, and the catalog has a copy of each \
        receipt"
    )]
    Chain {
        /// The log.
        path: PathBuf,
        /// Number of the first invalid link.
        number: u64,
        /// Description of the problem.
        why: String,
    },
    /// A valid link of the chain records an operation that this version does not know.
    #[error("receipt {number} in {path:?} is from a newer version of jackin recovery: {why}")]
    UnknownReceipt {
        /// The log.
        path: PathBuf,
        /// The first link that is not understood.
        number: u64,
        /// Error from decoding the receipt.
        why: String,
    },
    /// The chain is valid, but lacks receipts that it once had.
    #[error(
        "{path:?} has lost receipts: none names {} any more; no snapshot is affected",
        named(snapshots)
    )]
    Untold {
        /// The log.
        path: PathBuf,
        /// Snapshots that are there, sorted.
        snapshots: Vec<SnapshotId>,
    },
    /// A receipt records a snapshot that was not pruned, and its record is missing.
    #[error("{path:?} is missing: it is the record of a snapshot that has a receipt and was not pruned")]
    LostRecord {
        /// The record.
        path: PathBuf,
    },
    /// A snapshot of a file system cannot be made or removed.
    #[error("the file system's own snapshot {path:?}: {why}")]
    Native {
        /// Path where it is, or would be.
        path: PathBuf,
        /// Description of the problem.
        why: String,
    },
    /// There is no such snapshot.
    #[error("there is no snapshot {id}")]
    NoSnapshot {
        /// The id that was asked for.
        id: SnapshotId,
    },
    /// Another process holds the object.
    #[error("{object}")]
    Locked {
        /// Object that is held.
        object: LockedObject,
    },
    /// The session of a snapshot ended while the snapshot was taken, so it may show what was edited afterwards.
    #[error("{0} has already ended; the snapshot was not stored")]
    Ended(InstanceId),
    /// A draft or a snapshot of this id exists already.
    #[error("the snapshot {id} exists already")]
    Exists {
        /// The id.
        id: SnapshotId,
    },
    /// A draft was asked to publish what belongs to another one.
    #[error("the draft of {draft} cannot publish {other}")]
    WrongDraft {
        /// The draft's snapshot.
        draft: SnapshotId,
        /// The id of the record or archive that was handed over.
        other: String,
    },
    /// The archive that a new record needs was not published.
    #[error("the record of {id} names the archive {archive}, which is not in the store")]
    NoArchive {
        /// The snapshot.
        id: SnapshotId,
        /// The archive.
        archive: ArchiveId,
    },
    /// An archive cannot be read, or is damaged.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Content is not available.
    #[error("{reason} (content {digest})")]
    Content {
        /// Digest of the content.
        digest: Digest,
        /// Reason why it is not available.
        reason: String,
    },
    /// Encrypted data cannot be opened.
    #[error("the encrypted credentials cannot be opened: {reason}")]
    Sealed {
        /// True if none of the operator's keys fits; false if the data is damaged.
        is_key: bool,
        /// Description of the problem.
        reason: String,
    },
    /// A manifest cannot be read, so it is unknown what it needs.
    #[error(
        "a manifest of {snapshot} cannot be read, so it is unknown which content it needs; nothing was changed"
    )]
    Unread {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// Archives that have to be rewritten do not fit beside the old ones.
    #[error("{path:?}: rewriting archives needs {}, and {} are free; nothing was changed", size::bytes(*need), size::bytes(*free))]
    NoRoom {
        /// The store.
        path: PathBuf,
        /// Bytes that are needed.
        need: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A deletion has its receipt, so it is done, and not all of its bytes are removed.
    #[error("deleted (receipt {receipt}), but some of its bytes are still in the store: {source}")]
    Unfinished {
        /// Number of the receipt.
        receipt: u64,
        /// Error that stopped the removal.
        source: Box<StoreError>,
    },
    /// The parts of a manifest exist, but are inconsistent.
    #[error("manifest {digest} is damaged: {source}")]
    Manifest {
        /// Digest of the manifest.
        digest: Digest,
        /// Error from decoding it.
        source: DecodeError,
    },
    /// The store was opened for reading.
    #[error("the store {path:?} was opened for reading only")]
    ReadOnly {
        /// The store.
        path: PathBuf,
    },
    /// The database failed.
    #[error("the catalog {path:?} failed: {source}")]
    Catalog {
        /// The database file.
        path: PathBuf,
        /// Reason that has a remedy of its own.
        fault: CatalogFault,
        /// SQLite's reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Reason why the database failed, as far as there is a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogFault {
    /// The disk is full (`SQLITE_FULL`).
    Full,
    /// Another program held it for longer than is waited for (`SQLITE_BUSY`).
    Held,
    /// Any other one.
    Other,
}

/// The first few ids, and how many more.
fn named(ids: &[SnapshotId]) -> String {
    const NAMED: usize = 5;
    let mut named: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
    if ids.len() > NAMED {
        named.push(format!("{} more", ids.len() - NAMED));
    }
    named.join(", ")
}

impl StoreError {
    /// Returns a function for `map_err` that wraps an error of the system.
    pub(in crate::store) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Returns a function for `map_err` that wraps an error behind the receipt of a deletion.
    pub(crate) fn behind(receipt: u64) -> impl Fn(Self) -> Self {
        move |error| match error {
            unfinished @ Self::Unfinished { .. } => unfinished,
            other => Self::Unfinished {
                receipt,
                source: Box::new(other),
            },
        }
    }

    /// Returns true if the disk of the store is full.
    #[must_use]
    pub fn is_lack_of_room(&self) -> bool {
        match self {
            Self::Catalog { fault, .. } => *fault == CatalogFault::Full,
            Self::NoRoom { .. } => true,
            Self::Io { source, .. } | Self::Create { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }

    /// Returns the same error if the system refused to read an archive that is there: that is no damage.
    pub(in crate::store) fn refused(&self) -> Option<Self> {
        let Self::Archive(ArchiveError::Read { path, source }) = self else {
            return None;
        };
        let is_refusal =
            source.kind() == io::ErrorKind::PermissionDenied || handle_fs::is_out_of_handles(source);
        let code = source.raw_os_error().filter(|_| is_refusal)?;
        Some(
            ArchiveError::Read {
                path: path.clone(),
                source: io::Error::from_raw_os_error(code),
            }
            .into(),
        )
    }

    /// Returns true if this is damage of the file at `path`.
    pub(in crate::store) fn is_damage_of(&self, path: &Path) -> bool {
        matches!(self, Self::Damaged { path: damaged, .. } if damaged == path)
    }
}

impl Diagnostic for StoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Newer { .. } | Self::UnknownReceipt { .. } => ErrorKind::NewerStore,
            Self::Sealed { is_key: true, .. } => ErrorKind::Usage,
            Self::Damaged { .. }
            | Self::Sealed { .. }
            | Self::Chain { .. }
            | Self::Untold { .. }
            | Self::DamagedJournal { .. }
            | Self::LostRecord { .. }
            | Self::Content { .. }
            | Self::Manifest { .. }
            | Self::Unread { .. }
            | Self::NoArchive { .. } => ErrorKind::Integrity,
            Self::Archive(error) => error.kind(),
            Self::Unfinished { source, .. } => source.kind(),
            Self::NoSnapshot { .. } => ErrorKind::UnknownSnapshot,
            Self::Locked { .. } => ErrorKind::RefusedActive,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Ended(_) => ErrorKind::Failed,
            Self::Create { .. }
            | Self::NoRoom { .. }
            | Self::Unsafe { .. }
            | Self::Io { .. }
            | Self::Native { .. }
            | Self::Exists { .. }
            | Self::WrongDraft { .. }
            | Self::ReadOnly { .. }
            | Self::Catalog { .. } => ErrorKind::Io,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Chain { .. } => vec![Hint::command("to repair it from the catalog's copy", "rebuild")],
            Self::Untold { .. } => vec![
                Hint::text("if you have a backup of receipts.log, copy it there"),
                Hint::command("or to continue without them", "rebuild --accept-loss"),
            ],
            Self::DamagedJournal { path, instance, .. } => past_damaged_journal(path, instance.as_ref()),
            Self::Locked {
                object: LockedObject::Root(_, holders),
            } => vec![wait_hint(holders)],
            Self::Sealed { is_key: true, .. } => vec![Hint::text(
                "--identity takes a file with the private key that belongs to one of the recipients, or with several keys; \
                the contract named the recipients; without it everything else is restored",
            )],
            Self::Unfinished { source, .. } => vec![Hint::command(
                match source.is_lack_of_room() {
                    true => "free disk space for the store; then, to remove them",
                    false => "to remove them",
                },
                "prune",
            )],
            Self::Catalog {
                fault: CatalogFault::Full,
                ..
            }
            | Self::NoRoom { .. } => vec![Hint::text(MAKE_ROOM)],
            Self::Catalog {
                fault: CatalogFault::Held,
                ..
            } => vec![Hint::text(
                "another program has it open; end that program or wait for it, then repeat the command",
            )],
            Self::Catalog { path, .. } => own_hint(path),
            Self::Archive(ArchiveError::Read { path, source }) => match source.kind() {
                io::ErrorKind::PermissionDenied => own_hint(path),
                _ => out_of_handles_hint(source).into_iter().collect(),
            },
            Self::Io {
                action: "lock", path, ..
            } if is_elsewhere(path) => vec![Hint::command(
                "to write the files of all mounts to a new directory of this machine",
                "restore --to NEW-DIRECTORY",
            )],
            Self::Io { source, path, .. } | Self::Create { source, path } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => vec![Hint::text(MAKE_ROOM)],
                io::ErrorKind::FileTooLarge => {
                    vec![Hint::text(
                        "raise the limit on the size of files: ulimit -f unlimited",
                    )]
                }
                _ if handle_fs::is_out_of_handles(source) => {
                    out_of_handles_hint(source).into_iter().collect()
                }
                io::ErrorKind::ReadOnlyFilesystem => vec![Hint::text(
                    "mount its file system writable, or name another jackin home in JACKIN_HOME_DIR",
                )],
                io::ErrorKind::PermissionDenied if !own_hint(path).is_empty() => own_hint(path),
                io::ErrorKind::NotADirectory => vec![Hint::text(
                    "a file stands where a directory should be: move it away, or name another jackin home in JACKIN_HOME_DIR",
                )],
                _ if matches!(self, Self::Create { .. }) => vec![Hint::text(
                    "make the directory above it writable, or name another jackin home in JACKIN_HOME_DIR",
                )],
                // As after `sudo` or `su` with the other user's HOME.
                io::ErrorKind::PermissionDenied => vec![Hint::text(
                    "you may not read it: HOME may still be another user's; name a jackin home of your own in JACKIN_HOME_DIR",
                )],
                _ => Vec::new(),
            },
            _ => match self.kind() {
                ErrorKind::Integrity => vec![Hint::command("to find other damage", "verify --read-data")],
                ErrorKind::NewerStore => {
                    vec![Hint::text(
                        "nothing was changed; use the newer version that wrote it",
                    )]
                }
                _ => Vec::new(),
            },
        }
    }
}

/// Rights of the owner that a directory of the store needs.
const USE_DIRECTORY: u32 = 0o700;
/// Rights of the owner that a file of the store needs.
const USE_FILE: u32 = 0o600;

/// Returns the change of mode that opens a file or directory of the store to its owner; nothing if its mode does not close it.
fn own_hint(path: &Path) -> Vec<Hint> {
    let is_dir = handle_fs::stat_path(path)
        .ok()
        .flatten()
        .is_some_and(|stat| stat.kind == NodeKind::Directory);
    let need = if is_dir { USE_DIRECTORY } else { USE_FILE };
    // A file is also made, renamed and removed in its directory.
    let above = path.parent().filter(|_| !is_dir);
    let hint = own_mode_hint(path, need).or_else(|| own_mode_hint(above?, USE_DIRECTORY));
    hint.into_iter().collect()
}

const MAKE_ROOM: &str = "free disk space for the store, or set JACKIN_HOME_DIR to another jackin home";

/// Returns advice about the processes that hold a lock.
#[must_use]
pub fn wait_hint(holders: &[Holder]) -> Hint {
    let pids: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
    Hint::Text(match pids.is_empty() {
        true => "wait until it is done".to_owned(),
        false => format!(
            "wait until it is done, or end it; it may wait for an answer in its terminal: ps -fp {}",
            pids.join(",")
        ),
    })
}

/// Returns the ways past a restore whose journal is damaged. It can be neither finished nor rolled back, and what it moved stays.
fn past_damaged_journal(path: &Path, instance: Option<&InstanceId>) -> Vec<Hint> {
    let hint = match (instance, path.parent()) {
        (Some(instance), _) => Hint::command(
            "to discard the restore and keep every path as it is now",
            format!("abort {instance} --yes --as-is"),
        ),
        (None, Some(directory)) => Hint::text(format!(
            "copy it from a backup, or move {} away: every path then stays as it is, and directories \
            .jackin-recovery-* beside or in the mounts hold what was moved aside",
            sanitize::path(directory)
        )),
        (None, None) => return Vec::new(),
    };
    vec![hint]
}
