//! The command line: from arguments to a command, and from its outcome to an exit code. The only layer that sees `terminal`.

mod agent_session;
pub mod args;
mod called_as;
mod checkpoint_timer;
mod child;
mod choose;
mod choose_point;
mod closed_paths;
mod command;
mod commands;
mod complete;
mod completion_files;
pub mod confirm;
pub mod context;
mod contract_args;
mod edited_text;
pub mod error;
pub mod exit_code;
mod fail_point;
pub mod generate;
#[cfg(any(feature = "html", feature = "tui"))]
mod highlight;
#[cfg(feature = "html")]
mod html;
#[cfg(not(feature = "html"))]
#[path = "cli/html_absent.rs"]
mod html;
mod hunk_choice;
mod identity_arg;
mod json_output;
#[cfg(feature = "tui")]
mod line_choice;
#[cfg(feature = "mcp")]
mod mcp;
mod missing_agent;
#[cfg(all(target_os = "linux", feature = "mount"))]
mod mount;
mod named_file;
mod named_session;
mod plan_question;
mod replication;
mod restore_flow;
mod retain;
mod schema;
mod session_arg;
mod session_begin;
mod session_changes;
mod session_end;
mod snapshot_arg;
mod steadfast;
mod streams;
mod sudo;
mod suggested_command;
mod text_choice;
mod tool;
#[cfg(feature = "tui")]
mod ui;
mod view;
mod watcher;
mod workspace_setup;
mod written_snapshot;

use std::ffi::OsString;

pub use args::ParseOutcome;
pub use called_as::CalledAs;
pub use commands::Verb;

use crate::environment::Environment;
use crate::process::outlive_file_limit;
use crate::terminal::{Terminal, Verbosity};
use args::{is_called_by_agent, wanted_color, wants_json};
use error::{CliError, ErrorKind, LostResult};
use exit_code::{ExitCode, Status};

/// A command line that was understood.
pub type Invocation = args::Invocation<Verb>;

/// Understands `args`, the first of which is the program's name. Help is laid out for `columns`.
///
/// # Errors
/// When there is nothing to carry out: help was asked for, or the command line is wrong.
pub fn parse(args: Vec<OsString>, columns: usize) -> Result<Invocation, ParseOutcome> {
    args::parse(args, columns)
}

/// The whole program: understands the arguments, carries the command out, and tells how that ended.
#[must_use]
pub fn main(args: Vec<OsString>, environment: &Environment) -> Status {
    // Where that is refused the limit ends the process, as it does everywhere else.
    let _ = outlive_file_limit();
    run(args, environment, |invocation, terminal| {
        commands::perform(invocation, environment, terminal)
    })
}

/// Understands `args`, lets `perform` carry out the command, and tells how that ended. `perform` writes its results to the
/// terminal; what goes wrong it returns instead of printing it.
pub fn run(
    args: Vec<OsString>,
    environment: &Environment,
    perform: impl FnOnce(&Invocation, &Terminal) -> Result<Status, CliError>,
) -> Status {
    let (json, color) = (wants_json(&args), wanted_color(&args));
    run_on(
        args,
        json,
        Terminal::open(environment, color, Verbosity::default()),
        environment,
        perform,
    )
}

/// [`run`] on any terminal. `json`: how an error is told when the command line cannot be understood.
fn run_on(
    args: Vec<OsString>,
    json: bool,
    terminal: Terminal,
    environment: &Environment,
    perform: impl FnOnce(&Invocation, &Terminal) -> Result<Status, CliError>,
) -> Status {
    let is_hook = is_called_by_agent(&args);
    let mut understood = parse(args.clone(), terminal.width_out());
    if !is_hook && let Some(args) = choose::completed(&args, &understood, environment, &terminal) {
        understood = parse(args, terminal.width_out());
    }
    let is_removed = args.iter().any(|arg| arg == "uninstall");
    let action = if is_removed { "uninstall" } else { "install" };
    let called_as = CalledAs::of(args.first().map(OsString::as_os_str));
    let understood = missing_agent::explained(understood, action, called_as, environment);
    match understood {
        Err(ParseOutcome::Asked(text)) => {
            terminal.out(&text);
            finish(&terminal, json, ExitCode::Done.into(), false)
        }
        Err(ParseOutcome::Wrong { error, help, .. }) => {
            match help {
                Some(help) if !json => terminal.err(&help),
                _ => error.print(&terminal, json),
            }
            // To an agent the usual code for this means that the tool call must not happen.
            let code = if is_hook {
                ExitCode::Failed
            } else {
                error.kind.exit_code()
            };
            finish(&terminal, json, code.into(), false)
        }
        Ok(invocation) => {
            let json = invocation.verb.json();
            let (terminal, ready) = streams::prepared(terminal, &invocation, environment);
            if json {
                terminal.await_json();
            }
            terminal.detail(&invocation.described());
            let performed = ready.and_then(|()| perform(&invocation, &terminal));
            let is_done = performed.is_ok() && invocation.verb.changes_something();
            let status = performed.unwrap_or_else(|error| {
                let error = error.as_called(invocation.called_as);
                error.print(&terminal, json);
                invocation.verb.exit_code(error.kind).into()
            });
            let status = finish(&terminal, json, status, is_done);
            terminal.detail(&format!("exit code {}", i32::from(status)));
            status
        }
    }
}

/// A result that could not be written is a failure, even if all else went well. Where the command changed
/// something (`is_done`), its work decides, and the result goes to stderr. A reader that went away is no
/// failure.
fn finish(terminal: &Terminal, json: bool, status: Status, is_done: bool) -> Status {
    let Err(cause) = terminal.finish() else {
        return status;
    };
    if is_done {
        LostResult::print(terminal, json, &cause);
        return status;
    }
    CliError::new(ErrorKind::Io, "cannot write the result to stdout")
        .because(cause)
        .print(terminal, json);
    if status.is_success() {
        ErrorKind::Io.exit_code().into()
    } else {
        status
    }
}

#[cfg(test)]
mod tests;
