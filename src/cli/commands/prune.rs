//! `prune`: plan, show, ask, delete.

use clap::Args;

use crate::cli::args::{Example, Group, some_text};
use crate::cli::command::Command;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::retain::{tell_faults, tell_natives};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::model::FsSnapshotIntent;
use crate::recovery::{Chosen, PlannedPrune, PrunePlan, Store};
use crate::report::{PruneDocument, PruneOutcome, PrunedDocument};
use crate::terminal::{sanitize, size};

/// Delete snapshots that exceed the retention policy
#[derive(Clone, Debug, Args)]
pub struct PruneArgs {
    /// Print what would be deleted and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Forget the file-system snapshot of this snapshot, an id or its prefix, if its cluster or disk is lost
    /// for good
    #[arg(long, value_name = "SNAP", value_parser = some_text())]
    pub forget: Option<String>,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for PruneArgs {
    const NAME: &'static str = "prune";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Snapshots that exceed [recovery.retention] are deleted automatically when a session ends. This command lists \
        all of them, with the bytes for each reason, and asks. It never deletes pinned snapshots, the baseline and \
        the closing snapshot of an active session and of the newest one of each workspace, or those that an \
        interrupted restore or the undo of the last one needs. It repacks archives that are mostly unused, and many \
        small ones. Receipts stay.";
    const EXAMPLES: &'static [Example] = &[(
        "Preview what would be deleted:",
        "jackin recovery prune --dry-run",
    )];
    const DOCUMENTS: &'static [Document] = &[Document::of::<PruneDocument>("prune")];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        !self.dry_run
    }

    /// Returns false with `--forget`: the command does not wait for what it is to forget.
    fn takes_up_frozen(&self) -> bool {
        self.forget.is_none()
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let terminal = context.terminal;
        let engine = context.engine();
        let Some(store) = engine.store_for_care(args.dry_run)? else {
            if args.json {
                terminal.json(&nothing());
            } else {
                terminal.note("no sessions yet");
            }
            return Ok(ExitCode::Done.into());
        };
        if let Some(prefix) = &args.forget {
            return forget(context, args, &store, prefix);
        }
        let PlannedPrune {
            plan: planned,
            stuck,
            faults,
        } = engine.plan_prune(&store)?;
        tell_faults(context, &faults);
        let mut document = PruneDocument::of(&planned, &stuck);
        let now = context.now();
        let shown = view::prune::plan(&document, now, terminal.width_out());
        if !args.json {
            terminal.out(&shown);
        } else if !args.yes && !args.dry_run && terminal.can_ask() {
            terminal.err(&view::prune::plan(&document, now, terminal.width_err()));
        }
        let is_empty = planned.is_empty() && stuck.is_empty();
        if is_empty || args.dry_run {
            if args.json {
                terminal.json(&document);
            } else if !is_empty {
                context.propose("to apply", "prune");
            }
            return Ok(ExitCode::Done.into());
        }
        if !planned.chosen.is_empty() || !stuck.is_empty() {
            confirm(
                terminal,
                &context.interrupts,
                "Delete these snapshots permanently?",
                args.yes,
            )?;
        }
        let is_lacking = planned.lacking > 0 || planned.shortage.is_some();
        carry(context, &store, planned, &mut document)?;
        let frozen = engine.prune_frozen(&store, &stuck)?;
        document.frozen = frozen.iter().map(ToString::to_string).collect();
        document.outcome = if is_lacking {
            PruneOutcome::Lacking
        } else {
            PruneOutcome::Pruned
        };
        if args.json {
            terminal.json(&document);
        } else {
            let count = size::counted(document.snapshots.len() as u64, "snapshot", "snapshots");
            let free = size::bytes(document.freed.saturating_add(document.repacked_bytes));
            terminal.out(&format!("Done: {count} deleted, {free} freed."));
        }
        Ok(ExitCode::Done.into())
    }
}

/// Forgets what was frozen for a snapshot and cannot be reached any more.
fn forget(context: &Context<'_>, args: &PruneArgs, store: &Store, prefix: &str) -> Result<Status, CliError> {
    let terminal = context.terminal;
    let engine = context.engine();
    let papers = engine.forgettable(store, prefix)?;
    let [paper] = papers.as_slice() else {
        let shown = sanitize::text(prefix);
        let why = match papers.as_slice() {
            [] => format!(
                "{shown:?} has no file-system snapshot to forget: stored snapshots, and those in use, need theirs"
            ),
            _ => format!("{shown:?} matches several snapshots: {}", ids(&papers)),
        };
        return Err(CliError::new(ErrorKind::UnknownSnapshot, why).hint(format!(
            "`{}` lists unreachable file-system snapshots",
            context.command("doctor")
        )));
    };
    let places: Vec<String> = paper
        .natives
        .iter()
        .map(|native| sanitize::path(&native.directory()))
        .collect();
    let mut document = nothing();
    document.outcome = PruneOutcome::Planned;
    document.forgotten.clone_from(&places);
    let whose = &paper.instance;
    let mut shown = format!("To be forgotten but not removed, of {} of {whose}:", paper.id);
    places
        .iter()
        .for_each(|place| shown.push_str(&format!("\n  {place}")));
    match args.json {
        false => terminal.out(&shown),
        true if !args.yes && !args.dry_run && terminal.can_ask() => terminal.err(&shown),
        true => {}
    }
    if !args.dry_run {
        let question = "Forget these? They will not be stored or removed.";
        confirm(terminal, &context.interrupts, question, args.yes)?;
        if !engine.forget_frozen(store, &paper.id)? {
            let why = format!("{} changed: a process uses it or stored it", paper.id);
            return Err(CliError::new(ErrorKind::UnknownSnapshot, why)
                .hint(format!("check again with `{}`", context.command("doctor"))));
        }
        document.outcome = PruneOutcome::Pruned;
    }
    match args.json {
        true => terminal.json(&document),
        false if !args.dry_run => terminal.out("Done: forgotten."),
        false => {}
    }
    Ok(ExitCode::Done.into())
}

fn ids(papers: &[FsSnapshotIntent]) -> String {
    let ids: Vec<&str> = papers.iter().map(|paper| paper.id.as_str()).collect();
    ids.join(", ")
}

fn carry(
    context: &Context<'_>,
    store: &Store,
    planned: PrunePlan,
    document: &mut PruneDocument,
) -> Result<(), CliError> {
    let asked: Vec<_> = planned.chosen.clone();
    let pruned = context.engine().prune(store, planned)?;
    let gone = |chosen: &&Chosen| pruned.snapshots.contains(&chosen.snapshot);
    document.snapshots = asked.iter().filter(gone).map(PrunedDocument::from).collect();
    document.freed = pruned.freed();
    document.repacked_bytes = pruned.repacked;
    document.receipt = pruned.receipt;
    tell_natives(context, &pruned);
    let stayed = asked.len() - document.snapshots.len();
    if stayed > 0 {
        let stayed = size::counted(stayed as u64, "snapshot", "snapshots");
        context
            .terminal
            .note(&format!("{stayed} stay: they are needed now"));
    }
    Ok(())
}

fn nothing() -> PruneDocument {
    PruneDocument::of(&PrunePlan::default(), &[])
}
