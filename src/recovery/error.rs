//! Error of the engine: those of the stages below, and the refusals that only the engine knows.

use std::path::PathBuf;

use super::{Candidate, ForkError, MountPointError, OutputError};
use crate::capture::CaptureError;
use crate::config::ConfigError;
use crate::contract::ContractError;
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::{sanitize, shell, size};
use crate::model::{ByteString, Digest, InstanceId, RelPath, SnapshotId, StoreId};
use crate::replica::ReplicaError;
use crate::restore::{AsideError, RestoreError};
use crate::retention::ForgetError;
use crate::session::{AdoptError, SessionError};
use crate::store::{Anchor, Holder, StoreError, wait_hint};
use crate::transfer::TransferError;

/// Maximum number of directories that are named.
const NAMED: usize = 8;

/// Error of a method of [`super::Recovery`].
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session cannot be found, or may not do this.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The restore failed or was refused.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// A capture or a look at the live files failed.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The contract cannot be made.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// A directory cannot be written into.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A fork cannot be made or found.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// Snapshots cannot be mounted on a directory.
    #[error(transparent)]
    MountPoint(#[from] MountPointError),
    /// A file cannot be exported or imported.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// Nothing is forgotten.
    #[error(transparent)]
    Forget(#[from] ForgetError),
    /// The copy of the store failed.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// A copy cannot be imported.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
    /// The bucket holds several stores, and none was named.
    #[error("{place} holds {} stores", stores.len())]
    SeveralStores {
        /// The address of the bucket.
        place: String,
        /// The stores.
        stores: Vec<StoreId>,
    },
    /// The receipts of the copy differ from a link that was saved elsewhere.
    #[error(
        "{place}/{store}: its receipts do not continue receipt {receipt} as the anchor has it: it is not the store that was copied, or its end \
         is missing"
    )]
    OtherChain {
        /// The address of the bucket.
        place: String,
        /// The store.
        store: StoreId,
        /// Number of the saved receipt.
        receipt: u64,
    },
    /// The recipients that the copy is to be encrypted for cannot be used.
    #[error("cannot encrypt the copy: {0}")]
    ReplicaRecipients(String),
    /// Root that acts for a user would sign in to the object store with credentials of root.
    #[error(
        "root that acts for user {0} (sudo) would sign in to the object store with credentials of its own"
    )]
    ReplicaOfUser(u32),
    /// The check of the store was stopped.
    #[error("interrupted before everything was checked")]
    Unverified,
    /// Receipts are damaged, and no copy has all of them.
    #[error("{error}; but not of all receipts from there on")]
    BrokenChain {
        /// Error of the first link that does not hold.
        error: Box<StoreError>,
        /// Number of links before it.
        valid: u64,
    },
    /// Everything was written but the receipt.
    #[error("{source}")]
    Unlogged {
        /// Error from the store.
        source: Box<StoreError>,
        /// File or directory that was written.
        written: PathBuf,
    },
    /// Neither jackin's home nor the user's is known.
    #[error("your home directory is unknown, and so is jackin's")]
    NoHome,
    /// The contract's mode records nothing.
    #[error("the mode is off, so there is no session to start")]
    ModeOff,
    /// The recipients that credentials are to be encrypted for cannot be used.
    #[error("{place}: {why}")]
    Recipients {
        /// Place in the configuration.
        place: String,
        /// Problem with them.
        why: String,
    },
    /// No session was named, and the caller runs in none.
    #[error("not inside a session; name one, for example @latest")]
    Unnamed,
    /// The session's mode records no files.
    #[error("{instance} has no files to restore: its mode was {mode}")]
    NoFiles {
        /// The session.
        instance: InstanceId,
        /// Its mode.
        mode: String,
    },
    /// No checkpoint can be taken of a session whose mode records no files.
    #[error("{instance} records no files (mode {mode}), so there is nothing to store")]
    NoMounts {
        /// The session.
        instance: InstanceId,
        /// Its mode.
        mode: String,
    },
    /// The session was imported from another machine.
    #[error("{0} was imported: its paths are those of another machine")]
    Imported(InstanceId),
    /// The session is not active.
    #[error("{0} is not active, so no checkpoint can be taken")]
    NotActive(InstanceId),
    /// The session ended, so its files are not watched.
    #[error("{0} is not active, so there is nothing to watch")]
    NotRunning(InstanceId),
    /// A launcher holds the session and ends it.
    #[error("{0} was started by launch, which ends it itself")]
    HeldByLauncher(InstanceId),
    /// A path lies in no mount of the session.
    #[error("{} is in no mount of the session", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
        /// Roots of the mounts.
        roots: Vec<ByteString>,
    },
    /// A path cannot be used.
    #[error("{} cannot be used as a path: {why}", path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// Problem with it.
        why: String,
    },
    /// Two sessions cover different directories.
    #[error("{}", described_mounts(earlier, later))]
    OtherMounts {
        /// Session of the earlier snapshot, and its directories.
        earlier: (InstanceId, Vec<PathBuf>),
        /// Session of the later snapshot, and its directories.
        later: (InstanceId, Vec<PathBuf>),
    },
    /// A snapshot does not have a file.
    #[error("{} is not in the snapshot {snapshot}", path.display())]
    NotStored {
        /// The path on this machine.
        path: PathBuf,
        /// The snapshot.
        snapshot: SnapshotId,
        /// The nearest snapshot that has it, with its session.
        nearest: Option<(InstanceId, SnapshotId)>,
    },
    /// `forget` deleted the path from the snapshots.
    #[error("{} was deleted from the store with forget", .0.display())]
    Forgotten(PathBuf),
    /// A file holds credentials of an agent, of which a snapshot has nothing, or nothing that is readable without a key.
    #[error("{} {}", path.display(), credentials_words(*is_sealed))]
    Credentials {
        /// The path on this machine.
        path: PathBuf,
        /// True if the snapshot has it encrypted.
        is_sealed: bool,
    },
    /// A path is no file whose content is stored.
    #[error("{} is {what}, which has no content to print", path.display())]
    NoContent {
        /// The path on this machine.
        path: PathBuf,
        /// Type of the object.
        what: &'static str,
    },
    /// A directory has no content.
    #[error("{} is a directory", path.display())]
    StoredDirectory {
        /// The path on this machine.
        path: PathBuf,
        /// The session.
        instance: InstanceId,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// A regular expression cannot be used.
    #[error("the regular expression {regex:?} cannot be used: {why}")]
    Regex {
        /// The expression as given.
        regex: String,
        /// Problem with it.
        why: String,
    },
    /// A glob cannot be used.
    #[error("the glob {glob:?} cannot be used: {why}")]
    Glob {
        /// The glob as given.
        glob: String,
        /// Problem with it.
        why: String,
    },
    /// A path is on neither side of a comparison, nor in the snapshot.
    #[error("{} {described}", path.display())]
    Nowhere {
        /// The path on this machine.
        path: PathBuf,
        /// Places in which it is not.
        described: String,
        /// True if the path begins with `-` below its mount.
        is_dashed: bool,
        /// The session.
        instance: InstanceId,
    },
    /// A directory has no lines.
    #[error("{} is a directory", .0.display())]
    Directory(PathBuf),
    /// No session covers a path.
    #[error("no session covers {}", .0.display())]
    Uncovered(PathBuf),
    /// The session's excludes leave a path out.
    #[error("{} is excluded by {pattern}, so no snapshot has it", path.display())]
    Excluded {
        /// The path on this machine.
        path: PathBuf,
        /// Pattern of the exclude.
        pattern: String,
    },
    /// A path is outside the tracked paths of the session.
    #[error("{} is outside the tracked paths, so no snapshot has it", path.display())]
    Untracked {
        /// The path on this machine.
        path: PathBuf,
        /// The tracked paths below the mount.
        tracked: Vec<RelPath>,
    },
    /// A directory cannot be set aside.
    #[error("{refused}")]
    Aside {
        /// The refusal.
        refused: AsideError,
        /// Excluded directories that are there.
        there: Vec<PathBuf>,
    },
    /// A file with private keys cannot be used.
    #[error("--identity {}: {why}", file.display())]
    Identity {
        /// The file.
        file: PathBuf,
        /// Problem with it.
        why: String,
        /// True if a key has a passphrase and none was given.
        needs_passphrase: bool,
    },
    /// The question for the passphrase of a private key was answered by Enter alone, Ctrl-C, or another signal.
    #[error("no passphrase was given; nothing was changed")]
    PassphraseWithheld,
    /// Another session changed something while the caller was asked.
    #[error(
        "{0} changed something here while the question was open, so the plan may be out of date; nothing was changed"
    )]
    Outdated(InstanceId),
    /// Archives were rewritten while the caller was asked.
    #[error(
        "archives were rewritten while the question was open, so the plan may be out of date; nothing was changed"
    )]
    Rewritten,
    /// No interrupted restore waits.
    #[error("{}", none_interrupted(instance.as_ref()))]
    NoneInterrupted {
        /// The session, when one was named.
        instance: Option<InstanceId>,
    },
    /// Several interrupted restores wait, and no session was named.
    #[error("several restores were interrupted; name the session")]
    SeveralInterrupted {
        /// Session of the first.
        first: InstanceId,
        /// Session of another one.
        other: InstanceId,
    },
    /// The restore is not interrupted: its process is alive.
    #[error("the restore of {instance} is running in {}", described(holders))]
    RestoreRuns {
        /// The session.
        instance: InstanceId,
        /// Processes that hold its lock; empty if they are unknown.
        holders: Vec<Holder>,
    },
    /// Another process has taken the interrupted restore up.
    #[error("another process is finishing the restore of {0}")]
    TakenUp(InstanceId),
    /// The interrupted restore needs the private key that it was begun with.
    #[error("that restore was begun with your private key, and had not changed anything yet")]
    KeyWanted,
    /// The log ends before a receipt that was saved elsewhere.
    #[error("receipts are missing: the log ends with {last}, and the fingerprint is of receipt {known}")]
    ReceiptsGone {
        /// Number of the last receipt.
        last: u64,
        /// Number of the saved receipt.
        known: u64,
    },
    /// The log differs from a receipt that was saved elsewhere.
    #[error(
        "receipt {} or an earlier one was changed: the fingerprint has {}, the log {found}",
        known.number,
        known.hash
    )]
    ReceiptChanged {
        /// The saved link.
        known: Anchor,
        /// Hash in the log.
        found: Digest,
    },
    /// Nothing is recorded at all.
    #[error("no session is recorded yet")]
    NothingRecorded,
    /// No session was named, and none covers the current directory.
    #[error("no session covers {}", directory.display())]
    NotHere {
        /// The current directory.
        directory: PathBuf,
        /// The sessions that there are, newest first.
        sessions: Vec<Candidate>,
    },
    /// No session that covers the current directory was restored.
    #[error("nothing to undo in {}", directory.display())]
    NothingToUndoHere {
        /// The current directory.
        directory: PathBuf,
    },
    /// The named session was not restored.
    #[error("nothing to undo: {id} was not restored")]
    NeverRestored {
        /// The session.
        id: InstanceId,
        /// False if it has no snapshot to restore, as in mode `metadata`.
        keeps_files: bool,
    },
    /// There is no restore to undo, or none with this receipt.
    #[error("{}", nothing_to_undo(*receipt))]
    NothingToUndo {
        /// Number of the receipt, when one was named.
        receipt: Option<u64>,
    },
}

fn nothing_to_undo(receipt: Option<u64>) -> String {
    match receipt {
        Some(number) => format!("receipt {number} is not a restore that can be undone"),
        None => "nothing to undo".to_owned(),
    }
}

fn none_interrupted(instance: Option<&InstanceId>) -> String {
    let of = instance.map_or_else(String::new, |id| format!(" of {id}"));
    format!("no interrupted restore{of}")
}

/// Names the directories of two sessions.
fn described_mounts(
    (earlier, one): &(InstanceId, Vec<PathBuf>),
    (later, other): &(InstanceId, Vec<PathBuf>),
) -> String {
    let named = |roots: &[PathBuf]| {
        let roots: Vec<String> = roots.iter().map(|root| sanitize::path(root)).collect();
        match roots.is_empty() {
            true => "no directory".to_owned(),
            false => roots.join(" and "),
        }
    };
    format!(
        "{earlier} and {later} cannot be compared: one covers {}, the other {}",
        named(one),
        named(other)
    )
}

fn described(holders: &[Holder]) -> String {
    let all: Vec<String> = holders.iter().map(Holder::described).collect();
    match all.is_empty() {
        true => "another process".to_owned(),
        false => all.join(", "),
    }
}

impl RecoveryError {
    /// Returns the error for a name when there is no store at all.
    #[must_use]
    pub fn no_store(wanted: &str) -> Self {
        Self::Session(SessionError::Unknown {
            wanted: wanted.to_owned(),
            nearest: Vec::new(),
            some_recorded: false,
        })
    }

    /// Returns true if a deletion has its receipt, so that only its bytes are left to remove.
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Unfinished { .. })
                | Self::Forget(ForgetError::Store(StoreError::Unfinished { .. }))
        )
    }

    /// Returns true if the session, or a process on the same files, is at work, so that the call may succeed later.
    #[must_use]
    pub fn is_refused_active(&self) -> bool {
        let is_locked = |error: &StoreError| matches!(error, StoreError::Locked { .. });
        match self {
            Self::Session(SessionError::Active { other, .. }) => !other,
            Self::Session(
                SessionError::OnlyCheckpoints(_)
                | SessionError::DiscardsEdits(_)
                | SessionError::BeingEnded(_),
            )
            | Self::HeldByLauncher(_) => true,
            Self::Store(error) | Self::Session(SessionError::Store(error)) => is_locked(error),
            _ => false,
        }
    }
}

impl Diagnostic for RecoveryError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoHome | Self::ModeOff | Self::Recipients { .. } | Self::ReplicaRecipients(_) => {
                ErrorKind::Config
            }
            Self::ReplicaOfUser(_) => ErrorKind::Usage,
            Self::NotStored { .. }
            | Self::Forgotten(_)
            | Self::Credentials { is_sealed: false, .. }
            | Self::NoFiles { .. }
            | Self::NoMounts { .. }
            | Self::Imported(_)
            | Self::Excluded { .. }
            | Self::Untracked { .. }
            | Self::NoneInterrupted { .. }
            | Self::NothingToUndoHere { .. }
            | Self::NothingRecorded
            | Self::NotHere { .. }
            | Self::Uncovered(_)
            | Self::NeverRestored { .. }
            | Self::NothingToUndo { receipt: None } => ErrorKind::NothingToRestore,
            Self::NothingToUndo { receipt: Some(_) } => ErrorKind::UnknownSnapshot,
            Self::HeldByLauncher(_) => ErrorKind::RefusedActive,
            Self::ReceiptsGone { .. }
            | Self::ReceiptChanged { .. }
            | Self::BrokenChain { .. }
            | Self::OtherChain { .. } => ErrorKind::Integrity,
            Self::Unverified => ErrorKind::Interrupted,
            Self::Unnamed
            | Self::SeveralStores { .. }
            | Self::SeveralInterrupted { .. }
            | Self::KeyWanted
            | Self::Credentials { is_sealed: true, .. }
            | Self::Outside { .. }
            | Self::Path { .. }
            | Self::Glob { .. }
            | Self::Regex { .. }
            | Self::OtherMounts { .. }
            | Self::NoContent { .. }
            | Self::StoredDirectory { .. }
            | Self::Directory(_)
            | Self::Nowhere { .. }
            | Self::Identity { .. }
            | Self::Aside { .. } => ErrorKind::Usage,
            Self::PassphraseWithheld => ErrorKind::NotConfirmed,
            _ => self.wrapped().map_or(ErrorKind::Failed, Diagnostic::kind),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::NoHome => vec![Hint::text(
                "set HOME, or JACKIN_HOME_DIR to the directory that jackin keeps its data in",
            )],
            Self::ModeOff => vec![Hint::text(
                "use --snapshot project, or set snapshot in the [recovery] table",
            )],
            Self::Recipients { .. } => vec![
                Hint::text(
                    "name one or more public keys, of age or of ssh, in [recovery.state]:\n  recipients = [\"ssh-ed25519 AAAA…\"]",
                ),
                Hint::text(
                    "yours may be the line in ~/.ssh/id_ed25519.pub; its private key opens what is encrypted with --identity",
                ),
            ],
            Self::ReplicaRecipients(_) => vec![Hint::text(
                "set recipients in [recovery.state] of config.toml to your public keys (age1… or ssh-ed25519 …)",
            )],
            Self::ReplicaOfUser(uid) => vec![Hint::text(format!("run it as user {uid}"))],
            Self::Identity {
                needs_passphrase: true,
                ..
            } => vec![Hint::text(
                "run the command on a terminal, which asks for the passphrase, or give a copy of the key without one: \
                `ssh-keygen -p -N '' -f COPY` removes it from an ssh key, `age -d FILE > COPY` from a file of age",
            )],
            Self::Regex { .. } => vec![Hint::text(
                "quote it for the shell, and put a backslash before ( ) [ ] { } . * + ? | ^ $ that you mean literally",
            )],
            Self::Glob { .. } => vec![Hint::text(
                "put a backslash before [ ] * ? that you mean literally, and quote the glob for the shell",
            )],
            Self::Unnamed => vec![Hint::command("to list the sessions", "list")],
            Self::NoFiles { .. } => vec![
                Hint::command(
                    "to record files next time",
                    "launch --snapshot project DIR -- COMMAND",
                ),
                Hint::command("to list sessions", "list"),
            ],
            Self::NotRunning(id) => vec![Hint::command("to list its changes", format!("diff {id}"))],
            Self::Imported(id) => vec![
                Hint::command("to write its files to a new directory", format!("fork {id}")),
                Hint::command("for some paths", format!("restore {id} PATH --to DIR")),
            ],
            Self::HeldByLauncher(_) => vec![Hint::text("stop its command instead")],
            Self::Outdated(_) | Self::Rewritten => vec![Hint::text("run the command again")],
            Self::SeveralInterrupted { first, other } => {
                vec![Hint::text(format!("among them {first} and {other}"))]
            }
            Self::RestoreRuns { holders, .. } => vec![wait_hint(holders)],
            Self::KeyWanted => vec![Hint::text(
                "repeat the command with --identity FILE, or `abort` the restore",
            )],
            Self::NothingRecorded => vec![Hint::command("to record one", "launch -- COMMAND")],
            Self::NotHere { sessions, .. } => not_here(sessions),
            Self::NeverRestored {
                keeps_files: false, ..
            } => Vec::new(),
            Self::NeverRestored { id, .. } => vec![Hint::command(
                "to undo what the session did",
                format!("restore {id}"),
            )],
            Self::NothingToUndoHere { .. } => vec![Hint::command(
                "to undo the last restore of any directory",
                "undo --any",
            )],
            Self::NothingToUndo { receipt: Some(_) } => {
                vec![Hint::command("to find the number of a restore", "log --any")]
            }
            Self::Directory(path) => vec![
                Hint::text("name a file in it"),
                Hint::command(
                    "to see what changed in it",
                    format!("diff {}", shell::word(path.as_os_str())),
                ),
            ],
            Self::Uncovered(_) => vec![Hint::command("to see the sessions", "list")],
            Self::OtherMounts { earlier, later } => vec![
                Hint::command("to see what each changed", format!("diff {}", earlier.0)),
                Hint::command("and", format!("diff {}", later.0)),
            ],
            Self::NotStored { path, nearest, .. } => {
                let word = shell::word(path.as_os_str());
                match nearest {
                    Some((session, snapshot)) => vec![Hint::command(
                        "the nearest snapshot that has it",
                        format!("cat {session}:{snapshot} {word}"),
                    )],
                    None => vec![Hint::command(
                        "to look for it by name",
                        match path.file_name() {
                            Some(name) if name.as_encoded_bytes().starts_with(b"-") => {
                                format!("find --any -- {}", shell::word(name))
                            }
                            Some(name) => format!("find --any {}", shell::word(name)),
                            None => "find --any PATTERN".to_owned(),
                        },
                    )],
                }
            }
            Self::Credentials { is_sealed, .. } => vec![Hint::text(match is_sealed {
                true => "add --identity FILE, with the private key of one of the recipients",
                false => "with recipients in [recovery.state] the next snapshots store it encrypted",
            })],
            Self::StoredDirectory {
                path,
                instance,
                snapshot,
            } => vec![Hint::command(
                "to write its files to a new directory",
                format!(
                    "restore {instance} {} --from {snapshot} --to DIR",
                    shell::word(path.as_os_str())
                ),
            )],
            Self::Outside { roots, .. } => {
                let roots: Vec<String> = roots.iter().map(|root| sanitize::name(&root.0)).collect();
                vec![Hint::text(format!("the mounts: {}", roots.join(", ")))]
            }
            Self::Nowhere {
                is_dashed, instance, ..
            } => {
                let dashed =
                    is_dashed.then(|| Hint::text("after `--` every word is a path; put flags before it"));
                let changed = Hint::command("to list changed paths", format!("diff {instance}"));
                dashed.into_iter().chain([changed]).collect()
            }
            Self::Aside { there, .. } => vec![can_be_set_aside(there)],
            Self::SeveralStores { stores, .. } => {
                let names: Vec<String> = stores.iter().map(|store| format!("  {store}")).collect();
                vec![
                    Hint::text(format!("choose one with --store:\n{}", names.join("\n"))),
                    Hint::text("`replicate --dry-run --json` on the other machine prints its id"),
                ]
            }
            Self::OtherChain { .. } => vec![Hint::text("nothing was changed")],
            Self::BrokenChain { valid, .. } => vec![
                Hint::text("if you have a backup of receipts.log, copy it there"),
                Hint::command(
                    format!("or to continue with the {valid} before it; the damaged log is moved aside"),
                    "rebuild --accept-loss",
                ),
            ],
            Self::Unlogged { source, written } => {
                let shown = sanitize::path(written);
                let mut hints = source.hints();
                hints.push(Hint::text(format!(
                    "{shown} is complete, but its receipt could not be written"
                )));
                hints
            }
            _ => self.wrapped().map_or_else(Vec::new, Diagnostic::hints),
        }
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Store(error) => Some(error),
            Self::Session(error) => Some(error),
            Self::Restore(error) => Some(error),
            Self::Capture(error) => Some(error),
            Self::Config(error) => Some(error),
            Self::Contract(error) => Some(error),
            Self::Output(error) => Some(error),
            Self::Fork(error) => Some(error),
            Self::MountPoint(error) => Some(error),
            Self::Transfer(error) => Some(error),
            Self::Replica(error) => Some(error),
            Self::Adopt(error) => Some(error),
            Self::Forget(error) => Some(error),
            Self::Unlogged { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Outside { path, .. } => {
                format!("{} is in no mount of the session", sanitize::path(path))
            }
            Self::Path { path, why } => format!("{} cannot be used as a path: {why}", sanitize::path(path)),
            Self::OtherMounts { earlier, later } => described_mounts(earlier, later),
            Self::NotStored { path, snapshot, .. } => {
                format!("{} is not in the snapshot {snapshot}", sanitize::path(path))
            }
            Self::Forgotten(path) => {
                format!("{} was deleted from the store with forget", sanitize::path(path))
            }
            Self::Credentials { path, is_sealed } => {
                format!("{} {}", sanitize::path(path), credentials_words(*is_sealed))
            }
            Self::NoContent { path, what } => {
                format!(
                    "{} is {what}, which has no content to print",
                    sanitize::path(path)
                )
            }
            Self::StoredDirectory { path, .. } => format!("{} is a directory", sanitize::path(path)),
            Self::Regex { regex, why } => {
                let regex = sanitize::name(regex.as_bytes());
                let why = why.lines().last().unwrap_or_default();
                let why = why.strip_prefix("error: ").unwrap_or(why);
                format!(
                    "the regular expression {regex} cannot be used: {}",
                    sanitize::text(why)
                )
            }
            Self::Glob { glob, why } => {
                let glob = sanitize::name(glob.as_bytes());
                format!("the glob {glob} cannot be used: {}", sanitize::text(why))
            }
            Self::Directory(path) => format!("{} is a directory", sanitize::path(path)),
            Self::Uncovered(path) => format!("no session covers {}", sanitize::path(path)),
            Self::Nowhere { path, described, .. } => format!("{} {described}", sanitize::path(path)),
            Self::Excluded { path, pattern } => {
                let (shown, pattern) = (sanitize::path(path), sanitize::text(pattern));
                format!("{shown} is excluded by {pattern}, so no snapshot has it")
            }
            Self::Untracked { path, tracked } => {
                let more = match tracked.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let shown: Vec<_> = tracked.iter().take(NAMED).map(RelPath::as_bytes).collect();
                let shown: Vec<String> = shown.into_iter().map(sanitize::name).collect();
                let (path, shown) = (sanitize::path(path), shown.join(", "));
                format!("{path} is outside the tracked paths ({shown}{more}), so no snapshot has it")
            }
            Self::Identity { file, why, .. } => format!("--identity {}: {why}", sanitize::path(file)),
            Self::Aside { refused, .. } => sanitize::text(&refused.to_string()),
            _ => self
                .wrapped()
                .map_or_else(|| self.to_string(), Diagnostic::message),
        }
    }

    fn causes(&self) -> Vec<String> {
        self.wrapped().map_or_else(Vec::new, Diagnostic::causes)
    }
}

/// Names the excluded directories that are there.
fn can_be_set_aside(there: &[PathBuf]) -> Hint {
    if there.is_empty() {
        return Hint::text("no directory that exists now is excluded by the snapshot");
    }
    let more = match there.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let shown: Vec<String> = there
        .iter()
        .take(NAMED)
        .map(|path| sanitize::path(path))
        .collect();
    Hint::text(format!(
        "existing excluded directories: {}{more}",
        shown.join(", ")
    ))
}

/// Returns the hints for a directory that no session covers: the sessions that there are.
fn not_here(sessions: &[Candidate]) -> Vec<Hint> {
    let shown = sessions.iter().take(NAMED).map(Candidate::line);
    let mut hints: Vec<Hint> = shown.map(Hint::Text).collect();
    if let Some(more) = sessions.len().checked_sub(NAMED).filter(|more| *more > 0) {
        hints.push(Hint::Text(format!("and {} more", size::count(more as u64))));
    }
    hints.push(match sessions {
        [first, rest @ ..] if first.imported && rest.iter().all(|session| session.imported) => Hint::command(
            "imported sessions cover no directory of this machine; to write the files of one to a new directory",
            format!("fork {}", first.id),
        ),
        _ => Hint::text("name one, change to its directory, or use --any for the latest of all"),
    });
    hints
}

/// Returns what is wrong with a path that holds credentials.
fn credentials_words(is_sealed: bool) -> &'static str {
    match is_sealed {
        true => "holds credentials, which the snapshot has only encrypted",
        false => "holds credentials, which no snapshot stores",
    }
}
