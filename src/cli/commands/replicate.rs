//! `replicate`: copies what waits to the object store that the configuration names.

mod background;

use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(in crate::cli) use background::{at_the_end, behind, leave, run as run_behind};

use crate::cli::args::ReplicateArgs;
use crate::cli::context::Context;
use crate::cli::document::{Head, HurtDocument, ReplicateDocument, ReplicateOutcome, WaitingDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::config::{Config, Replication};
use crate::features::Feature;
use crate::model::Digest;
use crate::replica::{Copied, Copying, ReplicaError, S3, Stop, Waiting, waiting};
use crate::session::{Allowed, Services, ensure_outside_session};
use crate::store::archive::Recipients;
use crate::store::{Patience, ReplicaOutcome, Store};
use crate::terminal::{sanitize, size};

pub(super) fn run(context: &Context<'_>, args: &ReplicateArgs) -> Result<Status, CliError> {
    CliError::require(Feature::S3)?;
    let replication = Config::load(context.environment)?
        .replication()
        .ok_or_else(nowhere)?;
    let terminal = context.terminal;
    let Some(store) = context.store_for(args.dry_run)? else {
        if args.json {
            let nothing = (None, Waiting::default(), ReplicateOutcome::Nothing);
            terminal.json(&document(&replication, nothing, &Copied::default()));
        } else {
            terminal.note("no sessions were recorded yet");
        }
        return Ok(ExitCode::Done.into());
    };
    ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
    if args.new_store {
        store.forget_replica_identity()?;
    }
    let place = replication.digest();
    if args.dry_run {
        let left = waiting(&store, &place)?;
        let named = store.replica_identity()?.map(|identity| identity.id.to_string());
        if args.json {
            let planned = (named, left, ReplicateOutcome::Planned);
            terminal.json(&document(&replication, planned, &Copied::default()));
        } else {
            terminal.out(&words_of(&replication, left));
            if !left.is_nothing() {
                context.propose("copy it", "replicate");
            }
        }
        return Ok(ExitCode::Done.into());
    }
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    let done = copy(&store, &replication, context.world(), &stop, Care::Thorough)?;
    let left = waiting(&store, &place)?;
    let named = store.replica_identity()?.map(|identity| identity.id.to_string());
    tell_hurt(context, &done.copied);
    if let Err(error) = done.ended {
        return Err(CliError::from(error).hint(still_waits(left)));
    }
    let outcome = match (done.copied.hurt.is_empty(), done.is_busy) {
        (_, true) => ReplicateOutcome::Busy,
        (false, _) => ReplicateOutcome::Partial,
        (true, _) if done.copied == Copied::default() => ReplicateOutcome::Nothing,
        _ => ReplicateOutcome::Copied,
    };
    if args.json {
        terminal.json(&document(&replication, (named, left, outcome), &done.copied));
    } else {
        terminal.out(&told(&replication, &done, named.as_deref().unwrap_or_default()));
    }
    Ok(match outcome {
        ReplicateOutcome::Partial => ExitCode::Partial,
        ReplicateOutcome::Busy => ExitCode::Active,
        _ => ExitCode::Done,
    }
    .into())
}

/// Thoroughness of a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Care {
    /// Trust in the notes about earlier uploads.
    Passing,
    /// Check of the objects in the bucket.
    Thorough,
}

/// An attempt, as it ended.
pub(in crate::cli) struct Done {
    pub(in crate::cli) copied: Copied,
    /// Another process copies, and finds what there is.
    pub(in crate::cli) is_busy: bool,
    pub(in crate::cli) ended: Result<(), ReplicaError>,
}

/// Copies what waits, and writes down how it went.
///
/// # Errors
/// Only what has nothing to do with the object store: recipients that are none, a store that cannot be written.
pub(in crate::cli) fn copy(
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
        CliError::new(
            ErrorKind::Config,
            format!("what is to be copied cannot be encrypted: {error}"),
        )
        .hint(
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

fn nowhere() -> CliError {
    CliError::new(ErrorKind::Config, "nothing says where the store is to be copied to")
        .hint("set replicate = \"s3://bucket/prefix\" in [recovery.store] of config.toml, and recipients in [recovery.state]")
}

/// Describes the snapshots and receipts that are still to be copied.
fn waits(left: Waiting) -> String {
    let snapshots = size::counted(left.snapshots, "snapshot", "snapshots");
    let receipts = size::counted(left.receipts, "receipt", "receipts");
    match (left.snapshots, left.receipts) {
        (0, _) => receipts,
        (_, 0) => snapshots,
        _ => format!("{snapshots} and {receipts}"),
    }
}

fn words_of(replication: &Replication, left: Waiting) -> String {
    let place = &replication.place.value;
    match left.is_nothing() {
        true => format!("nothing waits for {place}"),
        false => format!("{} for {place}", waits(left)),
    }
}

fn still_waits(left: Waiting) -> String {
    match left.is_nothing() {
        true => "nothing is lost: the store here has everything".to_owned(),
        false => format!(
            "nothing is lost: {} not copied yet, and go with the next attempt",
            match left.snapshots + left.receipts {
                1 => format!("{} is", waits(left)),
                _ => format!("{} are", waits(left)),
            }
        ),
    }
}

fn told(replication: &Replication, done: &Done, store: &str) -> String {
    let place = &replication.place.value;
    let copied = &done.copied;
    if done.is_busy {
        return format!("another process is still copying to {place}; it takes what there is along");
    }
    if *copied == Copied::default() {
        return format!("everything is at {place}/{store} already");
    }
    let snapshots = size::counted(copied.snapshots.len() as u64, "snapshot", "snapshots");
    let receipts = size::counted(copied.receipts, "receipt", "receipts");
    let sent = size::bytes(copied.bytes);
    let removed = match copied.removed {
        0 => String::new(),
        count => format!("; {} removed there", size::counted(count, "object", "objects")),
    };
    format!("{snapshots} and {receipts} copied to {place}/{store}, {sent} sent{removed}")
}

/// Warns about snapshots that are not copied because they are damaged.
fn tell_hurt(context: &Context<'_>, copied: &Copied) {
    const NAMED: usize = 5;
    for (id, why) in copied.hurt.iter().take(NAMED) {
        let why = sanitize::text(why);
        context.terminal.warn(&format!("{id} is not copied: {why}"));
    }
    if copied.hurt.len() > NAMED {
        let more = copied.hurt.len() - NAMED;
        context
            .terminal
            .warn(&format!("{more} more are not copied either"));
    }
}

fn document(
    replication: &Replication,
    (store, left, outcome): (Option<String>, Waiting, ReplicateOutcome),
    copied: &Copied,
) -> ReplicateDocument {
    ReplicateDocument {
        head: Head::default(),
        outcome,
        place: replication.place.value.to_string(),
        store,
        snapshots: copied.snapshots.iter().map(ToString::to_string).collect(),
        receipts: copied.receipts,
        objects: copied.objects,
        bytes: copied.bytes,
        removed: copied.removed,
        waiting: WaitingDocument {
            snapshots: left.snapshots,
            receipts: left.receipts,
        },
        hurt: copied
            .hurt
            .iter()
            .map(|(id, why)| HurtDocument {
                snapshot: id.to_string(),
                why: why.clone(),
            })
            .collect(),
    }
}
