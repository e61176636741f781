//! `__agent`: what other machines run for this program there.

use std::io::Write as _;

use clap::Args;

use crate::capture::{UNCHANGED, answer};
use crate::cli::args::Group;
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::contract::{COUNT, count_answer};
use crate::process::{Copies, RunningCopy};
use handle_fs::remote::serve;

/// Answer on standard output what another machine asks on standard input
#[derive(Clone, Debug, Args)]
pub struct AgentThereArgs {
    /// Remove this copy of the program, and the directory that it lies in alone
    #[arg(long, value_name = "DIR")]
    pub remove: Option<std::path::PathBuf>,
    /// This program is the copy that is kept in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "remove")]
    pub kept: Option<std::path::PathBuf>,
    /// Print this line before anything else
    #[arg(long, value_name = "LINE")]
    pub listening: Option<String>,
}

impl Command for AgentThereArgs {
    const NAME: &'static str = "__agent";
    const GROUP: Option<Group> = None;

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let failed =
            |error: std::io::Error| CliError::new(ErrorKind::Io, format!("the agent stops: {error}"));
        let copy = match (&args.remove, &args.kept) {
            (Some(directory), _) => Some(RunningCopy::temporary(directory)),
            (None, directory) => directory.as_deref().map(RunningCopy::kept).map(Ok),
        };
        let copies = Copies::new(copy.transpose().map_err(failed)?);
        let (from, mut to) = context.terminal.pipes().map_err(failed)?;
        if let Some(line) = &args.listening {
            writeln!(to, "{line}").and_then(|()| to.flush()).map_err(failed)?;
        }
        serve(from, to, &|question| knows(&copies, question)).map_err(failed)?;
        Ok(ExitCode::Done.into())
    }
}

/// Answers a request that is not a file call; its first byte names its kind.
fn knows(copies: &Copies, question: &[u8]) -> Option<Vec<u8>> {
    match question.split_first()? {
        (&COUNT, rest) => count_answer(rest),
        (&UNCHANGED, rest) => answer(rest),
        _ => copies.answer(question),
    }
}
