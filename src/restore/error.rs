//! Errors of a restore, with their kinds and hints.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::problem::{is_denial, is_foreign_object, is_out_of_space};
use super::scope::UnmatchedGlob;
use crate::capture::{CaptureError, mount_hint};
use crate::diagnostic::denied::denied_hint;
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, shell, size};
use crate::model::{Digest, InstanceId, Intent, RelPath, SnapshotId};
use crate::store::StoreError;
use git_reader::is_dot_git;
use handle_fs::MountError;
use handle_fs::remote::is_elsewhere;

/// Error of a restore. Unless its text says otherwise, nothing below the mounts has changed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The operator stopped it.
    #[error("interrupted; nothing was changed")]
    Interrupted,
    /// Looking, or the emergency snapshot, failed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The emergency snapshot could not be taken or does not read back.
    #[error("the emergency snapshot failed, so nothing was changed: {0}")]
    Emergency(CaptureError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A glob matches nothing.
    #[error("{}", described(.0))]
    Unmatched(UnmatchedGlob),
    /// A process works on a repository that would change.
    #[error("{0}; nothing was changed")]
    Locked(Box<Locked>),
    /// Git changes a repository that would change, or will after its editor.
    #[error("git {command} (process {pid}) works on {}; nothing was changed", repository.display())]
    GitAtWork {
        /// The git directory on the host.
        repository: PathBuf,
        /// The command of git.
        command: String,
        /// Number of the process.
        pid: u32,
    },
    /// A server works on a database.
    #[error("{} is in use by {program} (process {pid})", directory.display())]
    DatabaseInUse {
        /// The data directory on the host.
        directory: PathBuf,
        /// Name that the process gives itself.
        program: String,
        /// Number of the process.
        pid: u32,
        /// True if the restore can do without the directory.
        can_exclude: bool,
    },
    /// The staging directory cannot be used.
    #[error("{} cannot be used for staging: {source}", path.display())]
    Stage {
        /// The staging directory.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// A mount root is to be created, and the directory that it lay in is missing as well.
    #[error("{} cannot be restored: {} is missing; nothing was changed", root.display(), parent.display())]
    NoParent {
        /// The mount root.
        root: PathBuf,
        /// Directory that it lay in.
        parent: PathBuf,
    },
    /// Not enough room to write the new content beside the old.
    #[error("{} are needed in {} and {} are free", size::bytes(*need), path.display(), size::bytes(*free))]
    Space {
        /// Directory that will hold the staging directory.
        path: PathBuf,
        /// Bytes needed.
        need: u64,
        /// Bytes free.
        free: u64,
    },
    /// The system refuses moves between a directory and the staging directory, although both lie on one mount.
    #[error("files cannot be moved between {} and {}; everything is as it was", staging.display(), directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
        /// The staging directory.
        staging: PathBuf,
    },
    /// Two paths of the snapshot cannot be written beside each other.
    #[error("{} takes {path:?} and {other:?} for one name", directory.display())]
    OneName {
        /// Directory that was to be written.
        directory: PathBuf,
        /// One of them, below it.
        path: RelPath,
        /// The other one.
        other: RelPath,
    },
    /// New content cannot be written.
    #[error("{path:?} cannot be staged: {source}")]
    Build {
        /// Below the mount root.
        path: RelPath,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// Stored content cannot be read.
    #[error("the stored content of {path:?} cannot be read: {source}")]
    Content {
        /// Below the mount root.
        path: RelPath,
        /// Error from the store.
        source: StoreError,
    },
    /// Stored content is not what it was.
    #[error("the stored content of {path:?} is damaged (digest {digest})")]
    Damaged {
        /// Below the mount root.
        path: RelPath,
        /// Digest that the content should have.
        digest: Digest,
    },
    /// The tree changed between plan and act.
    #[error("{} changed while the restore was under way; everything is as it was", path.display())]
    Drift {
        /// The host path.
        path: PathBuf,
    },
    /// A move failed for a reason that the next one would meet too.
    #[error("{} cannot be changed: {source}; everything is as it was", path.display())]
    Apply {
        /// The host path.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// The rollback failed as well, so the restore stays pending.
    #[error(
        "{}rollback failed at {}: {source}; what was moved aside is in {}",
        cause.as_ref().map(|cause| format!("{cause}; ")).unwrap_or_default(), path.display(), aside.display()
    )]
    RollBack {
        /// Reason for the rollback; `None` if the operator asked for it.
        cause: Option<String>,
        /// Path at which the rollback stopped.
        path: PathBuf,
        /// Directory that holds the old objects.
        aside: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// The restore stopped halfway and can be neither finished nor rolled back for now.
    #[error("{why}; the restore of {instance} is interrupted, and some paths may be old and some new")]
    Waits {
        /// Reason for the stop.
        why: String,
        /// Session that the restore belongs to.
        instance: InstanceId,
        /// True if the disk of the store is full.
        needs_room: bool,
    },
    /// An interrupted restore waits on these mounts.
    #[error("a restore of {} was interrupted, and some paths may be old and some new", .0.instance)]
    Pending(Box<Intent>),
    /// A restore on these mounts is done, and a command that only reads cannot record it.
    #[error("a restore of {} was done, but is not recorded: its process ended before that", .0.instance)]
    Unsettled(Box<Intent>),
    /// Another process finished an interrupted restore meanwhile.
    #[error("the restore of {} was finished by another process meanwhile", .0.instance)]
    Finished(Box<Intent>),
    /// An interrupted restore had not touched anything yet.
    #[error("the restore of {} was interrupted before it changed anything", .0.instance)]
    NotBegun(Box<Intent>),
    /// A path that a pending restore would change has changed since.
    #[error("{} changed since the restore of {instance} was interrupted; nothing was changed", path.display())]
    Changed {
        /// The host path.
        path: PathBuf,
        /// Session that the restore belongs to.
        instance: InstanceId,
    },
    /// The old object of a path is nowhere any more.
    #[error("the previous {} was removed while the restore was interrupted", path.display())]
    Gone {
        /// The host path.
        path: PathBuf,
    },
    /// The mode, owner or an attribute of a path was set while the restore waited. It counts as a later edit.
    #[error("the mode, the owner or an attribute of {} was changed while the restore was interrupted, and stays", path.display())]
    Kept {
        /// The host path.
        path: PathBuf,
    },
    /// The directory of a path that may have its new state is missing.
    #[error("the directory of {} is missing; the path may come back with it as it was restored", path.display())]
    Away {
        /// The host path.
        path: PathBuf,
    },
    /// The staging directory of an interrupted restore is gone, and with it what was to come in.
    #[error("{} and its staged files are missing", path.display())]
    StageGone {
        /// The staging directory.
        path: PathBuf,
    },
    /// The staging directory of an interrupted restore belongs to another user, as after `sudo`.
    #[error("{} belongs to user {uid}, and this user may not use it", path.display())]
    OtherUser {
        /// The staging directory.
        path: PathBuf,
        /// Its owner.
        uid: u32,
    },
    /// The mount root is not the directory that an interrupted restore began in.
    #[error("{} is not the directory that the restore began in", path.display())]
    OtherRoot {
        /// The mount root.
        path: PathBuf,
    },
    /// The snapshot was taken by a shell, which sees no attributes, and this program would delete those of now.
    #[error(
        "the snapshot of {} was taken by a shell, so its attributes, ACLs and flags are unknown: with this program there, a restore \
        would delete those that the files have now",
        path.display()
    )]
    AttributesUnknown {
        /// The mount root.
        path: PathBuf,
    },
    /// The mount root lies in another container than the one in which an interrupted restore moved paths.
    #[error("{} is in another container than when the restore began: nothing was moved in this one", path.display())]
    OtherContainer {
        /// The mount root.
        path: PathBuf,
        /// The session of the restore.
        instance: InstanceId,
    },
    /// The staging directory cannot be removed.
    #[error("{} cannot be removed: {source}", path.display())]
    Settle {
        /// The staging directory.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// A flag that was taken off could not be restored.
    #[error("cannot restore the flags (lsattr) of {}: {source}", path.display())]
    Unbound {
        /// The host path.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// Everything is done, and the last of it may not outlast a power loss.
    #[error("times and flags in {} may not outlast a power loss: {source}", path.display())]
    Lasting {
        /// The mount root.
        path: PathBuf,
        /// Underlying I/O error.
        source: io::Error,
    },
    /// A restore that stopped left something in a staging directory.
    #[error("{cause}; {left}")]
    Left {
        /// Error that stopped the restore.
        cause: Box<RestoreError>,
        /// Error that names what stays, and its place.
        left: Box<RestoreError>,
    },
    /// Files were restored, and the receipt could not be written: until it is, no `undo` knows of it.
    #[error(
        "the files were restored, but no receipt could be written ({source}); the previous files are in {emergency}"
    )]
    Unrecorded {
        /// The emergency snapshot.
        emergency: SnapshotId,
        /// Error from the store.
        source: StoreError,
    },
    /// The mount root cannot be opened.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The snapshot is incomplete and the operator asked for a complete one.
    #[error("snapshot {0} is not complete")]
    Incomplete(SnapshotId),
    /// The directory for `--to` is not absent or empty.
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
}

impl RestoreError {
    /// Returns the error of a restore that `self` stopped halfway.
    pub(super) fn halfway(&self, instance: &InstanceId) -> Self {
        Self::Waits {
            why: self.bare(),
            instance: instance.clone(),
            needs_room: matches!(self, Self::Store(error) if error.is_lack_of_room()),
        }
    }

    /// Returns the error text without the statement about the state of the tree.
    pub(super) fn bare(&self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Drift { path } => format!("{} changed while the restore was under way", path.display()),
            Self::Apply { path, source } => format!("{} cannot be changed: {source}", path.display()),
            Self::Foreign { directory, staging } => format!(
                "files cannot be moved between {} and {}",
                staging.display(),
                directory.display()
            ),
            other => other.to_string(),
        }
    }

    /// Returns true if each later command tries to clean up what is left, and reports it until that succeeds.
    ///
    /// This includes foreign files in a staging directory. It excludes a directory that should be empty and gained an entry
    /// during its removal.
    pub(super) fn may_settle_later(&self) -> bool {
        match self {
            Self::Settle { source, .. } => source.kind() != io::ErrorKind::DirectoryNotEmpty,
            Self::Stage { .. } | Self::OtherUser { .. } | Self::Unbound { .. } | Self::Lasting { .. } => true,
            Self::Left { cause, left } => left.may_settle_later() || cause.has_left_some(),
            _ => false,
        }
    }

    /// Returns true if the stopped restore left something that the next command may clean up. Its journal is kept for that.
    pub(super) fn has_left_some(&self) -> bool {
        matches!(self, Self::Left { .. }) && self.may_settle_later()
    }

    /// Returns true if the restore is neither finished nor rolled back. Its journal is kept for `resume` or `abort`.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        match self {
            Self::RollBack { .. }
            | Self::Waits { .. }
            | Self::Changed { .. }
            | Self::Pending(_)
            | Self::Unsettled(_)
            | Self::Unrecorded { .. } => true,
            Self::Left { cause, .. } => cause.is_pending(),
            _ => false,
        }
    }
}

/// Combines the error that stopped a restore with the error of the cleanup after it.
pub(super) fn left(cause: RestoreError, settled: Result<(), RestoreError>) -> RestoreError {
    match settled {
        Ok(()) => cause,
        Err(left) => RestoreError::Left {
            cause: Box::new(cause),
            left: Box::new(left),
        },
    }
}

// The glob is no source: the message names it.
impl From<UnmatchedGlob> for RestoreError {
    fn from(unmatched: UnmatchedGlob) -> Self {
        Self::Unmatched(unmatched)
    }
}

/// Names a glob that matches nothing, as a terminal may show it.
fn described(unmatched: &UnmatchedGlob) -> String {
    format!("no path matches {}", sanitize::name(unmatched.word.as_bytes()))
}

impl Diagnostic for RestoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Capture(error) | Self::Emergency(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Left { cause, .. } => cause.kind(),
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Content { .. } | Self::Damaged { .. } => ErrorKind::Integrity,
            Self::Incomplete(_) => ErrorKind::NothingToRestore,
            Self::NotEmpty(_) | Self::Unmatched(_) => ErrorKind::Usage,
            Self::Locked(_) | Self::GitAtWork { .. } | Self::DatabaseInUse { .. } => ErrorKind::RefusedLocked,
            Self::Drift { .. } | Self::OneName { .. } => ErrorKind::Failed,
            Self::Pending(_)
            | Self::Unsettled(_)
            | Self::RollBack { .. }
            | Self::Changed { .. }
            | Self::Waits { .. }
            | Self::StageGone { .. }
            | Self::OtherUser { .. }
            | Self::OtherRoot { .. }
            | Self::OtherContainer { .. } => ErrorKind::Pending,
            Self::Mount(_)
            | Self::AttributesUnknown { .. }
            | Self::Space { .. }
            | Self::Stage { .. }
            | Self::NoParent { .. }
            | Self::Foreign { .. }
            | Self::Build { .. }
            | Self::Apply { .. }
            | Self::Finished(_)
            | Self::NotBegun(_)
            | Self::Gone { .. }
            | Self::Kept { .. }
            | Self::Away { .. }
            | Self::Settle { .. }
            | Self::Unbound { .. }
            | Self::Lasting { .. }
            | Self::Unrecorded { .. } => ErrorKind::Io,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Capture(error) if error.is_root_closed() => with_mode(error.hints()),
            Self::Capture(error) | Self::Emergency(error) => error.hints(),
            Self::Mount(error) => mount_hint(error).into_iter().collect(),
            Self::AttributesUnknown { .. } => vec![Hint::text(
                "nothing was changed; with --agent shell, files keep their attributes unless they are replaced: those of replaced files are lost, also \
                for undo",
            )],
            Self::OtherContainer { instance, .. } => vec![Hint::command(
                "to discard the restore and keep every path as it is",
                format!("abort {instance} --as-is"),
            )],
            Self::NoParent { parent, .. } => vec![Hint::text(match is_elsewhere(parent) {
                true => "create it and repeat the command".to_owned(),
                false => format!(
                    "create it and repeat the command:\n  mkdir -p {}",
                    shell::word(parent)
                ),
            })],
            Self::Stage { path, source } if is_denial(source) && !handle_fs::is_bound(source) => {
                let directory = path.parent().unwrap_or(path);
                denied_hint(directory, TO_STAGE, source).into_iter().collect()
            }
            Self::Store(error) => error.hints(),
            Self::Left { cause, .. } => cause.hints(),
            Self::Pending(intent) => take_up(&intent.instance),
            Self::Unsettled(intent) => {
                vec![Hint::command(
                    "to record it",
                    format!("resume {}", intent.instance),
                )]
            }
            Self::Waits {
                instance, needs_room, ..
            } => {
                // In another jackin home nothing would know of the restore.
                let room = needs_room.then(|| Hint::text("free disk space for the store first"));
                room.into_iter().chain(take_up(instance)).collect()
            }
            Self::Stage { source, .. } | Self::Build { source, .. } if is_out_of_space(source) => {
                vec![Hint::text(
                    "make room on that file system, then repeat the command; `df` shows its space, `df -i` its inodes",
                )]
            }
            Self::Changed { instance, .. } => vec![Hint::command(
                "to roll it back; your edits stay",
                format!("abort {instance}"),
            )],
            Self::RollBack { path, source, .. } if is_foreign_object(source) => {
                let directory = shell::word(path.parent().unwrap_or(path));
                let taken = format!(
                    "if its directory has a project id, this lets the file in:\n  chattr -P {directory}"
                );
                [Hint::text(taken)].into_iter().chain(give_up()).collect()
            }
            Self::RollBack { .. } => give_up().into(),
            Self::Apply { path, .. } if path.iter().any(|part| is_dot_git(part.as_bytes())) => {
                vec![Hint::text("restore --files-only does not touch git repositories")]
            }
            Self::StageGone { .. } => {
                let [back, forget] = give_up();
                let lost = "it can no longer be finished; abort rolls back what it can, and lists the rest";
                vec![Hint::text(lost), back, forget]
            }
            Self::OtherUser { path, .. } if is_elsewhere(path) => {
                vec![Hint::text(
                    "repeat the command as that user of the machine, or as root there",
                )]
            }
            Self::OtherUser { .. } => vec![
                Hint::text("to finish it:\n  sudo jackin recovery resume"),
                Hint::text("to roll it back:\n  sudo jackin recovery abort"),
            ],
            other => other.advice().map(Hint::text).into_iter().collect(),
        }
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Capture(error) | Self::Emergency(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Capture(error) => error.message(),
            Self::Store(error) => error.message(),
            Self::Emergency(error) => format!(
                "the emergency snapshot failed, so nothing was changed: {}",
                error.message()
            ),
            Self::DatabaseInUse {
                directory,
                program,
                pid,
                ..
            } => {
                let program = sanitize::name(program.as_bytes());
                format!(
                    "{} is in use by {program} (process {pid})",
                    sanitize::path(directory)
                )
            }
            Self::Locked(locked) => {
                let lock = sanitize::path(&locked.lock);
                let held = match &locked.holder {
                    Some((pid, name)) => {
                        let name = sanitize::name(name.as_bytes());
                        format!("{lock} is held by {name} (process {pid})")
                    }
                    None => format!("{lock} may be held by a process"),
                };
                format!("{held}; nothing was changed")
            }
            Self::GitAtWork {
                repository,
                command,
                pid,
            } => format!(
                "git {} (process {pid}) works on {}; nothing was changed",
                sanitize::name(command.as_bytes()),
                sanitize::path(repository)
            ),
            other => other.to_string(),
        }
    }
}

impl RestoreError {
    /// Returns the advice for an error that leaves no restore to be resumed.
    fn advice(&self) -> Option<&'static str> {
        let advice = match self {
            Self::Content { .. } | Self::Damaged { .. } => {
                "nothing was changed; verify --read-data lists all damage"
            }
            Self::Incomplete(_) => "`show` lists what is missing; omit --require-complete to use it",
            Self::Foreign { .. } => {
                "a project id of the directory (lsattr -dp) or encryption can be the reason; restore --to DIR writes the \
                files elsewhere"
            }
            Self::NotEmpty(_) => "choose an absent or empty directory",
            Self::OneName { .. } => {
                "choose a directory on a file system that tells case apart, or only one of the paths"
            }
            Self::Unmatched(_) => "quote a glob for the shell; ** matches any number of directories",
            Self::DatabaseInUse {
                can_exclude: true, ..
            } => "stop it: the database would be damaged under it; or use --exclude to skip the directory",
            Self::DatabaseInUse { .. } => "stop it: the database would be damaged under it",
            Self::Locked(_) | Self::GitAtWork { .. } => {
                "wait until git is done, or use --files-only to skip the repository"
            }
            Self::Drift { .. } => "run the command again; stop what still writes there",
            Self::Space { .. } => "nothing was changed; make room and try again",
            Self::Stage { source, .. } if handle_fs::is_bound(source) => {
                "nothing was changed; if the directory is immutable or append-only (lsattr -d), `chattr -i -a` takes \
                 that off"
            }
            Self::Stage { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "nothing was changed; its file system is read-only: make it writable and try again"
            }
            Self::OtherRoot { .. } => {
                "move the directory back, or mount it again; abort --as-is discards the restore and keeps every path \
                as it is"
            }
            Self::Unrecorded { .. } => {
                "the next command that works on these files writes it (undo, restore, begin, launch); until then \
                `log` does not know of this restore"
            }
            other if other.is_denied() && !handle_fs::is_privileged() => "repeat the command with `sudo`",
            _ => return None,
        };
        Some(advice)
    }

    /// Returns true if the system denied access.
    fn is_denied(&self) -> bool {
        let cause = self
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>());
        cause.is_some_and(is_denial)
    }
}

/// Rights of the owner that a directory needs for something to be staged in it.
const TO_STAGE: u32 = 0o300;

/// Adds to the hints for a root whose mode denies access how a session's change of that mode is undone: what gives access is a later edit.
fn with_mode(mut hints: Vec<Hint>) -> Vec<Hint> {
    hints.push(Hint::text(
        "if the session changed its mode, `restore --overwrite-later-edits` restores that, and discards all later edits",
    ));
    hints
}

/// Returns the commands that take an interrupted restore up.
fn take_up(instance: &InstanceId) -> Vec<Hint> {
    vec![
        Hint::command("to finish it", format!("resume {instance}")),
        Hint::command("to roll it back", format!("abort {instance}")),
    ]
}

/// Returns the commands for a restore that can only be rolled back.
fn give_up() -> [Hint; 2] {
    [
        Hint::command("to roll it back, once the cause is removed", "abort"),
        Hint::command(
            "or to discard it and keep every path as it is now",
            "abort --as-is",
        ),
    ]
}

/// A lock in a repository, and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// The lock on the host.
    pub lock: PathBuf,
    /// Number and name of the process that holds the lock; `None` if unknown.
    pub holder: Option<(u32, String)>,
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lock = self.lock.display();
        match &self.holder {
            Some((pid, name)) => write!(f, "{lock} is held by {name} (process {pid})"),
            None => write!(f, "{lock} may be held by a process"),
        }
    }
}
