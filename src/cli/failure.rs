//! From the errors of the stages to the one error of the command line: its kind, and what to type next. The one place
//! for hints.

mod agents;
mod capture;
mod configuration;
mod replica;
mod restoring;
mod transfer;

use std::io::ErrorKind as ErrorCause;

use super::error::{CliError, ErrorKind};
use crate::model::SnapshotId;
use crate::process::LaunchError;
use crate::session::{Reason, SessionError};
use crate::store::archive::ArchiveError;
use crate::store::{Holder, LockedObject, StoreError};
use crate::terminal::{sanitize, shell, size};

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let made = Self::from_error(store_kind(&error), &error);
        match made.kind {
            ErrorKind::Integrity if matches!(error, StoreError::Chain { .. }) => {
                made.command("put it together again from the catalog's copy", "rebuild")
            }
            ErrorKind::Integrity if matches!(error, StoreError::Untold { .. }) => made
                .hint("if you have a copy of receipts.log, put it back")
                .command("or go on without them", "rebuild --accept-loss"),
            ErrorKind::Integrity => match &error {
                StoreError::DamagedJournal { path, instance, .. } => restoring::past_a_hurt_paper(made, path, instance.as_ref()),
                _ => hurt(made),
            },
            _ if is_full(&error) => made.hint(
                "make room where the store lies, or name a jackin home elsewhere in JACKIN_HOME_DIR",
            ),
            _ if is_foreign(&error) => made.hint(
                "you may not read it: HOME may still be another user's; name a jackin home of your own in JACKIN_HOME_DIR",
            ),
            _ if is_beyond_limit(&error) => made.hint("raise the limit on the size of files: ulimit -f unlimited"),
            ErrorKind::RefusedActive => match &error {
                StoreError::Locked {
                    object: LockedObject::Root(_, holders),
                } => made.hint(wait_for(holders)),
                _ => made,
            },
            ErrorKind::NewerStore => made.hint("nothing was changed; use the newer version that wrote it"),
            _ if matches!(error, StoreError::Sealed { is_key: true, .. }) => made.hint(
                "--identity takes the private key that belongs to one of the recipients; the contract named them; without it everything else is \
                 restored",
            ),
            _ => made,
        }
    }
}

/// Hints about processes that hold a lock.
pub(in crate::cli) fn wait_for(holders: &[Holder]) -> String {
    let pids: Vec<String> = holders.iter().map(|holder| holder.pid.to_string()).collect();
    match pids.is_empty() {
        true => "wait until it is done".to_owned(),
        false => format!(
            "wait until it is done, or end it; it may wait for an answer in its terminal: ps -fp {}",
            pids.join(",")
        ),
    }
}

/// Returns true if a write exceeded the file size limit (EFBIG).
fn is_beyond_limit(error: &StoreError) -> bool {
    match error {
        StoreError::Io { source, .. } | StoreError::Create { source, .. } => {
            source.kind() == ErrorCause::FileTooLarge
        }
        _ => false,
    }
}

/// Returns true if the disk or quota is full; SQLite reports that in its own words.
fn is_full(error: &StoreError) -> bool {
    match error {
        StoreError::Io { source, .. } | StoreError::Create { source, .. } => {
            matches!(source.kind(), ErrorCause::StorageFull | ErrorCause::QuotaExceeded)
        }
        StoreError::Catalog { source, .. } => source.to_string().contains("full"),
        _ => false,
    }
}

/// Returns true if the system denies access, as after `sudo` or `su` with the other user's HOME.
fn is_foreign(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == ErrorCause::PermissionDenied)
}

/// Adds the command that shows how far the damage goes, which always helps.
fn hurt(made: CliError) -> CliError {
    made.command(
        "what else is hurt, and which snapshots are whole",
        "verify --read-data",
    )
}

fn store_kind(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::Newer { .. } | StoreError::UnknownReceipt { .. } => ErrorKind::NewerStore,
        StoreError::Sealed { is_key: true, .. } => ErrorKind::Usage,
        StoreError::Damaged { .. }
        | StoreError::Sealed { .. }
        | StoreError::Chain { .. }
        | StoreError::Untold { .. }
        | StoreError::DamagedJournal { .. }
        | StoreError::LostRecord { .. }
        | StoreError::Content { .. }
        | StoreError::Manifest { .. }
        | StoreError::NoArchive { .. } => ErrorKind::Integrity,
        StoreError::Archive(error) => archive_kind(error),
        StoreError::NoSnapshot { .. } => ErrorKind::UnknownSnapshot,
        StoreError::Locked { .. } => ErrorKind::RefusedActive,
        StoreError::Interrupted => ErrorKind::Interrupted,
        _ => ErrorKind::Io,
    }
}

fn archive_kind(error: &ArchiveError) -> ErrorKind {
    if error.is_newer() {
        ErrorKind::NewerStore
    } else if error.is_damage() {
        ErrorKind::Integrity
    } else {
        ErrorKind::Io
    }
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Restore(error) => error.into(),
            SessionError::Baseline { source, .. } => {
                let hints = Self::from(*source);
                let message = format!("the baseline could not be taken: {}", hints.message);
                // A limit is the operator's own word and keeps its kind.
                let kind = match hints.kind {
                    ErrorKind::LimitExceeded => ErrorKind::LimitExceeded,
                    _ => ErrorKind::SnapshotFailed,
                };
                // Who stopped it wants no advice on how to go on without protection.
                if hints.kind == ErrorKind::Interrupted {
                    let message = "interrupted while the baseline was taken; nothing of it was kept, and nothing was started";
                    return Self::new(ErrorKind::Interrupted, message);
                }
                let made = Self {
                    kind,
                    message,
                    ..hints
                };
                made.hint("--on-failure run starts the command without one, and nothing can be restored then")
            }
            SessionError::Capture { source, kind, .. } => {
                let inner = Self::from(*source);
                Self {
                    message: format!("the {kind} snapshot could not be taken: {}", inner.message),
                    ..inner
                }
            }
            SessionError::Unknown {
                ref nearest,
                ref wanted,
                some_recorded,
            } => {
                let made = Self::from_error(ErrorKind::UnknownInstance, &error);
                // A path in the session's place, and the word that is meant most often.
                let made = if wanted.contains('/') || wanted.contains('.') {
                    made.hint("the session stands first, then its paths: @latest PATH")
                } else if strsim::normalized_damerau_levenshtein("@latest", wanted) > 0.6 {
                    made.hint("the session that began last is @latest")
                } else {
                    made
                };
                match nearest.as_slice() {
                    [] if some_recorded => made.command("the sessions", "list"),
                    [] => made.command(
                        "nothing was recorded yet; begin with",
                        "launch --snapshot project DIR -- COMMAND",
                    ),
                    some => made
                        .hint(format!("the nearest ids: {}", some.join(", ")))
                        .command("all of them", "list"),
                }
            }
            SessionError::Ambiguous { ref candidates, .. } => {
                let made = Self::from_error(ErrorKind::UnknownInstance, &error);
                let more = match candidates.len().saturating_sub(CANDIDATES) {
                    0 => String::new(),
                    more => format!(", and {} more", size::count(more as u64)),
                };
                let shown: Vec<&str> = candidates.iter().take(CANDIDATES).map(String::as_str).collect();
                made.hint(format!("it could be: {}{more}", shown.join(", ")))
                    .command("all of them", "list")
            }
            SessionError::OfContainer { ref workspace, .. } => {
                let row = format!("show {}", shell::word(workspace.as_ref()));
                Self::from_error(ErrorKind::UnknownInstance, &error)
                    .command("the last session of the workspace, whoever began it", row)
            }
            SessionError::StepPruned { ref instance, .. } => {
                Self::from_error(ErrorKind::NothingToRestore, &error)
                    .command("what there is to go back to", format!("show {instance}"))
            }
            SessionError::NoStep { ref instance, .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("a step leads from one snapshot of the session to the next: name a checkpoint, or `closing`")
                .command("what there is", format!("show {instance}")),
            SessionError::OnlyCheckpoints(ref instance) => Self::from_error(ErrorKind::RefusedActive, &error)
                .hint("name one with --from or --only-changes-of; anything else is the operator's, when the session has ended")
                .command("the checkpoints there are", format!("show {instance}")),
            SessionError::Pruned { receipt, .. } => {
                let number = receipt;
                let made = Self::from_error(ErrorKind::NothingToRestore, &error);
                made.hint(format!(
                    "receipt {number} in `log` says why; `pin` keeps what must stay"
                ))
                .command("what is still there", "list")
            }
            SessionError::Hurt {
                source: ref cause,
                ref hurt,
                ..
            } => {
                let made = Self::from_error(store_kind(cause), &error);
                let back = match hurt.as_slice() {
                    [one] => format!("put snapshots/{one}.json back from a copy; nothing else has it"),
                    several => format!(
                        "put the records back into snapshots/ from a copy; nothing else has them: {}",
                        several.iter().map(SnapshotId::as_str).collect::<Vec<_>>().join(", ")
                    ),
                };
                made.hint(back).command("what else is hurt", "verify")
            }
            SessionError::NoSnapshot {
                ref known,
                ref instance,
                ..
            } => {
                let made = Self::from_error(ErrorKind::UnknownSnapshot, &error);
                let made = match known.as_slice() {
                    [] => made.hint("it has no snapshot at all"),
                    some => made.hint(format!("there are: {}", some.join(", "))),
                };
                made.command("all that is known of it", format!("show {instance}"))
            }
            SessionError::Active {
                ref instance,
                ref reasons,
                other,
            } => active(&error, instance.as_str(), reasons, other),
            SessionError::Container {
                ref container,
                ref reasons,
                ref unread,
            } => {
                let mut made = Self::from_error(ErrorKind::RefusedOverlap, &error);
                made.causes
                    .extend(reasons.iter().map(|reason| sanitize::text(reason)));
                let container = sanitize::name(container.as_bytes());
                made.hint(match unread {
                    Some(path) => format!(
                        "nothing was changed; mend {}, or remove it when that container is gone",
                        sanitize::path(path)
                    ),
                    None => format!(
                        "nothing was changed; let jackin end it first, or stop it:\n  docker stop {container}"
                    ),
                })
            }
            SessionError::Inside(_) => Self::from_error(ErrorKind::RefusedInside, &error)
                .hint("inside a session only list, show, diff, explain, checkpoint, and restore --from its own checkpoints are allowed")
                .hint("what an agent may restore through mcp, `[recovery.agent] restore` says"),
            SessionError::AlreadyEnded(_) => Self::from_error(ErrorKind::Failed, &error),
            SessionError::NameTaken { .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("checkpoints are never overwritten; take another name"),
            SessionError::NamePruned { .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("whoever wrote the name down means what it was then; take another name"),
            SessionError::CheckpointName { .. } | SessionError::BranchName { .. } => {
                Self::from_error(ErrorKind::Usage, &error)
                    .hint("letters, digits, `_`, `.` and `-`, at most 128, not beginning with `.` or `-`")
            }
        }
    }
}

/// Maximum number of ids that an error names.
const CANDIDATES: usize = 8;

fn active(error: &SessionError, instance: &str, reasons: &[Reason], other: bool) -> CliError {
    let kind = if other {
        ErrorKind::RefusedOverlap
    } else {
        ErrorKind::RefusedActive
    };
    let mut made = CliError::from_error(kind, error);
    if other {
        made.message.push_str(" on the same paths");
    }
    let reasons = distinct(reasons);
    let shown = reasons.iter().take(8).map(|reason| match reason {
        Reason::Launcher(Some(process)) => format!("its launcher runs (process {})", process.pid),
        Reason::Launcher(None) => "its launcher runs".to_owned(),
        Reason::Process(member) => {
            format!(
                "process {} ({}) lives",
                member.pid,
                sanitize::name(member.name.as_bytes())
            )
        }
        Reason::UntilEnd => "it was begun without a process and nobody called `end`".to_owned(),
        Reason::Unknown(why) => format!("whether it lives cannot be told: {why}"),
    });
    made.causes.extend(shown);
    if reasons.len() > 8 {
        made.causes.push(format!("and {} more", reasons.len() - 8));
    }
    if reasons.contains(&&Reason::UntilEnd) {
        return made.command(
            "nothing was changed; when its agent is done",
            format!("end {instance}"),
        );
    }
    // A launcher passes the signal on to its command, takes the closing snapshot, and ends.
    let launcher = reasons.iter().find_map(|reason| match reason {
        Reason::Launcher(process) => process.as_ref(),
        _ => None,
    });
    let pids: Vec<String> = match launcher {
        Some(launcher) => vec![launcher.pid.to_string()],
        None => reasons
            .iter()
            .filter_map(|reason| match reason {
                Reason::Process(member) => Some(member.pid.to_string()),
                _ => None,
            })
            .collect(),
    };
    let made = match pids.as_slice() {
        [] => made.hint("nothing was changed; stop its processes first"),
        // A shell that waits for input does not mind being asked to end.
        pids => made.hint(format!(
            "nothing was changed; wait until it has ended, leave it in its own terminal, or stop it:\n  kill {}",
            pids.join(" ")
        )),
    };
    if other {
        return made;
    }
    made.command(
        "its files can be had elsewhere while it runs",
        format!("restore {instance} --to DIR"),
    )
}

/// The launcher is a process of its session too; saying so twice tells nothing.
pub(in crate::cli) fn distinct(reasons: &[Reason]) -> Vec<&Reason> {
    let launcher = reasons.iter().find_map(|reason| match reason {
        Reason::Launcher(process) => process.as_ref().map(|process| process.pid),
        _ => None,
    });
    let again = |reason: &Reason| matches!(reason, Reason::Process(member) if Some(member.pid) == launcher);
    reasons.iter().filter(|reason| !again(reason)).collect()
}

impl From<LaunchError> for CliError {
    fn from(error: LaunchError) -> Self {
        let kind = match &error {
            LaunchError::NotFound { .. } => ErrorKind::CommandNotFound,
            LaunchError::NotExecutable { .. } => ErrorKind::CannotExecute,
            LaunchError::Interrupted { .. } => ErrorKind::Interrupted,
            _ => ErrorKind::Failed,
        };
        let made = Self::from_error(kind, &error);
        match &error {
            LaunchError::NotFound { program } if program.as_encoded_bytes().contains(&b'/') => {
                made.hint("the path of a command begins at the current directory")
            }
            LaunchError::NotFound { .. } => {
                made.hint("it lies in no directory of PATH; a program in this directory is written ./NAME")
            }
            LaunchError::NotExecutable { program, source }
                if source.kind() == ErrorCause::PermissionDenied
                    && program.as_encoded_bytes().contains(&b'/') =>
            {
                made.hint(format!(
                    "make it executable, or name the program that runs it:\n  chmod +x {}",
                    shell::word(program)
                ))
            }
            _ => made,
        }
    }
}
