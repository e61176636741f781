//! Kind and hints of a command that could not be started.

use std::ffi::OsStr;
use std::io;

use processes::LaunchError;

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::display::shell;

impl Diagnostic for LaunchError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::CommandNotFound,
            Self::NotExecutable { .. } => ErrorKind::CannotExecute,
            Self::Interrupted { .. } => ErrorKind::Interrupted,
            Self::Directory { .. } | Self::Start { .. } | Self::Wait { .. } => ErrorKind::Failed,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let is_path = |program: &OsStr| program.as_encoded_bytes().contains(&b'/');
        let hint = match self {
            Self::NotFound { program } if is_path(program) => {
                Hint::text("the path of a command begins at the current directory")
            }
            Self::NotFound { .. } => {
                Hint::text("not found in PATH; write ./NAME for a program in this directory")
            }
            Self::NotExecutable { program, source }
                if source.kind() == io::ErrorKind::PermissionDenied && is_path(program) =>
            {
                Hint::text(format!(
                    "make it executable, or name the program that runs it:\n  chmod +x {}",
                    shell::word(program)
                ))
            }
            Self::NotExecutable { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                Hint::text("name the program to run")
            }
            _ => return Vec::new(),
        };
        vec![hint]
    }
}
