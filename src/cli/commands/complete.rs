//! The hidden verb behind the completions of every shell: one line a candidate (the word, a tab, what it is), and last
//! what the shell shall add by itself.

use crate::cli::args::CompleteArgs;
use crate::cli::complete::candidates;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};

pub(super) fn run(context: &Context<'_>, args: &CompleteArgs) -> Result<Status, CliError> {
    let mut words = args.words.clone();
    // Some shells do not pass an empty word on.
    if words.len() == args.index {
        words.push(Default::default());
    }
    let found = candidates(
        context.environment,
        context.called_as,
        words,
        args.index,
        context.now(),
    );
    for (word, help) in &found.words {
        context.terminal.out(&match help.as_str() {
            "" => word.clone(),
            help => format!("{word}\t{help}"),
        });
    }
    if let Some(shell) = found.shell {
        context.terminal.out(shell.line());
    }
    Ok(ExitCode::Done.into())
}
