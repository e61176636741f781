//! Errors of session operations, with their kinds and hints.

use std::path::{Path, PathBuf};

use super::liveness::{Reason, distinct};
use crate::capture::CaptureError;
use crate::diagnostic::{Diagnostic, ErrorKind, Hint, causes_behind};
use crate::display::{sanitize, shell, size};
use crate::model::{InstanceId, PrunedSnapshot, SnapshotId, Time};
use crate::restore::RestoreError;
use crate::store::StoreError;

/// A file of jackin's that leaves the state of a container unknown.
#[derive(Debug)]
pub enum DoubtfulFile {
    /// It cannot be read.
    Damaged(PathBuf),
    /// A newer jackin wrote it.
    Newer,
}

/// Error of a session operation.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An interrupted restore waits, or could not be cleared up.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The baseline could not be taken, and the contract says to block then.
    #[error("the baseline failed: {source}")]
    Baseline {
        /// The instance that never began.
        instance: InstanceId,
        /// Error of the capture.
        source: Box<CaptureError>,
    },
    /// A snapshot could not be taken.
    #[error("the {kind} snapshot of {instance} failed: {source}")]
    Capture {
        /// Its kind.
        kind: &'static str,
        /// The instance.
        instance: InstanceId,
        /// Error of the capture.
        source: Box<CaptureError>,
    },
    /// An agent of jackin's may be at work on the same paths.
    #[error("jackin's container {container:?} may be at work on the same paths")]
    Container {
        /// Its name.
        container: String,
        /// Reasons, in words.
        reasons: Vec<String>,
        /// The file that does not tell its state, if that is the reason.
        file: Option<DoubtfulFile>,
    },
    /// No instance goes by this name.
    #[error("session {wanted:?} not found")]
    Unknown {
        /// Name that was asked for.
        wanted: String,
        /// Ids that come close, the closest first.
        nearest: Vec<String>,
        /// True if any session is recorded.
        some_recorded: bool,
    },
    /// There are fewer sessions than were counted back.
    #[error("there is no session {wanted}: {}", counted(*count, *uncounted, directory.as_deref()))]
    TooFarBack {
        /// The word, such as `@3`.
        wanted: String,
        /// Number of sessions.
        count: usize,
        /// Number of other sessions, which failed to start or were imported and do not count beside these.
        uncounted: usize,
        /// Directory that they cover; `None` for all sessions.
        directory: Option<PathBuf>,
    },
    /// jackin's container has no session of its own, and its workspace has several containers.
    #[error(
        "no session began for jackin's container {container:?}, and it is not the only one of the workspace {workspace:?}"
    )]
    OfContainer {
        /// Its name.
        container: String,
        /// Its workspace.
        workspace: String,
    },
    /// Several instances go by this name.
    #[error("{wanted:?} matches several sessions")]
    Ambiguous {
        /// Name that was asked for.
        wanted: String,
        /// Their ids, newest first.
        candidates: Vec<String>,
    },
    /// No snapshot of the instance goes by this name.
    #[error("{instance} has no snapshot {wanted:?}")]
    NoSnapshot {
        /// The instance.
        instance: InstanceId,
        /// Name that was asked for.
        wanted: String,
        /// Names of the snapshots that exist.
        known: Vec<String>,
    },
    /// A snapshot that is meant, or may be, has a record that is lost or cannot be read.
    #[error("{instance} has no snapshot {wanted:?} that can be used: {source}")]
    Damaged {
        /// The instance.
        instance: InstanceId,
        /// Name that was asked for.
        wanted: String,
        /// Snapshots of the session with damaged records that the name may stand for, newest first.
        damaged: Vec<SnapshotId>,
        /// Error of the first of these snapshots.
        source: Box<StoreError>,
    },
    /// The session was deleted by `forget`.
    #[error("{instance} was forgotten on {} (receipt {receipt}): nothing of it is left", size::moment(*at))]
    Forgotten {
        /// The session.
        instance: InstanceId,
        /// Number of the receipt.
        receipt: u64,
        /// Time of the receipt.
        at: Time,
    },
    /// The snapshot was pruned.
    #[error("{} of {instance} was pruned", snapshot.called())]
    Pruned {
        /// The instance.
        instance: InstanceId,
        /// Data of the pruned snapshot.
        snapshot: Box<PrunedSnapshot>,
        /// The receipt that tells of it.
        receipt: u64,
    },
    /// A checkpoint of the session has this name already.
    #[error("{instance} has a checkpoint {name:?} already")]
    NameTaken {
        /// The instance.
        instance: InstanceId,
        /// The name.
        name: String,
    },
    /// A checkpoint of the session had this name and was pruned.
    #[error(
        "the checkpoint {name:?} of {instance} was pruned at {} (receipt {receipt}); its name is not reused",
        at.rfc3339()
    )]
    NamePruned {
        /// The instance.
        instance: InstanceId,
        /// The name.
        name: String,
        /// The receipt that tells of it.
        receipt: u64,
        /// Time of the pruning.
        at: Time,
    },
    /// The snapshot before a step was pruned.
    #[error("the changes of {snapshot} of {instance} are unknown: the snapshot before it was pruned")]
    StepPruned {
        /// The instance.
        instance: InstanceId,
        /// The snapshot that the step led to.
        snapshot: SnapshotId,
    },
    /// There is nothing before a snapshot.
    #[error("{snapshot} of {instance} is not a step: it is the first of the session")]
    NoStep {
        /// The instance.
        instance: InstanceId,
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// No prompt or tool call has this text.
    #[error("{instance} has no prompt or tool call with {wanted:?}")]
    NoEvent {
        /// The instance.
        instance: InstanceId,
        /// Text that was asked for.
        wanted: String,
        /// True if the session has prompts, but the texts of none.
        is_silent: bool,
    },
    /// Several prompts or tool calls have this text.
    #[error("{} prompts and tool calls of {instance} have {wanted:?}", found.len())]
    SeveralEvents {
        /// The instance.
        instance: InstanceId,
        /// Text that was asked for.
        wanted: String,
        /// Their texts, newest first, with the snapshots right before them.
        found: Vec<(String, Option<SnapshotId>)>,
    },
    /// No snapshot shows the files before a prompt or tool call.
    #[error("no snapshot was taken before {event:?} of {instance}")]
    EventWithoutSnapshot {
        /// The instance.
        instance: InstanceId,
        /// The prompt or tool call.
        event: String,
    },
    /// A session may go back to its own checkpoints, and to nothing else.
    #[error("inside {0} only its own checkpoints can be restored")]
    OnlyCheckpoints(InstanceId),
    /// A session may not discard what others changed.
    #[error("inside {0} later edits are not discarded")]
    DiscardsEdits(InstanceId),
    /// The instance ended before.
    #[error("{0} has already ended")]
    AlreadyEnded(InstanceId),
    /// Another command holds the instance to end it, and took longer than the wait.
    #[error("another command is ending {0}")]
    BeingEnded(InstanceId),
    /// The instance, or another one on the same paths, lives.
    #[error("{instance} is active")]
    Active {
        /// Active session.
        instance: InstanceId,
        /// True if it is another session than the one that was asked for.
        other: bool,
        /// Reasons why it counts as active.
        reasons: Vec<Reason>,
    },
    /// The caller is inside a session.
    #[error("this is not allowed from inside the session {0}")]
    Inside(InstanceId),
    /// A checkpoint name that cannot be used.
    #[error("{name:?} cannot be a checkpoint's name: {why}")]
    CheckpointName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
    /// A session's name that cannot be used.
    #[error("{name:?} cannot be a session's name: {why}")]
    SessionName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
    /// A branch's name that cannot be used.
    #[error("{name:?} cannot be a branch's name: {why}")]
    BranchName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
}

impl Diagnostic for SessionError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Restore(error) => error.kind(),
            Self::Baseline { source, .. } => match source.kind() {
                // A limit is the operator's own word and keeps its kind.
                kind @ (ErrorKind::LimitExceeded | ErrorKind::Interrupted) => kind,
                _ => ErrorKind::SnapshotFailed,
            },
            Self::Capture { source, .. } => source.kind(),
            Self::Damaged { source, .. } => source.kind(),
            Self::Unknown { .. }
            | Self::TooFarBack { .. }
            | Self::Ambiguous { .. }
            | Self::OfContainer { .. } => ErrorKind::UnknownInstance,
            Self::NoSnapshot { .. } | Self::NoEvent { .. } | Self::EventWithoutSnapshot { .. } => {
                ErrorKind::UnknownSnapshot
            }
            Self::StepPruned { .. } | Self::Pruned { .. } | Self::Forgotten { .. } => {
                ErrorKind::NothingToRestore
            }
            Self::OnlyCheckpoints(_)
            | Self::DiscardsEdits(_)
            | Self::BeingEnded(_)
            | Self::Active { other: false, .. } => ErrorKind::RefusedActive,
            Self::Container { .. } | Self::Active { other: true, .. } => ErrorKind::RefusedOverlap,
            Self::Inside(_) => ErrorKind::RefusedInside,
            Self::AlreadyEnded(_) => ErrorKind::Failed,
            Self::NoStep { .. }
            | Self::SeveralEvents { .. }
            | Self::NameTaken { .. }
            | Self::NamePruned { .. }
            | Self::CheckpointName { .. }
            | Self::SessionName { .. }
            | Self::BranchName { .. } => ErrorKind::Usage,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Store(error) => error.hints(),
            Self::Restore(error) => error.hints(),
            Self::Capture { source, .. } => source.hints(),
            // After a request to stop, advice on how to go on without protection is not wanted.
            Self::Baseline { source, .. } if source.kind() == ErrorKind::Interrupted => Vec::new(),
            Self::Baseline { source, .. } => {
                let mut hints = source.hints();
                hints.push(Hint::text(
                    "--on-failure run starts the command without a baseline, so it cannot be undone",
                ));
                hints
            }
            Self::Unknown {
                nearest,
                wanted,
                some_recorded,
            } => unknown(wanted, nearest, *some_recorded),
            Self::TooFarBack { directory, .. } => vec![match directory {
                Some(_) => Hint::command("to list them", "list ."),
                None => Hint::command("to list them", "list"),
            }],
            Self::Ambiguous { candidates, .. } => {
                let more = match candidates.len().saturating_sub(CANDIDATES) {
                    0 => String::new(),
                    more => format!(", and {} more", size::count(more as u64)),
                };
                let shown: Vec<&str> = candidates.iter().take(CANDIDATES).map(String::as_str).collect();
                vec![
                    Hint::text(format!("matches: {}{more}", shown.join(", "))),
                    Hint::command("to list all", "list"),
                ]
            }
            Self::OfContainer { workspace, .. } => vec![Hint::command(
                "the last session of the workspace",
                format!("show {}", shell::word(workspace)),
            )],
            Self::StepPruned { instance, .. } => vec![Hint::command("details", format!("show {instance}"))],
            Self::NoStep { instance, .. } => vec![
                Hint::text(
                    "a step leads from one snapshot of the session to the next: name a checkpoint, or `closing`",
                ),
                Hint::command("details", format!("show {instance}")),
            ],
            Self::DiscardsEdits(_) => vec![Hint::text(
                "omit --overwrite-later-edits and --delete-later-files; the operator can discard them after the session",
            )],
            Self::OnlyCheckpoints(instance) => vec![
                Hint::text(
                    "name one with --from or --only-changes-of; anything else is the operator's, when the session has ended",
                ),
                Hint::command("to list the checkpoints", format!("show {instance}")),
            ],
            Self::Forgotten { instance, .. } => {
                vec![Hint::command("its receipts", format!("log {instance}"))]
            }
            Self::Pruned { receipt, .. } => vec![
                Hint::text(format!(
                    "receipt {receipt} in `log` says why; `pin` keeps what must stay"
                )),
                Hint::command("details", "list"),
            ],
            Self::Damaged { damaged, .. } => {
                let back = match damaged.as_slice() {
                    [one] => format!("copy snapshots/{one}.json from a backup"),
                    several => format!(
                        "copy the records into snapshots/ from a backup: {}",
                        several
                            .iter()
                            .map(SnapshotId::as_str)
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                };
                vec![Hint::Text(back), Hint::command("to find other damage", "verify")]
            }
            Self::NoSnapshot { known, instance, .. } => vec![
                match known.as_slice() {
                    [] => Hint::text("it has no snapshot at all"),
                    some => Hint::text(format!("snapshots: {}", some.join(", "))),
                },
                Hint::command("details", format!("show {instance}")),
            ],
            Self::NoEvent {
                instance,
                is_silent: true,
                ..
            } => vec![
                Hint::text("its prompts and commands were not recorded ([recovery.agent] prompts = \"off\")"),
                Hint::command(
                    "to go back to one of its snapshots",
                    format!("restore {instance} --from SNAPSHOT"),
                ),
                Hint::command("to list them", format!("show {instance}")),
            ],
            Self::NoEvent { instance, .. } | Self::EventWithoutSnapshot { instance, .. } => {
                vec![Hint::command("to list them", format!("show {instance}"))]
            }
            Self::SeveralEvents { instance, found, .. } => several_events(instance, found),
            Self::Active {
                instance,
                reasons,
                other,
            } => active(instance, reasons, *other),
            Self::Container { container, file, .. } => {
                let container = sanitize::name(container.as_bytes());
                vec![Hint::Text(match file {
                    Some(DoubtfulFile::Damaged(path)) => format!(
                        "nothing was changed; fix {}, or remove it if that container was removed",
                        sanitize::path(path)
                    ),
                    Some(DoubtfulFile::Newer) => format!(
                        "nothing was changed; update jackin recovery, or stop the container:\n  docker stop {container}"
                    ),
                    None => format!(
                        "nothing was changed; let jackin end it first, or stop it:\n  docker stop {container}"
                    ),
                })]
            }
            Self::Inside(_) => vec![
                Hint::text(
                    "inside a session you can use list, show, status, diff, log, blame, explain, checkpoint, and \
                    restore --from its own checkpoints",
                ),
                Hint::text("`[recovery.agent] restore` sets what an agent may restore through mcp"),
            ],
            Self::AlreadyEnded(_) => Vec::new(),
            Self::BeingEnded(_) => vec![Hint::text("run the command again when that one is done")],
            Self::NameTaken { .. } => {
                vec![Hint::text(
                    "checkpoints are never overwritten; choose another name",
                )]
            }
            Self::NamePruned { .. } => vec![Hint::text(
                "names of pruned checkpoints are not reused; choose another name",
            )],
            Self::CheckpointName { .. } | Self::SessionName { .. } | Self::BranchName { .. } => {
                vec![Hint::text(
                    "letters, digits, `_`, `.` and `-`, at most 128, not beginning with `.` or `-`",
                )]
            }
        }
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Store(error) => Some(error),
            Self::Restore(error) => Some(error),
            Self::Baseline { source, .. } | Self::Capture { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Store(error) => error.message(),
            Self::Restore(error) => error.message(),
            Self::Baseline { source, .. } if source.kind() == ErrorKind::Interrupted => {
                "interrupted during the baseline; nothing was stored or started".to_owned()
            }
            Self::Baseline { source, .. } => {
                format!("the baseline failed: {}", source.message())
            }
            Self::Capture { source, kind, .. } => {
                format!("the {kind} snapshot failed: {}", source.message())
            }
            Self::Active { other: true, .. } => format!("{self} on the same paths"),
            other => other.to_string(),
        }
    }

    fn causes(&self) -> Vec<String> {
        match self {
            Self::Baseline { source, .. } if source.kind() == ErrorKind::Interrupted => Vec::new(),
            Self::Container { reasons, .. } => reasons.iter().map(|reason| sanitize::text(reason)).collect(),
            Self::Active { reasons, .. } => signs_of_life(&distinct(reasons)),
            other => match other.wrapped() {
                Some(inner) => inner.causes(),
                None => causes_behind(&other.to_string(), std::error::Error::source(other)),
            },
        }
    }
}

/// Names prompts and tool calls with the snapshots right before them.
fn several_events(instance: &InstanceId, found: &[(String, Option<SnapshotId>)]) -> Vec<Hint> {
    const SHOWN: usize = 10;
    let one = |(text, snapshot): &(String, Option<SnapshotId>)| {
        let line: String = text.lines().next().unwrap_or_default().chars().take(80).collect();
        let shown = sanitize::text(&line);
        snapshot.as_ref().map(|id| {
            Hint::command(
                format!("before {shown:?}"),
                format!("restore {instance} --from {id}"),
            )
        })
    };
    let mut hints: Vec<Hint> = found.iter().take(SHOWN).filter_map(one).collect();
    if found.len() > SHOWN {
        hints.push(Hint::text(format!("and {} more", found.len() - SHOWN)));
    }
    hints
}

/// Says how many sessions there are to count back.
fn counted(count: usize, uncounted: usize, directory: Option<&Path>) -> String {
    let sessions = size::counted(count as u64, "session", "sessions");
    let counted = match directory {
        Some(directory) => {
            let verb = if count == 1 { "covers" } else { "cover" };
            format!("{sessions} {verb} {}", sanitize::path(directory))
        }
        None => format!("{sessions} in all"),
    };
    // An imported session covers no directory of this machine.
    let other = match directory {
        Some(_) => "that failed to start",
        None => "that failed to start or were imported",
    };
    match uncounted {
        0 => counted,
        more => format!("{counted}, not counting {} {other}", size::count(more as u64)),
    }
}

/// Maximum number of ids that an error names.
const CANDIDATES: usize = 8;

/// Maximum number of signs of life that an error names.
const SIGNS: usize = 8;

/// Returns the hints for a session that is not there.
fn unknown(wanted: &str, nearest: &[String], some_recorded: bool) -> Vec<Hint> {
    let mut hints = Vec::new();
    if wanted == "@0" {
        hints.push(Hint::text(
            "sessions are counted from 1: the latest of the current directory is @latest or @1",
        ));
    } else if wanted.starts_with('@') {
        hints.push(Hint::text(
            "the latest session of the current directory is @latest or @1, the one before it @2",
        ));
    } else if strsim::normalized_damerau_levenshtein("@latest", wanted) > 0.6 {
        hints.push(Hint::text("the latest session is @latest"));
    }
    match nearest {
        [] if some_recorded => hints.push(Hint::command("to list the sessions", "list")),
        [] => hints.push(Hint::command("no receipts yet; start with", "launch -- COMMAND")),
        some => {
            hints.push(Hint::text(format!("the nearest ids: {}", some.join(", "))));
            hints.push(Hint::command("to list all", "list"));
        }
    }
    hints
}

/// Returns the reasons why a session counts as active, in words.
fn signs_of_life(reasons: &[&Reason]) -> Vec<String> {
    let shown = reasons.iter().take(SIGNS).map(|reason| match reason {
        Reason::Launcher(Some(process)) => format!("its launcher is running (process {})", process.pid),
        Reason::Launcher(None) => "its launcher is running".to_owned(),
        Reason::OtherCommand => "another command begins or ends it".to_owned(),
        Reason::Process(member) => {
            format!(
                "process {} ({}) is running",
                member.pid,
                sanitize::name(member.name.as_bytes())
            )
        }
        Reason::UntilEnd => "it was begun without a process, and `end` was not called".to_owned(),
        Reason::Unknown(why) => format!("its state is unknown: {why}"),
    });
    let mut signs: Vec<String> = shown.collect();
    if reasons.len() > SIGNS {
        signs.push(format!("and {} more", reasons.len() - SIGNS));
    }
    signs
}

/// Returns the hints for a session that is active.
fn active(instance: &InstanceId, reasons: &[Reason], other: bool) -> Vec<Hint> {
    let reasons = distinct(reasons);
    if reasons.contains(&&Reason::UntilEnd) {
        return vec![Hint::command(
            "nothing was changed; when its agent is done",
            format!("end {instance}"),
        )];
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
    let mut hints = vec![match pids.as_slice() {
        [] if reasons.contains(&&Reason::OtherCommand) => {
            Hint::text("nothing was changed; run the command again when that one is done")
        }
        [] => Hint::text("nothing was changed; stop its processes first"),
        // A shell that waits for input does not mind being asked to end.
        pids => Hint::text(format!(
            "nothing was changed; wait until it ends, exit it in its terminal, or stop it:\n  kill {}",
            pids.join(" ")
        )),
    }];
    if !other {
        hints.push(Hint::command(
            "to write its files to another directory while it runs",
            format!("restore {instance} --to DIR"),
        ));
    }
    hints
}
