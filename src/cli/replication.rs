//! Copies of the store in the object store: a process that is left behind after each snapshot, and a while of patience when a session
//! ends.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::args::CalledAs;
use super::context::Context;
use super::error::CliError;
use super::view::replicate::waits;
use crate::clock::{Clock as _, SystemClock};
use crate::diagnostic::Diagnostic as _;
use crate::environment::Environment;
use crate::process;
use crate::recovery::{Recovery, ReplicationCare};
use crate::replica::{Copied, ReplicaError, Stop, Waiting};
use crate::store::Store;
use crate::terminal::{sanitize, size};

/// So long the end of a session waits for its snapshots to be copied.
const PATIENCE: Duration = Duration::from_secs(20);

/// Leaves a process behind that copies what waits, when there is a place to copy to. It says nothing.
pub(super) fn leave(environment: &Environment) -> bool {
    Recovery::open(environment)
        .replication()
        .is_none_or(|_| start(environment))
}

fn start(environment: &Environment) -> bool {
    let words = [OsString::from("__replicate")];
    process::leave_behind(environment, CalledAs::JackinRecovery.prefix(), &words).is_ok()
}

/// The same after a snapshot of a command that people see: it is told when the attempts before it failed.
pub(super) fn behind(context: &Context<'_>, store: &Store) {
    let engine = context.engine();
    let Some(replication) = engine.replication() else {
        return;
    };
    let place = replication.digest();
    if let Some(error) = store.replica_outcome(&place).and_then(|outcome| outcome.error) {
        let waits = engine.waiting_for_replica(store, &replication);
        let waits = waits.map(|left| still_waits(left, true)).unwrap_or_default();
        let error = sanitize::text(&error);
        context.terminal.warn(&format!(
            "the last attempt to copy the store failed: {error}; {waits}"
        ));
    }
    if !start(context.environment) {
        context
            .terminal
            .warn("could not start a process to copy the store; the next snapshot copies it");
    }
}

/// Copies for a while when a session ends, and leaves the rest to a background process.
pub(super) fn at_the_end(context: &Context<'_>, store: &Store) {
    let engine = context.engine();
    let Some(replication) = engine.replication() else {
        return;
    };
    let flag = context.interrupts.flag();
    let end = SystemClock
        .now()
        .nanos()
        .saturating_add(i128::try_from(PATIENCE.as_nanos()).unwrap_or(0));
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed) || SystemClock.now().nanos() > end);
    let terminal = context.terminal;
    let shown = &replication.place.value;
    let done = match engine.replicate(store, &replication, &stop, ReplicationCare::Passing) {
        Ok(done) => done,
        Err(error) => {
            let message = sanitize::text(&error.message());
            return terminal.warn(&format!("the store is not copied to {shown}: {message}"));
        }
    };
    print_damaged(context, &done.copied);
    let left = engine.waiting_for_replica(store, &replication);
    let is_retried = done.ended.as_ref().err().is_none_or(ReplicaError::may_pass);
    let left = left.map(|left| still_waits(left, is_retried)).unwrap_or_default();
    match done.ended {
        Ok(()) if done.is_busy => {
            terminal.note(&format!("another process is still copying to {shown}; {left}"))
        }
        Ok(()) => {
            let count = size::counted(done.copied.snapshots.len() as u64, "snapshot", "snapshots");
            terminal.detail(&format!("{count} copied to {shown}"));
        }
        Err(ReplicaError::Interrupted) => {
            start(context.environment);
            terminal.note(&format!("still being copied to {shown}; {left}"));
        }
        Err(error) => {
            let error = CliError::from(error);
            let message = sanitize::text(&error.message);
            terminal.warn(&format!("the store could not be copied: {message}; {left}"));
            for hint in error.hints.iter().take(1) {
                terminal.note(&format!("hint: {hint}"));
            }
            if is_retried {
                context.propose("to retry", "replicate");
            }
        }
    }
}

/// Describes what is still to be copied, as the end of an error.
pub(super) fn still_waits(left: Waiting, is_retried: bool) -> String {
    let next = match is_retried {
        true => "; the next attempt copies them",
        false => "",
    };
    match left.is_nothing() {
        true => "nothing is lost: the local store has everything".to_owned(),
        false => format!(
            "nothing is lost: {} not copied yet{next}",
            match left.snapshots + left.receipts {
                1 => format!("{} is", waits(left.snapshots, left.receipts)),
                _ => format!("{} are", waits(left.snapshots, left.receipts)),
            }
        ),
    }
}

/// Warns about snapshots that are not copied because they are damaged, and about damaged objects in the copy.
pub(super) fn print_damaged(context: &Context<'_>, copied: &Copied) {
    const NAMED: usize = 5;
    for (id, why) in copied.damaged.iter().take(NAMED) {
        let why = sanitize::text(why);
        context.terminal.warn(&format!("{id} is not copied: {why}"));
    }
    if copied.damaged.len() > NAMED {
        let more = copied.damaged.len() - NAMED;
        context
            .terminal
            .warn(&format!("{more} more are not copied either"));
    }
    for why in copied.cut.iter().take(NAMED) {
        context.terminal.warn(&sanitize::text(why));
    }
    if copied.cut.len() > NAMED {
        let more = copied.cut.len() - NAMED;
        context
            .terminal
            .warn(&format!("{more} more objects have another size there"));
    }
}
