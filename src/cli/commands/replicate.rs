//! `replicate`: copies what waits to the object store that the configuration names.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::cli::args::{ReplicateArgs, ReplicatingArgs};
use crate::cli::context::Context;
use crate::cli::document::{Head, HurtDocument, ReplicateDocument, ReplicateOutcome, WaitingDocument};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::{Care, Done, configured, copy, still_waits, tell_hurt, waits};
use crate::config::{Config, Replication};
use crate::features::Feature;
use crate::process;
use crate::replica::{Copied, Stop, Waiting, waiting};
use crate::session::{Allowed, ensure_outside_session};
use crate::terminal::size;

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

fn nowhere() -> CliError {
    CliError::new(ErrorKind::Config, "nothing says where the store is to be copied to")
        .hint("set replicate = \"s3://bucket/prefix\" in [recovery.store] of config.toml, and recipients in [recovery.state]")
}

fn words_of(replication: &Replication, left: Waiting) -> String {
    let place = &replication.place.value;
    match left.is_nothing() {
        true => format!("nothing waits for {place}"),
        false => format!("{} for {place}", waits(left)),
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

/// Runs the background process. Its output has no reader, so the store records the outcome.
pub(super) fn run_behind(context: &Context<'_>, _: &ReplicatingArgs) -> Result<Status, CliError> {
    process::leave_terminal();
    let Some(replication) = configured(context.environment) else {
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
