//! `__agent`: what other machines run for this program there.

use crate::cli::args::AgentThereArgs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::platform::remote::serve;
use crate::process::remove_copy;

pub(super) fn run(context: &Context<'_>, args: &AgentThereArgs) -> Result<Status, CliError> {
    let failed = |error: std::io::Error| CliError::new(ErrorKind::Io, format!("the agent stops: {error}"));
    if let Some(directory) = &args.remove {
        remove_copy(directory).map_err(failed)?;
    }
    let (from, to) = context.terminal.pipes();
    serve(from, to).map_err(failed)?;
    Ok(ExitCode::Done.into())
}
