//! What an export or an import that failed means to the operator.

use std::error::Error;

use crate::cli::error::{CliError, ErrorKind};
use crate::transfer::TransferError;

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
            TransferError::Archive(ref error) => (super::archive_kind(error), None),
            TransferError::NoExport { .. } => (
                ErrorKind::Integrity,
                Some("import takes what `export` wrote; copy the file once more, if it should be one"),
            ),
            TransferError::Newer { .. } => (
                ErrorKind::NewerStore,
                Some("nothing was changed; use the newer version that wrote it"),
            ),
            TransferError::Damaged { .. } => (
                ErrorKind::Integrity,
                Some("nothing of it was kept; copy the file once more, or export it again"),
            ),
            TransferError::Content { .. } => (ErrorKind::Integrity, None),
        };
        let made = Self::from_error(kind, &error as &(dyn Error + 'static));
        match hint {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}
