//! Kinds and hints for errors in an agent's settings.

use super::configuration::replacing;
use crate::agents::settings::SettingsError;
use crate::cli::error::{CliError, ErrorKind};

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        let made = |kind| Self::from_error(kind, &error);
        match &error {
            SettingsError::NoUserScope { agent } => made(ErrorKind::Usage).command(
                "in a project's directory",
                format!("hook install {agent} --scope project"),
            ),
            SettingsError::NoHome => made(ErrorKind::Config).hint("set HOME to your home directory"),
            SettingsError::Fault { .. } => {
                made(ErrorKind::Config).hint("nothing was written; mend the file, and run the command again")
            }
            SettingsError::Link { to: Some(_), .. } => made(ErrorKind::Failed).hint(
                "nothing was written: what lies in a project may have been put there to make others write elsewhere; \
                 remove the link, or install for yourself with --scope user",
            ),
            SettingsError::Link { to: None, .. } => {
                made(ErrorKind::Failed).hint("nothing was written; remove the link, or make what it leads to")
            }
            SettingsError::Program { .. } => made(ErrorKind::Failed),
            SettingsError::Read { .. } => made(ErrorKind::Io),
            SettingsError::Replace(error) => {
                let (kind, hint) = replacing(error);
                hint.into_iter().fold(made(kind), Self::hint)
            }
        }
    }
}
