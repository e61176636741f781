//! Start of the screen in a process of its own, so that whatever ends it leaves the terminal as it was.

use std::ffi::OsString;

use super::UiArgs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::process::{Exit, in_front};
use crate::recovery::Wanted;
use crate::terminal::Screen;

/// The code of a process that panicked.
const PANICKED: i32 = 101;

pub(super) fn run(context: &Context<'_>, args: &UiArgs) -> Result<Status, CliError> {
    if !context.terminal.has_screen() {
        let message = match context.terminal.is_tty_out() && context.terminal.is_tty_in() {
            true => "this terminal cannot move its cursor: TERM is not set, or is dumb",
            false => "stdin or stdout is not a terminal",
        };
        return Err(CliError::new(ErrorKind::Usage, message)
            .command("without a screen", "list")
            .command("one session", "show"));
    }
    let screen = Screen::remember();
    // What it says to type is as this one was called.
    let mut called = context.called_as.prefix().split(' ');
    let name = called.next().unwrap_or_default();
    let mut words: Vec<OsString> = called.chain(["__screen"]).map(OsString::from).collect();
    if !context.terminal.shows_colors() {
        words.push("--color=never".into());
    }
    words.extend(context.agent_words());
    let instance = match (&args.session.instance, args.session.any) {
        // The screen reports one that is not there, and shows the others.
        (Some(named), _) => Some(named.into()),
        (None, true) => None,
        (None, false) => {
            let here = args.session.settle_here(context, Wanted::Any)?;
            if here.is_none() {
                words.push("--elsewhere".into());
            }
            here.map(OsString::from)
        }
    };
    words.push("--".into());
    words.extend(instance);
    let ended = in_front(name, &words, &context.interrupts)
        .map_err(|error| CliError::new(ErrorKind::Failed, "the screen cannot be started").because(error))?;
    match ended {
        Exit::Code(PANICKED) => {
            screen.put_back();
            // On one line, below which the reason stands. A restore that it had begun is finished, or pending, which each command says.
            Err(CliError::new(ErrorKind::Failed, "the screen failed"))
        }
        Exit::Code(code) => Ok(Status::of_command(code)),
        Exit::Signal(signal) => {
            screen.put_back();
            let message =
                format!("the screen was ended by signal {signal}; a running restore can be resumed");
            Err(CliError::new(ErrorKind::Interrupted, message).command("to check for one", "list"))
        }
    }
}
