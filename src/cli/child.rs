//! The command that `launch` and `exec` run: checked before the work, started, and its exit status.

use std::ffi::OsString;
use std::path::Path;

use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::exit_code::Status;
use crate::process::{self, Exit, Invocation, Running};

/// The program and its arguments, when it can be run in `directory`.
pub(super) fn checked<'c>(
    context: &Context<'_>,
    command: &'c [OsString],
    directory: &Path,
) -> Result<(&'c OsString, &'c [OsString]), CliError> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| CliError::new(ErrorKind::Usage, "no command was given"))?;
    if program.is_empty() {
        let error = CliError::new(ErrorKind::Usage, "the command is empty");
        return Err(error.hint("name a program after `--`"));
    }
    let invocation = Invocation {
        program,
        arguments,
        environment: &[],
        directory,
    };
    process::check(&invocation, context.environment.get("PATH"))?;
    Ok((program, arguments))
}

pub(super) fn status(exit: Exit) -> Status {
    match exit {
        Exit::Code(code) => Status::of_command(code),
        Exit::Signal(signal) => Status::of_signal(signal),
    }
}

pub(super) fn start<'a>(
    context: &'a Context<'_>,
    (program, arguments): (&OsString, &[OsString]),
    variables: &[(OsString, OsString)],
    directory: &Path,
) -> Result<Running<'a>, CliError> {
    // What serves for a volume may be in the way of the command, and is not needed while it runs.
    context.environment.transports.disconnect_all();
    // Below another directory a relative one would name another store.
    let homes = context.environment.jackin_directories();
    let variables: Vec<_> = homes.into_iter().chain(variables.iter().cloned()).collect();
    let invocation = Invocation {
        program,
        arguments,
        environment: &variables,
        directory,
    };
    Ok(process::start(&invocation, &context.interrupts)?)
}
