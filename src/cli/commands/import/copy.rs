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
use crate::cli::view;
use crate::config::BucketPlace;
use crate::features::Feature;
use crate::model::StoreId;
use crate::recovery::{Anchor, ReplicaRequest, Stop};
use crate::report::{AdoptDocument, AdoptOutcome};
use crate::terminal::sanitize;

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
    let planned = AdoptDocument::of(&found, None, args.trust);
    let shown = view::import::replica(&planned);
    match (args.json, args.dry_run) {
        (true, true) => context.terminal.json(&planned),
        (false, _) => context.terminal.out(&shown),
        (true, false) if !args.yes && context.terminal.can_ask() => context.terminal.err(&shown),
        (true, false) => {}
    }
    for trouble in &planned.troubles {
        context.terminal.warn(&sanitize::text(trouble));
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    if planned.available == 0 {
        let message = format!("{}/{} has no snapshot to import", planned.place, planned.store);
        return Err(CliError::new(ErrorKind::NothingToRestore, message));
    }
    confirm(
        context.terminal,
        &context.interrupts,
        "Import all of it?",
        args.yes,
    )?;
    let adopted = engine.import_replica(&found, args.trust)?;
    let done = AdoptDocument::of(&found, Some(&adopted), args.trust);
    for failed in &done.failed {
        let (id, why) = (&failed.snapshot, sanitize::text(&failed.why));
        context.terminal.warn(&format!("{id} was not imported: {why}"));
    }
    if args.json {
        context.terminal.json(&done);
    } else {
        context.terminal.out(&view::import::adopted(&done));
        if !done.sessions.is_empty() {
            context.propose("to list them", "list");
        }
    }
    Ok(match done.outcome {
        AdoptOutcome::Partial => ExitCode::Partial,
        AdoptOutcome::Planned | AdoptOutcome::Imported => ExitCode::Done,
    }
    .into())
}
