//! Kinds and next steps for errors of a restore, and the ways out of an interrupted one.

use std::error::Error;
use std::io::ErrorKind as ErrorCause;
use std::path::Path;

use super::capture::REMOUNT;
use crate::cli::error::{CliError, ErrorKind};
use crate::model::InstanceId;
use crate::restore::RestoreError;
use crate::terminal::sanitize;

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
                let made = match hint {
                    Some(hint) => made.hint(hint),
                    None => made,
                };
                way_out(made, &other)
            }
        }
    }
}

/// A restore whose papers are hurt can neither be finished nor taken back; what it moved lies where it lies.
pub(super) fn past_a_hurt_paper(made: CliError, path: &Path, instance: Option<&InstanceId>) -> CliError {
    match (instance, path.parent()) {
        (Some(instance), _) => made.command(
            "forget the restore, and leave everything as it is: what was moved aside is named",
            format!("abort {instance} --yes --as-is"),
        ),
        (None, Some(directory)) => made.hint(format!(
            "put it back from a copy, or move {} away: then everything stays as it is, and what was moved aside lies in \
             directories .jackin-recovery-* beside or in the mounts",
            sanitize::path(directory)
        )),
        (None, None) => made,
    }
}

/// The commands that take an interrupted restore up.
fn way_out(made: CliError, error: &RestoreError) -> CliError {
    let instance = match error {
        RestoreError::Pending(intent) => &intent.instance,
        RestoreError::Waits { instance, .. } => instance,
        RestoreError::Changed { instance, .. } => {
            return made.command("take it back; what changed stays", format!("abort {instance}"));
        }
        RestoreError::RollBack { .. } | RestoreError::StageGone { .. } => {
            let made = made.command("take it back, once the reason is gone", "abort");
            return made.command("or forget it, and leave everything as it is", "abort --as-is");
        }
        RestoreError::Left { cause, .. } => return way_out(made, cause),
        _ => return made,
    };
    made.command("finish it", format!("resume {instance}"))
        .command("take it back", format!("abort {instance}"))
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
            Some("`show` names what it lacks; without --require-complete it is used"),
        ),
        RestoreError::Mount(error) if error.is_about_mounting() => (ErrorKind::Io, Some(REMOUNT)),
        RestoreError::NotEmpty(_) => (ErrorKind::Usage, Some("name a directory that is absent or empty")),
        RestoreError::Locked(_) => (
            ErrorKind::RefusedLocked,
            Some("wait until git is done there; --files-only leaves the repository out"),
        ),
        RestoreError::Drift { .. } => (
            ErrorKind::Failed,
            Some("run the command again; stop what still writes there"),
        ),
        RestoreError::Space { .. } => (
            ErrorKind::Io,
            Some("nothing was changed; make room and try again"),
        ),
        RestoreError::Stage { source, .. } if handle_fs::is_bound(source) => (
            ErrorKind::Io,
            Some(
                "nothing was changed; if the directory is immutable or append-only (lsattr -d), `chattr -i -a` takes \
                 that off",
            ),
        ),
        RestoreError::Pending(_)
        | RestoreError::RollBack { .. }
        | RestoreError::Changed { .. }
        | RestoreError::Waits { .. } => (ErrorKind::Pending, None),
        RestoreError::Left { cause, .. } => restore_kind(cause),
        RestoreError::StageGone { .. } => (
            ErrorKind::Pending,
            Some(
                "it cannot be finished any more; abort takes back what can be taken back, and names the rest",
            ),
        ),
        RestoreError::OtherRoot { .. } => (
            ErrorKind::Pending,
            Some(
                "put the directory back where it was, or mount it again; abort --as-is forgets the restore and leaves \
                 everything as it is",
            ),
        ),
        RestoreError::Unrecorded { .. } => (
            ErrorKind::Io,
            Some(
                "the next command that works on these files writes it (undo, restore, begin, launch); until then `log` does not know of this restore",
            ),
        ),
        _ if is_forbidden(error) => (
            ErrorKind::Io,
            Some("root may do what you may not: the same command after `sudo`"),
        ),
        _ => (ErrorKind::Io, None),
    }
}

/// Returns true if the system denied access to a user who is not root.
fn is_forbidden(error: &RestoreError) -> bool {
    let cause = error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    let refused = cause.is_some_and(|cause| cause.kind() == ErrorCause::PermissionDenied);
    refused && !handle_fs::is_privileged()
}
