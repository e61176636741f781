//! `__ending`: the process that ends a session when another process has ended.

use std::thread;
use std::time::Duration;

use clap::Args;

use crate::cli::args::{Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::leave;
use crate::cli::session_end::end_held;
use crate::model::ProcessRef;
use crate::process;
use crate::recovery::RecoveryError;
use crate::session::{SessionError, find_instance};

/// End a session when a process has ended: what a hook leaves behind
#[derive(Clone, Debug, Args)]
pub struct EndingArgs {
    /// The session's id
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
    /// Number of the process
    #[arg(value_name = "PID")]
    pub pid: u32,
    /// Start time of the process, in the kernel's own unit
    #[arg(value_name = "START")]
    pub start: u64,
}

/// Interval at which it is checked whether the process has ended.
const NAP: Duration = Duration::from_millis(250);

/// Number of these intervals after which it is checked whether the session has ended by itself.
const OFTEN: u32 = 20;

/// Interval at which a failed end is tried again.
const LOOK: Duration = Duration::from_secs(5);
/// Time after which a failed end is not tried again.
const PATIENCE: Duration = Duration::from_secs(600);

impl Command for EndingArgs {
    const NAME: &'static str = "__ending";
    const GROUP: Option<Group> = None;

    /// Returns false: the command runs beside another one.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        process::leave_terminal();
        let client = ProcessRef {
            pid: self.pid,
            start: self.start,
            boot: process::current_boot(),
        };
        let mut naps = 0;
        while process::is_alive(&client) {
            naps = (naps + 1) % OFTEN;
            // A store that cannot be read at this moment can be read later.
            let has_ended = naps == 0 && matches!(goes_on(&context, &self.instance), Ok(false));
            if context.world().observer.cancelled() || has_ended {
                return Ok(ExitCode::Done.into());
            }
            thread::sleep(NAP);
        }
        // No other process ends it: what fails for a moment is tried again.
        let mut left = PATIENCE;
        while let Err(error) = end(&context, &self.instance) {
            if left.is_zero() || context.world().observer.cancelled() {
                return Err(error);
            }
            thread::sleep(LOOK);
            left = left.saturating_sub(LOOK);
        }
        Ok(ExitCode::Done.into())
    }
}

/// Ends the session. One that has ended by its own event stays as it is.
fn end(context: &Context<'_>, instance: &str) -> Result<(), CliError> {
    if goes_on(context, instance)? {
        let engine = context.engine();
        let ended = match engine.end_with(instance, |store, request| end_held(context, store, request)) {
            Err(RecoveryError::Session(SessionError::AlreadyEnded(_))) => return Ok(()),
            other => other?,
        };
        drop(engine.apply_retention(&ended.store, &ended.row.id));
        leave(context.environment);
    }
    Ok(())
}

fn goes_on(context: &Context<'_>, instance: &str) -> Result<bool, CliError> {
    let Some(store) = context.store_for_reading()? else {
        return Ok(false);
    };
    Ok(find_instance(&store, instance)?.ended_at.is_none())
}
