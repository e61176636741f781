//! `replicate`: copies what waits to the object store that the configuration names.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::{print_damaged, still_waits};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::features::Feature;
use crate::recovery::{Copied, ReplicationCare, Stop, Waiting};
use crate::report::{ReplicateDocument, ReplicateOutcome};

/// Copy the store to the configured object store
#[derive(Clone, Debug, Args)]
pub struct ReplicateArgs {
    /// Print what is not copied yet and stop, without contacting the object store
    #[arg(long)]
    pub dry_run: bool,
    /// Use a new store id, after a jackin home was copied from another machine
    #[arg(long, conflicts_with = "dry_run")]
    pub new_store: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ReplicateArgs {
    const NAME: &'static str = "replicate";
    const GROUP: Option<Group> = Some(Group::Store);
    const BEFORE: Option<&'static str> = Some("verify");
    const LONG: &'static str = "\
        Copies archives, records and receipts to the bucket that `replicate` in [recovery.store] of config.toml \
        names, encrypted to the recipients of [recovery.state] there. It never overwrites an object. Each snapshot \
        starts this automatically; run it from a timer or after an outage. It also checks the bucket, and uploads \
        missing objects again. Region, endpoint and credentials come from the same places as for AWS tools. Nothing \
        is read back, and nothing is deleted there unless prune_replica is set. To recover on another machine, run \
        `import --from s3://… --identity FILE`.";
    const EXAMPLES: &'static [Example] = &[
        (
            "Preview what is not copied yet:",
            "jackin recovery replicate --dry-run",
        ),
        (
            "Copy that, and objects missing from the bucket:",
            "jackin recovery replicate",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<ReplicateDocument>("replicate")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        CliError::require(Feature::S3)?;
        let replication = context.engine().own_replication()?.ok_or_else(nowhere)?;
        let place = &replication.place.value;
        let terminal = context.terminal;
        let engine = context.engine();
        let Some(store) = engine.store_for_care(args.dry_run)? else {
            if args.json {
                let nothing = ReplicateOutcome::Nothing;
                let none = (Waiting::default(), Copied::default());
                terminal.json(&ReplicateDocument::of(place, nothing, None, none.0, &none.1));
            } else {
                terminal.note("no sessions yet");
            }
            return Ok(ExitCode::Done.into());
        };
        if args.new_store && !engine.rename_replica(&store)? {
            let what = format!("another process is copying to {place}, so the store keeps its id");
            let error = CliError::new(ErrorKind::RefusedActive, what);
            return Err(error.hint("repeat the command when it is done"));
        }
        if args.dry_run {
            let left = engine.waiting_for_replica(&store, &replication)?;
            let named = store.replica_identity()?.map(|identity| identity.id);
            let planned = ReplicateOutcome::Planned;
            let found = ReplicateDocument::of(place, planned, named.as_ref(), left, &Copied::default());
            if args.json {
                terminal.json(&found);
            } else {
                terminal.out(&view::replicate::result(&found));
                if !left.is_nothing() {
                    context.propose("to apply", "replicate");
                }
            }
            return Ok(ExitCode::Done.into());
        }
        let flag = context.interrupts.flag();
        let stop: Stop = Arc::new(move || flag.load(Ordering::Relaxed));
        let done = engine.replicate(&store, &replication, &stop, ReplicationCare::Thorough)?;
        let left = engine.waiting_for_replica(&store, &replication)?;
        let named = store.replica_identity()?.map(|identity| identity.id);
        print_damaged(context, &done.copied);
        if let Err(error) = done.ended {
            let is_retried = error.may_pass();
            return Err(CliError::from(error).hint(still_waits(left, is_retried)));
        }
        let is_whole = done.copied.damaged.is_empty() && done.copied.cut.is_empty();
        let outcome = match (is_whole, done.is_busy) {
            (_, true) => ReplicateOutcome::Busy,
            (false, _) => ReplicateOutcome::Partial,
            (true, _) if done.copied == Copied::default() => ReplicateOutcome::Nothing,
            _ => ReplicateOutcome::Copied,
        };
        let found = ReplicateDocument::of(place, outcome, named.as_ref(), left, &done.copied);
        match args.json {
            true => terminal.json(&found),
            false => terminal.out(&view::replicate::result(&found)),
        }
        if engine.has_earlier_recipients(&store, &replication)? {
            terminal.warn(view::replicate::EARLIER_RECIPIENTS);
            context.propose(
                "to copy everything for the present recipients",
                "replicate --new-store",
            );
        }
        Ok(match outcome {
            ReplicateOutcome::Partial => ExitCode::Partial,
            ReplicateOutcome::Busy => ExitCode::Active,
            _ => ExitCode::Done,
        }
        .into())
    }
}

fn nowhere() -> CliError {
    CliError::new(ErrorKind::Config, "replicate is not set")
        .hint("set replicate = \"s3://bucket/prefix\" in [recovery.store] of config.toml, and recipients in [recovery.state]")
}
