//! The hidden command behind the completions of every shell: one line a candidate (the word, a tab, what it is), and last
//! what the shell shall add by itself.

use std::ffi::OsString;

use clap::Args;

use super::Verb;
use crate::cli::args::Group;
use crate::cli::command::Command;
use crate::cli::complete::candidates;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};

/// List the candidates at the cursor, for completions
#[derive(Clone, Debug, Args)]
pub struct CompleteArgs {
    /// Number of the word to complete; the program is word 0
    #[arg(value_name = "INDEX")]
    pub index: usize,
    /// The command line up to the cursor
    #[arg(last = true, num_args = 0.., value_name = "WORD")]
    pub words: Vec<OsString>,
}

impl Command for CompleteArgs {
    const NAME: &'static str = "__complete";
    const GROUP: Option<Group> = None;

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let mut words = args.words.clone();
        // Some shells do not pass an empty word on.
        if words.len() == args.index {
            words.push(Default::default());
        }
        let found = candidates::<Verb>(
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
}
