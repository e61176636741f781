//! Directory in which a launched command runs: inside what is protected, unless the operator wants another one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::config::settle;
use crate::recovery::Contract;
use crate::terminal::sanitize;

/// Value of `--cwd` for the directory of the caller. A directory of that name is written `./keep`.
const KEEP: &str = "keep";

/// Directory of the command.
pub(super) struct Workplace {
    /// The directory.
    pub(super) path: PathBuf,
    /// True if it is not the caller's.
    pub(super) is_moved: bool,
}

impl Workplace {
    /// Chooses the directory: the one that was given, the caller's if it is in a mount, else the first mount on this machine.
    ///
    /// # Errors
    /// A usage error if the given directory does not exist or is not a directory.
    pub(super) fn choose(
        context: &Context<'_>,
        contract: &Contract,
        given: Option<&OsString>,
    ) -> Result<Self, CliError> {
        let current = &context.environment.current;
        let is_gone =
            || matches!(current.metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound);
        let stay = Self {
            path: current.clone(),
            is_moved: false,
        };
        if let Some(given) = given {
            return match given == OsStr::new(KEEP) {
                true => Ok(stay),
                false => named(context, Path::new(given)),
            };
        }
        let here = settle(current);
        let mut roots = contract.workplaces();
        if roots.iter().any(|root| here.starts_with(root)) && !is_gone() {
            return Ok(stay);
        }
        roots.retain(|root| root.is_dir());
        Ok(match roots.into_iter().next() {
            Some(path) => Self { path, is_moved: true },
            None => stay,
        })
    }

    /// Returns the variable that tells programs their directory, if it is not the caller's.
    pub(super) fn variable(&self) -> Option<(OsString, OsString)> {
        self.is_moved
            .then(|| (OsString::from("PWD"), self.path.clone().into_os_string()))
    }

    /// Reports a directory that is not the caller's, and warns if it is not protected.
    pub(super) fn report(&self, context: &Context<'_>, contract: &Contract) {
        let shown = sanitize::path(&self.path);
        let here = settle(&self.path);
        let mut roots = contract
            .coverages()
            .filter(|coverage| !coverage.state)
            .map(|coverage| coverage.root.to_path())
            .peekable();
        if roots.peek().is_none() {
            return;
        }
        // Nothing that runs on this machine runs in a directory of another one.
        let all_elsewhere = contract.workplaces().is_empty();
        let is_outside = !roots.any(|root| here.starts_with(root));
        match (is_outside, all_elsewhere) {
            (true, true) => context
                .terminal
                .note(&format!("running in {shown}, which is not protected")),
            (true, false) => context
                .terminal
                .warn(&format!("the command runs in {shown}, which is not protected")),
            (false, _) if self.is_moved => context.terminal.note(&format!("running in {shown}")),
            (false, _) => {}
        }
    }
}

fn named(context: &Context<'_>, given: &Path) -> Result<Workplace, CliError> {
    let path = settle(&context.environment.absolute(given));
    let shown = sanitize::path(given);
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(Workplace {
            is_moved: settle(&path) != settle(&context.environment.current),
            path,
        }),
        Ok(_) => Err(CliError::new(
            ErrorKind::Usage,
            format!("--cwd {shown}: it is not a directory"),
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let missing = sanitize::path(&path);
            let error = CliError::new(
                ErrorKind::Usage,
                format!("--cwd {shown}: {missing} does not exist"),
            );
            Err(error.hint("create the directory first, or use --cwd keep for the current directory"))
        }
        Err(error) => {
            Err(CliError::new(ErrorKind::Usage, format!("--cwd {shown}: it cannot be used")).because(error))
        }
    }
}
