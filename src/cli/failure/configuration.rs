//! Kinds and hints for errors in the configuration or in the contract that results from it.

use super::capture::UNFROZEN;
use crate::cli::error::{CliError, ErrorKind};
use crate::config::{ConfigError, EditError};
use crate::contract::ContractError;
use crate::terminal::shell;
use handle_fs::ReplaceError;

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let made = Self::from_error(ErrorKind::Config, &error);
        match &error {
            // The message names the nearest key; the manual page has all of them.
            ConfigError::UnknownKey { .. } | ConfigError::WrongType { .. } => made.command(
                "every key, its values and what it is for",
                "man config | man -l -",
            ),
            _ => made,
        }
    }
}

/// Returns the kind and the hint for a file of another program that could not be replaced.
pub(super) fn replacing(error: &ReplaceError) -> (ErrorKind, Option<&'static str>) {
    match error {
        ReplaceError::Changed { .. } => (ErrorKind::Failed, Some("run the command again")),
        ReplaceError::Write { .. } => (ErrorKind::Io, None),
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
            EditError::Replace(error) => {
                let (kind, hint) = replacing(error);
                (kind, hint.map(str::to_owned))
            }
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
            ContractError::NoTarget { .. } | ContractError::Address { .. } => ErrorKind::Usage,
            _ => ErrorKind::Config,
        };
        let made = match error {
            ContractError::Config(error) => return error.into(),
            error => (Self::from_error(kind, &error), error),
        };
        match made {
            (made, ContractError::Missing { path, .. }) => made.hint(format!(
                "name another directory, or make it:\n  mkdir -p {}",
                shell::word(path.as_os_str())
            )),
            (made, ContractError::NothingToCapture { .. }) => made.hint(
                "a snapshot needs a directory that the agent may write: instead of a single file mount the \
                 directory it lies in, or set snapshot = \"off\"",
            ),
            (made, ContractError::NotFrozen { .. }) => made.hint(UNFROZEN),
            (made, ContractError::KeptAndReplicated { .. }) => made.hint(
                "native = \"auto\" in [recovery] freezes mounts just so, and stores the contents in archives, which are copied",
            ),
            (made, _) => made,
        }
    }
}
