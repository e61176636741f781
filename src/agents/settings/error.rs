//! Errors of an agent's settings file.

use std::io;
use std::path::PathBuf;

use super::Fault;
use crate::agents::{Agent, Scope};
use crate::config::shown;
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use handle_fs::ReplaceError;

/// Reason that a settings file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Unknown home directory.
    #[error("your home directory is unknown, and so are your agents' settings")]
    NoHome,
    /// Scope for which the agent has no settings file.
    #[error(
        "{} has no {} settings; its scopes are {}",
        agent.title(),
        scope.word(),
        agent.scopes().iter().map(|scope| scope.word()).collect::<Vec<_>>().join(" and ")
    )]
    NoScope {
        /// The agent.
        agent: Agent,
        /// The scope.
        scope: Scope,
    },
    /// Invalid content of the file.
    #[error("{}{}: {}", shown(path), fault.line.map(|line| format!(", line {line}")).unwrap_or_default(), fault.problem)]
    Fault {
        /// The file.
        path: PathBuf,
        /// Fault in its content.
        fault: Fault,
    },
    /// Link that leads out of the project, or nowhere.
    #[error("{} is reached through a link that leads {}", shown(path), match to {
        Some(to) => format!("out of the project, to {}", shown(to)),
        None => "nowhere".to_owned(),
    })]
    Link {
        /// The file.
        path: PathBuf,
        /// Target of the link; `None` if the link is dangling.
        to: Option<PathBuf>,
    },
    /// Path of the program, unfit for a settings file.
    #[error("{problem}")]
    Program {
        /// Description of the problem.
        problem: String,
    },
    /// File that cannot be read.
    #[error("{} cannot be read: {source}", shown(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the system or from jackin.
        source: io::Error,
    },
    /// File that cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

impl Diagnostic for SettingsError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoHome | Self::Fault { .. } => ErrorKind::Config,
            Self::NoScope { .. } => ErrorKind::Usage,
            Self::Link { .. } | Self::Program { .. } => ErrorKind::Failed,
            Self::Read { .. } => ErrorKind::Io,
            Self::Replace(error) => error.kind(),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            Self::NoScope { agent, .. } => {
                let command = format!("hook install {agent} --scope project");
                return vec![Hint::command("to use the settings of the project", command)];
            }
            Self::NoHome => Hint::text("set HOME to your home directory"),
            Self::Fault { .. } => Hint::text("nothing was written; fix the file, and run the command again"),
            Self::Link { to: Some(_), .. } => Hint::text(
                "nothing was written: a link in a project may be planted to redirect writes; remove the link, or use \
                --scope user",
            ),
            Self::Link { to: None, .. } => {
                Hint::text("nothing was written; remove the link, or make what it leads to")
            }
            Self::Program { .. } | Self::Read { .. } => return Vec::new(),
            Self::Replace(error) => return error.hints(),
        };
        vec![hint]
    }
}
