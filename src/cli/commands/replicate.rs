//! `replicate`: copies what waits to the object store that the configuration names.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::{print_damaged, still_waits, waits};
use crate::cli::schema::Document;
use crate::config::{Config, Replication};
use crate::features::Feature;
use crate::recovery::{Copied, Replicated, ReplicationCare, Stop, Waiting};
use crate::report::{Head, HurtDocument, ReplicateDocument, ReplicateOutcome, WaitingDocument};
use crate::terminal::size;

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
        let replication = Config::load(context.environment)?
            .replication()
            .ok_or_else(nowhere)?;
        let terminal = context.terminal;
        let engine = context.engine();
        let Some(store) = engine.store_for_care(args.dry_run)? else {
            if args.json {
                let nothing = (None, Waiting::default(), ReplicateOutcome::Nothing);
                terminal.json(&document(&replication, nothing, &Copied::default()));
            } else {
                terminal.note("no sessions yet");
            }
            return Ok(ExitCode::Done.into());
        };
        if args.new_store {
            store.forget_replica_identity()?;
        }
        if args.dry_run {
            let left = engine.waiting_for_replica(&store, &replication)?;
            let named = store.replica_identity()?.map(|identity| identity.id.to_string());
            if args.json {
                let planned = (named, left, ReplicateOutcome::Planned);
                terminal.json(&document(&replication, planned, &Copied::default()));
            } else {
                terminal.out(&words_of(&replication, left));
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
        let named = store.replica_identity()?.map(|identity| identity.id.to_string());
        print_damaged(context, &done.copied);
        if let Err(error) = done.ended {
            return Err(CliError::from(error).hint(still_waits(left)));
        }
        let outcome = match (done.copied.damaged.is_empty(), done.is_busy) {
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
}

fn nowhere() -> CliError {
    CliError::new(ErrorKind::Config, "replicate is not set")
        .hint("set replicate = \"s3://bucket/prefix\" in [recovery.store] of config.toml, and recipients in [recovery.state]")
}

fn words_of(replication: &Replication, left: Waiting) -> String {
    let place = &replication.place.value;
    match left.is_nothing() {
        true => format!("nothing to copy to {place}"),
        false => format!("{} to copy to {place}", waits(left)),
    }
}

fn told(replication: &Replication, done: &Replicated, store: &str) -> String {
    let place = &replication.place.value;
    let copied = &done.copied;
    if done.is_busy {
        return format!("another process is copying to {place}, including everything stored so far");
    }
    if *copied == Copied::default() {
        return format!("{place}/{store} is up to date");
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
            .damaged
            .iter()
            .map(|(id, why)| HurtDocument {
                snapshot: id.to_string(),
                why: why.clone(),
            })
            .collect(),
    }
}
