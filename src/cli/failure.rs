//! From the errors of the stages to the one error of the command line: its kind, and what to type next. The one place
//! for hints.

use std::error::Error;

use super::error::{CliError, ErrorKind};
use crate::capture::{Big, CaptureError};
use crate::config::{ConfigError, EditError};
use crate::contract::ContractError;
use crate::process::LaunchError;
use crate::restore::RestoreError;
use crate::session::{Reason, SessionError};
use crate::store::StoreError;
use crate::store::archive::ArchiveError;
use crate::terminal::{sanitize, size};

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        Self::from_error(ErrorKind::Config, &error)
    }
}

impl From<EditError> for CliError {
    fn from(error: EditError) -> Self {
        let (kind, hint) = match &error {
            EditError::Config(_) | EditError::Meaning { .. } => (ErrorKind::Config, None),
            EditError::Already { .. } => {
                let hint = "`explain` shows what it amounts to";
                (ErrorKind::Config, Some(hint.to_owned()))
            }
            EditError::Shape { table, .. } => {
                let lines: Vec<&str> = table.lines().collect();
                let hint = format!("add by hand:\n  {}", lines.join("\n  "));
                (ErrorKind::Config, Some(hint))
            }
            EditError::Changed { .. } => (ErrorKind::Failed, Some("run the command again".to_owned())),
            EditError::Write { .. } => (ErrorKind::Io, None),
        };
        let made = Self::from_error(kind, &error);
        match hint {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}

impl From<ContractError> for CliError {
    fn from(error: ContractError) -> Self {
        let kind = match &error {
            ContractError::Broad { .. } => ErrorKind::TooBroad,
            ContractError::NoTarget { .. } | ContractError::Remote { .. } => ErrorKind::Usage,
            _ => ErrorKind::Config,
        };
        Self::from_error(kind, &error)
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::from_error(store_kind(&error), &error)
    }
}

fn store_kind(error: &StoreError) -> ErrorKind {
    match error {
        StoreError::Newer { .. } => ErrorKind::NewerStore,
        StoreError::Damaged { .. }
        | StoreError::Chain { .. }
        | StoreError::Content { .. }
        | StoreError::Manifest { .. }
        | StoreError::NoArchive { .. } => ErrorKind::Integrity,
        StoreError::Archive(error) => archive_kind(error),
        StoreError::NoSnapshot { .. } => ErrorKind::UnknownSnapshot,
        StoreError::Locked { .. } => ErrorKind::RefusedActive,
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

impl From<CaptureError> for CliError {
    fn from(error: CaptureError) -> Self {
        let made = Self::from_error(capture_kind(&error), &error);
        match &error {
            CaptureError::Limit { entries, biggest, .. } => {
                let made = biggest
                    .iter()
                    .fold(made, |made, big| made.hint(big_hint(big, *entries)));
                made.hint("or raise max_entries or max_bytes in [recovery.limits]")
            }
            CaptureError::Write(_) | CaptureError::Archive(_) => {
                made.hint("nothing of the snapshot was kept; make room where the store lies and try again")
            }
            _ => made,
        }
    }
}

fn capture_kind(error: &CaptureError) -> ErrorKind {
    match error {
        CaptureError::Interrupted => ErrorKind::Interrupted,
        CaptureError::Limit { .. } => ErrorKind::LimitExceeded,
        CaptureError::Excludes { .. } => ErrorKind::Config,
        CaptureError::Store(error) => store_kind(error),
        CaptureError::Archive(error) => archive_kind(error),
        CaptureError::ReadBack { .. } => ErrorKind::Integrity,
        CaptureError::Mount(_) | CaptureError::Root { .. } | CaptureError::Write(_) => {
            ErrorKind::SnapshotFailed
        }
    }
}

fn big_hint(big: &Big, by_entries: bool) -> String {
    let holds = if by_entries {
        size::counted(big.entries, "entry", "entries")
    } else {
        size::bytes(big.bytes)
    };
    let path = sanitize::name(big.path.as_bytes());
    format!("{path} holds {holds}; to leave it out: exclude = [\"/{path}/\"] or --exclude '/{path}/'")
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::Baseline { source, .. } => {
                let hints = Self::from(*source);
                let message = format!("the baseline could not be taken: {}", hints.message);
                let kind = ErrorKind::SnapshotFailed;
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
            SessionError::Unknown { ref nearest, .. } => {
                let made = Self::from_error(ErrorKind::UnknownInstance, &error);
                match nearest.as_slice() {
                    [] => made.hint("nothing was recorded yet: there are no instances"),
                    some => made.hint(format!("the nearest ids: {}", some.join(", "))),
                }
            }
            SessionError::Ambiguous { ref candidates, .. } => {
                let made = Self::from_error(ErrorKind::UnknownInstance, &error);
                made.hint(format!("it could be: {}", candidates.join(", ")))
            }
            SessionError::NoSnapshot { ref known, .. } => {
                let made = Self::from_error(ErrorKind::UnknownSnapshot, &error);
                match known.as_slice() {
                    [] => made,
                    some => made.hint(format!("there are: baseline, closing, {}", some.join(", "))),
                }
            }
            SessionError::Active {
                ref reasons, other, ..
            } => active(&error, reasons, other),
            SessionError::Inside(_) => Self::from_error(ErrorKind::RefusedInside, &error)
                .hint("inside a session only list, show, diff, explain and checkpoint are allowed"),
            SessionError::AlreadyEnded(_) => Self::from_error(ErrorKind::Failed, &error),
            SessionError::CheckpointName { .. } => Self::from_error(ErrorKind::Usage, &error)
                .hint("letters, digits, `_`, `.` and `-`, at most 128, not beginning with `.` or `-`"),
        }
    }
}

fn active(error: &SessionError, reasons: &[Reason], other: bool) -> CliError {
    let kind = if other {
        ErrorKind::RefusedOverlap
    } else {
        ErrorKind::RefusedActive
    };
    let mut made = CliError::from_error(kind, error);
    if other {
        made.message.push_str(" on the same paths");
    }
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
    if reasons.contains(&Reason::UntilEnd) {
        made.hint("call `end` for it when the agent is done")
    } else {
        made.hint("stop these processes first; nothing was changed")
    }
}

impl From<RestoreError> for CliError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Capture(error) => error.into(),
            RestoreError::Store(error) => error.into(),
            RestoreError::Emergency(source) => {
                let inner = Self::from(source);
                let message = format!(
                    "the emergency snapshot failed, so nothing was changed: {}",
                    inner.message
                );
                Self { message, ..inner }
            }
            other => {
                let (kind, hint) = restore_kind(&other);
                let made = Self::from_error(kind, &other as &(dyn Error + 'static));
                match hint {
                    Some(hint) => made.hint(hint),
                    None => made,
                }
            }
        }
    }
}

fn restore_kind(error: &RestoreError) -> (ErrorKind, Option<&'static str>) {
    match error {
        RestoreError::Interrupted => (ErrorKind::Interrupted, None),
        RestoreError::Content { .. } | RestoreError::Damaged { .. } => (
            ErrorKind::Integrity,
            Some("nothing was changed; verify --read-data names everything that is hurt"),
        ),
        RestoreError::Incomplete(_) => (
            ErrorKind::NothingToRestore,
            Some("show names what it lacks; without --require-complete it is used"),
        ),
        RestoreError::NotEmpty(_) => (
            ErrorKind::Usage,
            Some("--to takes a directory that is absent or empty"),
        ),
        RestoreError::Drift { .. } => (
            ErrorKind::Failed,
            Some("run the command again; stop what still writes there"),
        ),
        RestoreError::Space { .. } => (
            ErrorKind::Io,
            Some("nothing was changed; make room and try again"),
        ),
        RestoreError::RollBack { .. } => (
            ErrorKind::Failed,
            Some("move the old objects back by hand, or restore from the emergency snapshot"),
        ),
        _ => (ErrorKind::Io, None),
    }
}

impl From<LaunchError> for CliError {
    fn from(error: LaunchError) -> Self {
        let kind = match &error {
            LaunchError::NotFound { .. } => ErrorKind::CommandNotFound,
            LaunchError::NotExecutable { .. } => ErrorKind::CannotExecute,
            LaunchError::Interrupted { .. } => ErrorKind::Interrupted,
            _ => ErrorKind::Failed,
        };
        Self::from_error(kind, &error)
    }
}
