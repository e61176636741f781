//! `__replicate`: the process that copies the store in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;

use crate::cli::args::Group;
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::process;
use crate::recovery::{ReplicationCare, Stop};

/// Copy the store: what a snapshot leaves behind
#[derive(Clone, Debug, Args)]
pub struct ReplicatingArgs {}

impl Command for ReplicatingArgs {
    const NAME: &'static str = "__replicate";
    const GROUP: Option<Group> = None;

    /// Returns false: the command runs beside another one.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        run(&context, self)
    }
}

/// Runs the background process. Its output has no reader, so the store records the outcome.
pub(super) fn run(context: &Context<'_>, _: &ReplicatingArgs) -> Result<Status, CliError> {
    process::leave_terminal();
    let engine = context.engine();
    let Some(replication) = engine.replication() else {
        return Ok(ExitCode::Done.into());
    };
    if !context.has_store()? {
        return Ok(ExitCode::Done.into());
    }
    let store = context.store_for_writing()?;
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    engine.replicate(&store, &replication, &stop, ReplicationCare::Passing)?;
    Ok(ExitCode::Done.into())
}
