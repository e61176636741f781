//! The server behind `mcp`.

use std::io::IsTerminal as _;

use super::McpArgs;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::mcp::{Bound, serve};

pub(super) fn run(context: &Context<'_>, args: &McpArgs) -> Result<Status, CliError> {
    if std::io::stdin().is_terminal() {
        context
            .terminal
            .note("an agent should start this: it speaks the Model Context Protocol; press Ctrl-C to end it");
    }
    let bound = Bound::new(context, args.instance.as_deref(), args.read_only)?;
    serve(bound, &context.interrupts.flag())?;
    Ok(ExitCode::Done.into())
}
