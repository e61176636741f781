//! Copying beside what was asked for: a process that is left behind after each snapshot, and a while of patience when a session ends.
//! Nothing here fails, and nothing waits longer than that.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Care, copy, still_waits};
use crate::cli::args::{CalledAs, ReplicatingArgs};
use crate::cli::context::{Context, SystemClock};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::clock::Clock as _;
use crate::config::{Config, Replication};
use crate::environment::Environment;
use crate::process;
use crate::replica::{ReplicaError, Stop, waiting};
use crate::store::Store;
use crate::terminal::{sanitize, size};

/// So long the end of a session waits for its snapshots to be copied.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the configured replication, if any. Root that acts for a user copies nothing, for it would sign in with other
/// credentials. Commands that need the configuration report what is wrong with it.
fn replication(environment: &Environment) -> Option<Replication> {
    if environment.operator.is_some() {
        return None;
    }
    Config::load(environment).ok()?.replication()
}

/// Leaves a process behind that copies what waits, when there is a place to copy to. It says nothing.
pub(in crate::cli) fn leave(environment: &Environment) -> bool {
    replication(environment).is_none_or(|_| start())
}

fn start() -> bool {
    let words = [OsString::from("__replicate")];
    process::leave_behind(CalledAs::JackinRecovery.prefix(), &words).is_ok()
}

/// The same after a snapshot of a command that people see: it is told when the attempts before it failed.
pub(in crate::cli) fn behind(context: &Context<'_>, store: &Store) {
    let Some(replication) = replication(context.environment) else {
        return;
    };
    let place = replication.digest();
    if let Some(error) = store.replica_outcome(&place).and_then(|outcome| outcome.error) {
        let waits = waiting(store, &place).map(still_waits).unwrap_or_default();
        let error = sanitize::text(&error);
        context.terminal.warn(&format!(
            "the last attempt to copy the store failed: {error}; {waits}"
        ));
    }
    if !start() {
        context
            .terminal
            .warn("no process that copies the store could be started; it is copied with the next snapshot");
    }
}

/// Copies for a while when a session ends, and leaves the rest to a background process.
pub(in crate::cli) fn at_the_end(context: &Context<'_>, store: &Store) {
    let Some(replication) = replication(context.environment) else {
        return;
    };
    let place = replication.digest();
    let flag = context.interrupts.flag();
    let end = SystemClock
        .now()
        .nanos()
        .saturating_add(i128::try_from(PATIENCE.as_nanos()).unwrap_or(0));
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed) || SystemClock.now().nanos() > end);
    let terminal = context.terminal;
    let shown = &replication.place.value;
    let done = match copy(store, &replication, context.world(), &stop, Care::Passing) {
        Ok(done) => done,
        Err(error) => {
            let message = sanitize::text(&error.message);
            return terminal.warn(&format!("the store is not copied to {shown}: {message}"));
        }
    };
    super::tell_hurt(context, &done.copied);
    let left = waiting(store, &place).map(still_waits).unwrap_or_default();
    match done.ended {
        Ok(()) if done.is_busy => {
            terminal.note(&format!("another process is still copying to {shown}; {left}"))
        }
        Ok(()) => {
            let count = size::counted(done.copied.snapshots.len() as u64, "snapshot", "snapshots");
            terminal.detail(&format!("{count} copied to {shown}"));
        }
        Err(ReplicaError::Interrupted) => {
            start();
            terminal.note(&format!("still being copied to {shown}; {left}"));
        }
        Err(error) => {
            let error = CliError::from(error);
            let message = sanitize::text(&error.message);
            terminal.warn(&format!("the store could not be copied: {message}; {left}"));
            for hint in error.hints.iter().take(1) {
                terminal.note(&format!("hint: {hint}"));
            }
            context.propose("try again", "replicate");
        }
    }
}

/// Runs the background process. Its output has no reader, so the store records the outcome.
pub(in crate::cli) fn run(context: &Context<'_>, _: &ReplicatingArgs) -> Result<Status, CliError> {
    process::leave_terminal();
    let Some(replication) = replication(context.environment) else {
        return Ok(ExitCode::Done.into());
    };
    if !context.has_store()? {
        return Ok(ExitCode::Done.into());
    }
    let store = context.store_for_writing()?;
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    copy(&store, &replication, context.world(), &stop, Care::Passing)?;
    Ok(ExitCode::Done.into())
}
