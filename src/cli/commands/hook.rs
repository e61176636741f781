//! `hook`: one file an action.

pub(super) mod run;

use crate::cli::args::HookArgs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;

pub(super) fn run(_: &Context<'_>, _: &HookArgs) -> Result<Status, CliError> {
    Err(CliError::new(ErrorKind::Usage, "not merged"))
}
