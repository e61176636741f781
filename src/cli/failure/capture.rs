//! Kinds and next steps for errors of a capture.

use super::{archive_kind, store_kind};
use crate::capture::{Big, CaptureError};
use crate::cli::error::{CliError, ErrorKind};
use crate::terminal::{sanitize, size};

impl From<CaptureError> for CliError {
    fn from(error: CaptureError) -> Self {
        let made = Self::from_error(capture_kind(&error), &error);
        match &error {
            CaptureError::Room {
                path,
                need,
                free,
                store,
                biggest,
            } => {
                let message = format!(
                    "{} holds {} that are not stored yet, and {} are free where the store lies: {}",
                    sanitize::path(path),
                    size::bytes(*need),
                    size::bytes(*free),
                    sanitize::path(store)
                );
                let made = Self { message, ..made };
                let made = biggest
                    .iter()
                    .fold(made, |made, big| made.hint(big_hint(big, false)));
                made.hint("or make room where the store lies")
            }
            CaptureError::Limit { entries, biggest, .. } => {
                let made = biggest
                    .iter()
                    .fold(made, |made, big| made.hint(big_hint(big, *entries)));
                let key = if *entries { "max_entries" } else { "max_bytes" };
                let or = if biggest.is_empty() { "" } else { "or " };
                made.hint(format!("{or}raise {key} in [recovery.limits]"))
            }
            CaptureError::Unwritten { .. } | CaptureError::Write(_) | CaptureError::Archive(_) => {
                made.hint("nothing of the snapshot was kept; make room where the store lies and try again")
            }
            CaptureError::NotFrozen { .. } => made.hint(UNFROZEN),
            CaptureError::Mount(error) if error.is_about_mounting() => made.hint(REMOUNT),
            _ => made,
        }
    }
}

/// Hints for an unmounted disk, or another disk in its place.
pub(super) const REMOUNT: &str = "mount the file systems as they were and repeat the command; `restore --to DIR` writes the files elsewhere";

/// Hint for mounts without file-system snapshots.
pub(super) const UNFROZEN: &str =
    "native = \"auto\" in [recovery] reads the files as they are where no such snapshot can be had";

fn capture_kind(error: &CaptureError) -> ErrorKind {
    match error {
        CaptureError::Interrupted => ErrorKind::Interrupted,
        CaptureError::Limit { .. } | CaptureError::Room { .. } => ErrorKind::LimitExceeded,
        CaptureError::Excludes { .. } | CaptureError::Seal { .. } => ErrorKind::Config,
        CaptureError::Store(error) => store_kind(error),
        CaptureError::Archive(error) => archive_kind(error),
        CaptureError::ReadBack { .. } => ErrorKind::Integrity,
        CaptureError::Unwritten { .. } => ErrorKind::Io,
        CaptureError::NotFrozen { .. }
        | CaptureError::Mount(_)
        | CaptureError::Root { .. }
        | CaptureError::Write(_) => ErrorKind::SnapshotFailed,
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
