//! `__checkpoints`: the process that `begin --checkpoint-every` leaves behind. It takes checkpoints until the session has ended.

use std::thread;
use std::time::Duration;

use clap::Args;

use crate::cli::args::{Group, some_text};
use crate::cli::checkpoint_timer::{Quiet, Taken};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::model::{Operation, SnapshotKind};
use crate::process;
use crate::session::{find_instance, is_active};

/// Take checkpoints of a session until it ends: what `begin --checkpoint-every` leaves behind
#[derive(Clone, Debug, Args)]
pub struct CheckpointsArgs {
    /// The session's id
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Between two checkpoints
    #[arg(value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
}

impl Command for CheckpointsArgs {
    const NAME: &'static str = "__checkpoints";
    const GROUP: Option<Group> = None;

    /// Returns false: the command runs beside another one.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    /// Runs the background process: takes checkpoints until the session has ended. Its output has no reader, so each
    /// failure gets a receipt, one per reason. It continues while the store cannot be read, for up to `PATIENCE`.
    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        process::leave_terminal();
        let (interval, quiet) = (Duration::from_secs(args.seconds), Quiet::default());
        let mut taken = Taken::default();
        let (mut passed, mut blind) = (Duration::ZERO, Duration::ZERO);
        while !context.world().observer.cancelled() && blind < PATIENCE {
            let nap = LOOK.min(interval.saturating_sub(passed));
            thread::sleep(nap);
            passed += nap;
            let is_time = passed >= interval;
            if is_time {
                passed = Duration::ZERO;
            }
            match tick(context, &args.instance, is_time, &mut taken, &quiet) {
                Ok(true) => blind = Duration::ZERO,
                Ok(false) => break,
                Err(_) => blind += nap,
            }
        }
        Ok(ExitCode::Done.into())
    }
}

/// Interval at which the background process checks whether the session has ended.
const LOOK: Duration = Duration::from_secs(2);

/// Time for which it continues while the store cannot be read.
const PATIENCE: Duration = Duration::from_secs(600);

/// One look, and a checkpoint when it is time. Whether the session goes on.
fn tick(
    context: &Context<'_>,
    instance: &str,
    is_time: bool,
    taken: &mut Taken,
    quiet: &Quiet,
) -> Result<bool, CliError> {
    // Without a store there is no session.
    let Some(store) = context.store_for_reading()? else {
        return Ok(false);
    };
    let row = find_instance(&store, instance)?;
    if row.ended_at.is_some() || is_time && !is_active(&store, &row) {
        return Ok(false);
    }
    if !is_time {
        return Ok(true);
    }
    let store = context.store_for_writing()?;
    let told = taken.failures.len();
    taken.once(&store, context.environment, &row.id, quiet);
    for error in taken.failures.iter().skip(told) {
        let failed = Operation::CaptureFailed {
            kind: SnapshotKind::Checkpoint,
            error: error.clone(),
        };
        let world = context.world();
        store.append(world.clock.now(), world.uid, &row.id, failed)?;
    }
    Ok(true)
}
