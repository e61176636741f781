//! `hook`: our hooks in the settings of other people's agents.

mod edit;
mod run;
mod status;

use crate::agents::settings::{Program, SettingsError};
use crate::cli::args::{HookAction, HookArgs};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::suggested_command::Words;
use crate::terminal::shell;

pub(super) fn run(context: Context<'_>, args: &HookArgs) -> Result<Status, CliError> {
    match &args.action {
        HookAction::Install(args) => edit::install(&context, args),
        HookAction::Uninstall(args) => edit::uninstall(&context, args),
        HookAction::Status(args) => status::run(&context, args),
        HookAction::Run(args) => Ok(run::run(context, args)),
    }
}

/// This program, as a hook calls it.
fn this() -> Result<Program, CliError> {
    let path = std::env::current_exe().map_err(|error| {
        CliError::new(
            ErrorKind::Failed,
            "the path of this program is not known, so no hook can call it",
        )
        .because(error)
    })?;
    let made = Program::new(&path, &shell::word(path.as_os_str()));
    made.map_err(|fault| {
        let problem = fault.problem;
        SettingsError::Program { problem }.into()
    })
}

/// The words of `hook status`.
fn status_words() -> String {
    Words::new("hook").arg("status").text()
}
