//! The command that `launch` and `exec` run: checked before the work, started, and its exit status.

use std::ffi::OsString;

use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::exit_code::Status;
use crate::process::{self, Exit, Invocation, Running};

/// The program and its arguments, when it can be run.
pub(super) fn checked<'c>(
    context: &Context<'_>,
    command: &'c [OsString],
) -> Result<(&'c OsString, &'c [OsString]), CliError> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| CliError::new(ErrorKind::Usage, "no command was given"))?;
    let invocation = Invocation {
        program,
        arguments,
        environment: &[],
        directory: &context.environment.current,
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
    program: &OsString,
    arguments: &[OsString],
    variables: &[(OsString, OsString)],
) -> Result<Running<'a>, CliError> {
    // What serves for a volume may be in the way of the command, and is not needed while it runs.
    context.environment.transports.disconnect_all();
    let directory = context.environment.current.clone();
    let invocation = Invocation {
        program,
        arguments,
        environment: variables,
        directory: &directory,
    };
    Ok(process::start(&invocation, &context.interrupts)?)
}
