//! `import --from`: every session of a store, from its copy in an object store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::ImportArgs;
use crate::cli::args::Unlock;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::config::BucketPlace;
use crate::features::Feature;
use crate::model::{InstanceId, SnapshotRecord, StoreId};
use crate::recovery::{Adopted, Anchor, FoundReplica, ReplicaRequest, Stop};
use crate::report::{AdoptDocument, AdoptOutcome, Head, HurtDocument, LostDocument};
use crate::terminal::{sanitize, size};

pub(super) fn run(context: &Context<'_>, args: &ImportArgs, from: &str) -> Result<Status, CliError> {
    CliError::require(Feature::S3)?;
    let usage = |message: String| CliError::new(ErrorKind::Usage, message);
    let place =
        BucketPlace::parse(from).map_err(|why| usage(format!("--from {}: {why}", sanitize::text(from))))?;
    let wanted = match &args.store {
        None => None,
        Some(text) => Some(StoreId::parse(text).map_err(|_| {
            usage(format!("--store {}: not the id of a store", sanitize::text(text)))
                .hint("it begins with st-; without --store the stores there are listed")
        })?),
    };
    let anchor = match &args.anchor {
        None => None,
        Some(text) => Some(Anchor::parse(text).ok_or_else(|| {
            usage(format!("{text:?} is not a fingerprint of a log"))
                .hint("use the output of `log --anchor` on the other machine")
        })?),
    };
    let unlock = Unlock {
        identity: args.identity.clone(),
    };
    let keys = identities(context, &unlock)?.ok_or_else(|| usage("--identity is missing".to_owned()))?;
    let flag = context.interrupts.flag();
    let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
    let engine = context.engine();
    let bucket = engine.open_bucket(&place, stop)?;
    let found = engine.find_replica(&ReplicaRequest {
        bucket: &bucket,
        store: wanted,
        keys: &keys,
        anchor,
    })?;
    let shown = shown(&found, args.trust);
    match (args.json, args.dry_run) {
        (true, true) => tell(context, args, &found, None),
        (false, _) => context.terminal.out(&shown),
        (true, false) if !args.yes && context.terminal.can_ask() => context.terminal.err(&shown),
        (true, false) => {}
    }
    for trouble in &found.troubles {
        context.terminal.warn(&sanitize::text(trouble));
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    if found.records.is_empty() {
        let message = format!("{}/{} has no snapshot to import", found.place, found.store);
        return Err(CliError::new(ErrorKind::NothingToRestore, message));
    }
    confirm(
        context.terminal,
        &context.interrupts,
        "Import all of it?",
        args.yes,
    )?;
    let adopted = engine.import_replica(&found, args.trust)?;
    for (id, why) in &adopted.failed {
        let why = sanitize::text(why);
        context.terminal.warn(&format!("{id} was not imported: {why}"));
    }
    if args.json {
        tell(context, args, &found, Some(&adopted));
    } else {
        context.terminal.out(&told(&adopted));
        if !adopted.sessions.is_empty() {
            context.propose("to list them", "list");
        }
    }
    Ok(match adopted.failed.is_empty() && found.troubles.is_empty() {
        true => ExitCode::Done,
        false => ExitCode::Partial,
    }
    .into())
}

fn sessions(records: &[SnapshotRecord]) -> Vec<&InstanceId> {
    let mut all: Vec<&InstanceId> = records.iter().map(|record| &record.instance).collect();
    all.sort();
    all.dedup();
    all
}

fn shown(found: &FoundReplica<'_>, trusted: bool) -> String {
    let sessions = size::counted(sessions(&found.records).len() as u64, "session", "sessions");
    let snapshots = size::counted(found.records.len() as u64, "snapshot", "snapshots");
    let receipts = size::counted(found.chain.receipts.len() as u64, "receipt", "receipts");
    let head = found.chain.head.unwrap_or(Anchor::NOTHING);
    let what = match trusted {
        true => {
            "They are imported as this machine's own: owners, set-user-id bits and devices are kept, and `restore` \
            writes to their paths."
        }
        false => {
            "You become the owner; set-user-id bits, capabilities and devices are dropped. Their paths are another \
            machine's: use `fork` or `restore --to`."
        }
    };
    format!(
        "{}/{}: {sessions} with {snapshots}, {} there\n{receipts}, the last is {head}\n{what}",
        found.place,
        found.store,
        size::bytes(found.index.bytes)
    )
}

fn told(adopted: &Adopted) -> String {
    let snapshots = size::counted(adopted.snapshots.len() as u64, "snapshot", "snapshots");
    let sessions = size::counted(adopted.sessions.len() as u64, "session", "sessions");
    let mut text = format!("{snapshots} imported, {sessions} new here");
    if !adopted.sessions.is_empty() {
        text.push_str(" and pinned, so that the retention policy does not delete them at once");
    }
    if adopted.there > 0 {
        text.push_str(&format!("; {} here before", size::count(adopted.there)));
    }
    if adopted.given_up > 0 {
        text.push_str(&format!(
            "; {} pruned here before, and not imported",
            size::count(adopted.given_up)
        ));
    }
    if adopted.dropped > 0 {
        let paths = size::counted(adopted.dropped, "path", "paths");
        text.push_str(&format!("\n{paths} lost a right:"));
        for (id, what) in &adopted.named {
            let path = sanitize::name(what.path.as_bytes());
            text.push_str(&format!(
                "\n  {id} {}/{path}: {}",
                what.label,
                what.what.join(", ")
            ));
        }
    }
    text
}

fn tell(context: &Context<'_>, args: &ImportArgs, found: &FoundReplica<'_>, adopted: Option<&Adopted>) {
    let none = Adopted::default();
    let done = adopted.unwrap_or(&none);
    let outcome = match adopted {
        None => AdoptOutcome::Planned,
        Some(adopted) if !adopted.failed.is_empty() || !found.troubles.is_empty() => AdoptOutcome::Partial,
        Some(_) => AdoptOutcome::Imported,
    };
    context.terminal.json(&AdoptDocument {
        head: Head::default(),
        outcome,
        place: found.place.clone(),
        store: found.store.to_string(),
        anchor: found.chain.head.unwrap_or(Anchor::NOTHING).to_string(),
        receipts: found.chain.receipts.len() as u64,
        trusted: args.trust,
        available: found.records.len() as u64,
        sessions: done.sessions.iter().map(ToString::to_string).collect(),
        snapshots: done.snapshots.iter().map(ToString::to_string).collect(),
        there: done.there,
        given_up: done.given_up,
        dropped: done.dropped,
        owners: done.owners,
        dropped_paths: done
            .named
            .iter()
            .map(|(id, what)| LostDocument::new(id, what))
            .collect(),
        troubles: found.troubles.clone(),
        failed: done
            .failed
            .iter()
            .map(|(id, why)| HurtDocument {
                snapshot: id.to_string(),
                why: why.clone(),
            })
            .collect(),
    });
}
