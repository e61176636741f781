//! `__lifeline`: what ends and removes, once this program is gone, that which would stay elsewhere.

use crate::cli::args::LifelineArgs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::process::{hold, leave_terminal};

pub(super) fn run(context: &Context<'_>, args: &LifelineArgs) -> Result<Status, CliError> {
    leave_terminal();
    let pipes = context.terminal.pipes();
    let (from, _) = pipes.map_err(|error| CliError::new(ErrorKind::Io, error.to_string()))?;
    hold(from, &args.then);
    Ok(ExitCode::Done.into())
}
