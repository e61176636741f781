//! Kinds and hints for errors of an export or an import.

use std::error::Error;

use crate::cli::error::{CliError, ErrorKind};
use crate::transfer::TransferError;

/// For a file that is not what it should be.
const COPY_AGAIN: &str =
    "nothing of it was kept; import takes what `export` wrote: copy the file once more, if it should be one";

impl From<TransferError> for CliError {
    fn from(error: TransferError) -> Self {
        let (kind, hint) = match error {
            TransferError::Store(error) => return error.into(),
            TransferError::Interrupted => (ErrorKind::Interrupted, None),
            TransferError::Exists(_) => (
                ErrorKind::Usage,
                Some("name another file: nothing is ever written over"),
            ),
            TransferError::Write { .. } => (
                ErrorKind::Io,
                Some("nothing was written; name a place that you may write to and that has room"),
            ),
            TransferError::Room { .. } => (
                ErrorKind::Io,
                Some("nothing was changed; make room, or name a jackin home elsewhere in JACKIN_HOME_DIR"),
            ),
            TransferError::Archive(ref error) => {
                let hint = error.is_damage().then_some(COPY_AGAIN);
                (super::archive_kind(error), hint)
            }
            TransferError::NoExport { .. } => (ErrorKind::Integrity, Some(COPY_AGAIN)),
            TransferError::Newer { .. } => (
                ErrorKind::NewerStore,
                Some("nothing was changed; use the newer version that wrote it"),
            ),
            TransferError::Damaged { .. } => (ErrorKind::Integrity, Some(COPY_AGAIN)),
            TransferError::Content { .. } => (ErrorKind::Integrity, None),
        };
        let made = Self::from_error(kind, &error as &(dyn Error + 'static));
        match hint {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}
