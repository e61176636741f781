//! Streams between a command and the operator: verbosity, log file, pager.

use std::path::Path;

use super::Invocation;
use super::error::{CliError, ErrorKind};
use crate::clock::SystemClock;
use crate::config::settle_path;
use crate::environment::Environment;
use crate::process::{Pager, pager_line};
use crate::terminal::{Log, Terminal, sanitize};

/// Returns the terminal as the command line configures it. The terminal is returned with an error too, to report it.
pub(super) fn prepared(
    terminal: Terminal,
    invocation: &Invocation,
    environment: &Environment,
) -> (Terminal, Result<(), CliError>) {
    let global = &invocation.global;
    let mut terminal = terminal.with_verbosity(global.verbosity());
    if let Some(path) = &global.log_file {
        let path = settle_path(environment, Path::new(path));
        match Log::open(&path, Box::new(SystemClock)) {
            Ok(log) => terminal = terminal.with_log(log),
            Err(error) => {
                let message = format!("the log {} cannot be written", sanitize::path(&path));
                let made = CliError::new(ErrorKind::Io, message).because(error);
                return (
                    terminal,
                    Err(made.hint("nothing was done; choose another file, or omit --log-file")),
                );
            }
        }
    }
    if !global.no_pager
        && terminal.can_page()
        && let Some(line) = pager_line(environment)
    {
        // The command to type next wants a line, and so does the shell's prompt.
        let (lines, columns) = terminal.screen();
        let screen = (lines.saturating_sub(3), columns);
        let patience = terminal.patience();
        let variables = environment.variables.clone();
        let pager = move |instead| -> Box<dyn std::io::Write + Send> {
            let (line, patience) = (line.clone(), patience.clone());
            Box::new(Pager::new(line, &variables, screen, patience, instead))
        };
        match invocation.verb.is_read() {
            true => terminal.page_through(pager),
            false => terminal.use_pager(pager),
        }
    }
    (terminal, Ok(()))
}
