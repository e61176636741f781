//! `__lifeline`: what ends and removes, once this program is gone, that which would stay elsewhere.

use std::ffi::OsString;

use clap::Args;

use crate::cli::args::Group;
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::process::{hold, leave_terminal};

/// End and remove what was started elsewhere once standard input ends
#[derive(Clone, Debug, Args)]
pub struct LifelineArgs {
    /// The program that removes it, and its words
    #[arg(last = true, value_name = "CMD")]
    pub then: Vec<OsString>,
}

impl Command for LifelineArgs {
    const NAME: &'static str = "__lifeline";
    const GROUP: Option<Group> = None;

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        leave_terminal();
        let pipes = context.terminal.pipes();
        let (from, _) = pipes.map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
        hold(from, &args.then);
        Ok(ExitCode::Done.into())
    }
}
