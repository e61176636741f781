//! Copies of the store in the object store: an attempt, a process that is left behind after each snapshot, and a while of patience when a
//! session ends.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::args::CalledAs;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, Replication};
use crate::environment::Environment;
use crate::model::Digest;
use crate::process;
use crate::replica::{Copied, Copying, ReplicaError, S3, Stop, Waiting, waiting};
use crate::session::Services;
use crate::store::encryption::Recipients;
use crate::store::{Patience, ReplicaOutcome, Store};
use crate::terminal::{sanitize, size};

/// Thoroughness of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Trust in the notes about earlier uploads.
    Passing,
    /// Check of the objects in the bucket.
    Thorough,
}

/// An attempt, as it ended.
pub(super) struct Done {
    pub(super) copied: Copied,
    /// Another process copies, and finds what there is.
    pub(super) is_busy: bool,
    pub(super) ended: Result<(), ReplicaError>,
}

/// Copies what waits, and writes down how it went.
///
/// # Errors
/// Only what has nothing to do with the object store: recipients that are none, a store that cannot be written.
pub(super) fn copy(
    store: &Store,
    replication: &Replication,
    world: Services<'_>,
    stop: &Stop,
    care: Care,
) -> Result<Done, CliError> {
    let names: Vec<String> = replication
        .recipients
        .iter()
        .map(|recipient| recipient.value.clone())
        .collect();
    let recipients = Recipients::parse(&names).map_err(|error| {
        CliError::new(ErrorKind::Config, format!("cannot encrypt the copy: {error}")).hint(
            "set recipients in [recovery.state] of config.toml to your public keys (age1… or ssh-ed25519 …)",
        )
    })?;
    let patience = match care {
        Care::Passing => Patience::Short,
        Care::Thorough => Patience::Long,
    };
    let Some(_copying) = store.lock_replica(patience)? else {
        return Ok(Done {
            copied: Copied::default(),
            is_busy: true,
            ended: Ok(()),
        });
    };
    let place = replication.digest();
    let identity = store.make_replica_identity(world.entropy)?;
    let mut copied = Copied::default();
    let work = || -> Result<(), ReplicaError> {
        let bucket =
            S3::open(&replication.place.value, Arc::clone(stop)).map_err(|source| ReplicaError::Bucket {
                place: replication.place.value.to_string(),
                source,
            })?;
        let keys = (&recipients, names.as_slice());
        let mut copying = Copying::new(store, &bucket, identity, keys, place, world.observer)?;
        let mut all = || {
            if care == Care::Thorough {
                copying.look()?;
            }
            copying.run()?;
            match replication.prune {
                true => copying.remove_given_up(),
                false => Ok(()),
            }
        };
        let ended = all();
        copied = copying.copied;
        ended
    };
    let ended = work();
    note_outcome(store, &place, world, &ended)?;
    Ok(Done {
        copied,
        is_busy: false,
        ended,
    })
}

fn note_outcome(
    store: &Store,
    place: &Digest,
    world: Services<'_>,
    ended: &Result<(), ReplicaError>,
) -> Result<(), CliError> {
    // Who stopped it knows.
    if matches!(ended, Err(ReplicaError::Interrupted)) {
        return Ok(());
    }
    let at = world.clock.now();
    let error = ended.as_ref().err().map(ToString::to_string);
    let before = store
        .replica_outcome(place)
        .and_then(|before| before.failing_since);
    let outcome = ReplicaOutcome {
        at,
        failing_since: error.is_some().then(|| before.unwrap_or(at)),
        error,
    };
    Ok(store.set_replica_outcome(place, &outcome)?)
}

/// So long the end of a session waits for its snapshots to be copied.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the configured replication, if any. Root that acts for a user copies nothing, for it would sign in with other
/// credentials. Commands that need the configuration report what is wrong with it.
pub(super) fn configured(environment: &Environment) -> Option<Replication> {
    if environment.operator.is_some() {
        return None;
    }
    Config::load(environment).ok()?.replication()
}

/// Leaves a process behind that copies what waits, when there is a place to copy to. It says nothing.
pub(super) fn leave(environment: &Environment) -> bool {
    configured(environment).is_none_or(|_| start())
}

fn start() -> bool {
    let words = [OsString::from("__replicate")];
    process::leave_behind(CalledAs::JackinRecovery.prefix(), &words).is_ok()
}

/// The same after a snapshot of a command that people see: it is told when the attempts before it failed.
pub(super) fn behind(context: &Context<'_>, store: &Store) {
    let Some(replication) = configured(context.environment) else {
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
            .warn("could not start a process to copy the store; the next snapshot copies it");
    }
}

/// Copies for a while when a session ends, and leaves the rest to a background process.
pub(super) fn at_the_end(context: &Context<'_>, store: &Store) {
    let Some(replication) = configured(context.environment) else {
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
    print_damaged(context, &done.copied);
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
            context.propose("to retry", "replicate");
        }
    }
}

/// Describes the snapshots and receipts that are still to be copied.
pub(super) fn waits(left: Waiting) -> String {
    let snapshots = size::counted(left.snapshots, "snapshot", "snapshots");
    let receipts = size::counted(left.receipts, "receipt", "receipts");
    match (left.snapshots, left.receipts) {
        (0, _) => receipts,
        (_, 0) => snapshots,
        _ => format!("{snapshots} and {receipts}"),
    }
}

/// Describes what is still to be copied, as the end of an error.
pub(super) fn still_waits(left: Waiting) -> String {
    match left.is_nothing() {
        true => "nothing is lost: the local store has everything".to_owned(),
        false => format!(
            "nothing is lost: {} not copied yet; the next attempt copies them",
            match left.snapshots + left.receipts {
                1 => format!("{} is", waits(left)),
                _ => format!("{} are", waits(left)),
            }
        ),
    }
}

/// Warns about snapshots that are not copied because they are damaged.
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
}
