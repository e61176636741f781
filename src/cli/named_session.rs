//! Errors for a session that a command names.

use super::error::CliError;
use crate::model::InstanceId;
use crate::recovery::RecoveryError;

/// Returns the error for a name when there is no store at all.
pub(super) fn no_store(instance: &str) -> CliError {
    RecoveryError::no_store(instance).into()
}

/// Adds what can be done with a session that is not active.
pub(super) fn if_not_active(
    error: RecoveryError,
    purpose: &str,
    words: impl FnOnce(&InstanceId) -> String,
) -> CliError {
    let words = match &error {
        RecoveryError::NotActive(id) => Some(words(id)),
        _ => None,
    };
    let made = CliError::from(error);
    match words {
        Some(words) => made.command(purpose, words),
        None => made,
    }
}
