//! `__watcher`: the process beside a session that knows whether anything in its mounts has changed.

use clap::Args;

use crate::cli::args::{Group, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::model::ProcessRef;
use crate::process;
use crate::session::{find_instance, watch_changes};

/// Watch the mounts of a session until it ends: what a hook and `launch` leave behind
#[derive(Clone, Debug, Args)]
pub struct WatcherArgs {
    /// The session's id
    #[arg(value_name = "INSTANCE", value_parser = some_text())]
    pub instance: String,
}

/// Number of looks at the process that keeps the session for one at its record.
const OFTEN: u32 = 10;

impl Command for WatcherArgs {
    const NAME: &'static str = "__watcher";
    const GROUP: Option<Group> = None;

    /// Returns false: the command runs beside another one.
    fn takes_up_frozen(&self) -> bool {
        false
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        process::leave_terminal();
        process::yield_to_all();
        let Some(store) = context.store_for_reading()? else {
            return Ok(ExitCode::Done.into());
        };
        let row = find_instance(&store, &self.instance)?;
        let layout = store.layout().clone();
        // A session may take days.
        drop(store);
        let mut looks = 0;
        let mut keeper = row.keeper.clone();
        let mut is_over = || {
            looks = (looks + 1) % OFTEN;
            let now = match looks {
                0 => look_again(&context, &self.instance),
                _ => None,
            };
            // An event of the agent may have shown that another process keeps it.
            if let Some(SessionState::KeptBy(other)) = &now {
                keeper.clone_from(other);
            }
            let is_kept = keeper.as_ref().is_none_or(process::is_alive);
            context.world().observer.cancelled() || !is_kept || matches!(now, Some(SessionState::Ended))
        };
        let entropy = context.world().entropy;
        let watched = watch_changes(&layout, &row, entropy, &mut is_over);
        Ok(match watched {
            Ok(()) => ExitCode::Done.into(),
            // Checkpoints walk then.
            Err(_) => ExitCode::Failed.into(),
        })
    }
}

/// A session as it is recorded now.
enum SessionState {
    Ended,
    KeptBy(Option<ProcessRef>),
}

/// Reads a session again; `None` if the store cannot be read at this moment.
fn look_again(context: &Context<'_>, instance: &str) -> Option<SessionState> {
    let Some(store) = context.store_for_reading().ok()? else {
        return Some(SessionState::Ended);
    };
    let row = find_instance(&store, instance).ok()?;
    Some(match row.ended_at {
        Some(_) => SessionState::Ended,
        None => SessionState::KeptBy(row.keeper),
    })
}
