//! `restore`: plan, confirm, emergency snapshot, apply, verify.

use std::path::PathBuf;

use super::diff::{no_store, nothing, settle_and_say};
use super::paths;
use crate::cli::args::{Mtimes, RestoreArgs};
use crate::cli::confirm::confirm;
use crate::cli::context::{Context, settle_path};
use crate::cli::document::{ChangeDocument, ReasonDocument, RestoreDocument, SCHEMA, action_word, why_words};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::restore::{
    Acting, Allow, MountRequest, Outcome, Proposal, Purpose, Report, RestoreError, Scope, execute,
    of_instance, propose, write_to,
};
use crate::session::{State, find_instance, find_snapshot, refuse_active, refuse_inside, state};
use crate::snapshot::{Coverage, SnapshotRecord};
use crate::store::{InstanceRow, Store};
use crate::terminal::{sanitize, size};

pub(super) fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<Status, CliError> {
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    let row = find_instance(&reading, &args.instance)?;
    refuse_inside(&reading, context.environment, None)?;
    if let Some(directory) = &args.to {
        let directory = settle_path(context.environment, directory.as_ref());
        return to_directory(context, &reading, &row, args, directory);
    }
    refuse_active(&reading, &row)?;
    let roots: Vec<PathBuf> = row.mounts.iter().map(|mount| mount.root.to_path()).collect();
    // Looking needs no lock and writes nothing.
    let (store, _locks) = if args.dry_run {
        (reading, None)
    } else {
        drop(reading);
        let store = context.store_for_writing()?;
        let locks = (store.lock_restore(&roots)?, store.share()?);
        settle_and_say(context, &store, &row)?;
        (store, Some(locks))
    };
    let row = find_instance(&store, row.id.as_str())?;
    if state(&store, &row) == State::Lost {
        context.terminal.note(&format!(
            "{} may be restored although it was never ended: its launcher and all its processes are gone",
            row.id
        ));
    }
    let target = target(&store, &row, args)?;
    let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, &args.paths)?;
    let mut requests = Vec::new();
    for (coverage, scope) in coverages.into_iter().zip(scopes) {
        let witness = of_instance(&store, &row, &coverage)?;
        for (id, why) in &witness.unreadable {
            context.terminal.warn(&format!(
                "snapshot {id} cannot be read, so it vouches for nothing and what only it shows is a conflict: {why}"
            ));
        }
        requests.push(MountRequest {
            coverage,
            scope,
            witness,
        });
    }
    let allow = Allow {
        overwrite_later: args.overwrite_later_edits,
        delete_later: args.delete_later_files,
    };
    let observer = context.world().observer;
    let proposal = propose(&store, target, Purpose::Restore, requests, allow, false, observer)?;
    check_paths(&proposal, args)?;
    let how = How {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        exact_mtimes: args.mtimes == Mtimes::Exact,
        question: "Restore these files?",
    };
    carry_out(context, &store, &row, &proposal, &how)
}

fn target(store: &Store, row: &InstanceRow, args: &RestoreArgs) -> Result<SnapshotRecord, CliError> {
    let wanted = args.from.as_deref().unwrap_or("baseline");
    let snapshot = find_snapshot(store, row, wanted).map_err(|error| nothing(&row.mode, error))?;
    let record = store.record(&snapshot.id)?;
    if args.require_complete && !record.complete {
        return Err(RestoreError::Incomplete(record.id).into());
    }
    Ok(record)
}

/// A path that is neither in the snapshot nor there now is a mistake that must not look like success.
fn check_paths(proposal: &Proposal, args: &RestoreArgs) -> Result<(), CliError> {
    for mount in &proposal.mounts {
        let Scope::Below(paths) = &mount.request.scope else {
            continue;
        };
        for path in paths {
            let then = mount
                .target
                .as_ref()
                .is_some_and(|manifest| manifest.entry(path).is_some());
            let now = mount
                .now
                .manifest
                .as_ref()
                .is_some_and(|manifest| manifest.entry(path).is_some());
            let known = mount
                .plan
                .not_covered
                .iter()
                .any(|gap| gap.path.is_within(path) || path.is_within(&gap.path));
            if !then && !now && !known {
                let shown = sanitize::path(&path.on_host(&mount.request.coverage.root.to_path()));
                let from = args.from.as_deref().unwrap_or("baseline");
                let message = format!("{shown} is neither in the {from} snapshot nor there now");
                return Err(
                    CliError::new(ErrorKind::Usage, message).hint("diff lists the paths that changed")
                );
            }
        }
    }
    Ok(())
}

/// How a proposal is carried out.
pub(super) struct How<'a> {
    pub(super) json: bool,
    pub(super) yes: bool,
    pub(super) dry_run: bool,
    pub(super) exact_mtimes: bool,
    pub(super) question: &'a str,
}

/// Shows a proposal, asks, and carries it out.
pub(super) fn carry_out(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    proposal: &Proposal,
    how: &How<'_>,
) -> Result<Status, CliError> {
    let terminal = context.terminal;
    let leftovers = proposal.mounts.iter().flat_map(|mount| &mount.leftovers);
    for left in leftovers.filter(|_| !how.dry_run) {
        terminal.warn(&format!(
            "an earlier restore was interrupted; what it had moved aside lies in {}, and `show {}` lists the emergency \
             snapshot of what was there before it; remove it once you have looked",
            sanitize::path(left),
            row.id
        ));
    }
    if !how.json {
        let lacks = proposal
            .target
            .mounts
            .iter()
            .map(|mount| mount.gap_count)
            .sum::<u64>();
        if lacks > 0 {
            let lacks = size::counted(lacks, "path", "paths");
            terminal.warn(&format!(
                "the snapshot is not complete: it lacks {lacks}, which are not touched"
            ));
        }
        terminal.out(&view::plan::plan(proposal, terminal.width_out()));
    } else if !how.yes && !how.dry_run {
        terminal.err(&view::plan::plan(proposal, terminal.width_err()));
    }
    let conflicts = proposal
        .mounts
        .iter()
        .any(|mount| !mount.plan.conflicts.is_empty());
    if how.dry_run {
        if how.json {
            terminal.json(&document(row, proposal, None));
        }
        return Ok(if conflicts {
            ExitCode::Partial
        } else {
            ExitCode::Done
        }
        .into());
    }
    if !proposal.is_empty() {
        confirm(terminal, &context.interrupts, how.question, how.yes)?;
    }
    let world = context.world();
    let acting = Acting {
        observer: world.observer,
        entropy: world.entropy,
        now: context.now(),
        uid: world.uid,
        exact_mtimes: how.exact_mtimes,
    };
    let report = execute(store, proposal, &acting)?;
    for left in &report.left {
        terminal.warn(left);
    }
    if how.json {
        terminal.json(&document(row, proposal, Some(&report)));
    } else {
        tell(context, row, proposal, &report);
    }
    Ok(if report.outcome == Outcome::Partial {
        ExitCode::Partial
    } else {
        ExitCode::Done
    }
    .into())
}

fn tell(context: &Context<'_>, row: &InstanceRow, proposal: &Proposal, report: &Report) {
    let terminal = context.terminal;
    for (mount, done) in proposal.mounts.iter().zip(&report.mounts) {
        let root = mount.request.coverage.root.to_path();
        for failed in &done.failed {
            let host = sanitize::path(&failed.path.on_host(&root));
            terminal.warn(&format!("{host}: {}", failed.reason));
        }
    }
    let changed: usize = report.mounts.iter().map(|mount| mount.applied.len()).sum();
    if report.emergency.is_none() {
        return;
    }
    terminal.out(&format!(
        "Done: {} put back and verified.",
        size::counted(changed as u64, "path", "paths")
    ));
    terminal.note(&format!(
        "take it back: {}",
        context.command(&format!("undo {}", row.id))
    ));
}

/// The document of a plan, or of what was done.
fn document(row: &InstanceRow, proposal: &Proposal, report: Option<&Report>) -> RestoreDocument {
    let conflicts = proposal
        .mounts
        .iter()
        .any(|mount| !mount.plan.conflicts.is_empty());
    let outcome = match report.map(|report| report.outcome) {
        Some(Outcome::Done) => "restored",
        Some(Outcome::Nothing) => "nothing",
        Some(Outcome::Partial) => "partial",
        None if proposal.is_empty() && !conflicts => "nothing",
        None => "planned",
    };
    let mut made = RestoreDocument {
        schema: SCHEMA,
        instance: row.id.to_string(),
        outcome,
        target: proposal.target.id.to_string(),
        receipt: report.and_then(|report| report.receipt),
        emergency: report
            .and_then(|report| report.emergency.as_ref())
            .map(ToString::to_string),
        applied: Vec::new(),
        kept: Vec::new(),
        conflicts: Vec::new(),
        failed: Vec::new(),
        not_covered: Vec::new(),
        not_checked: Vec::new(),
    };
    for (at, mount) in proposal.mounts.iter().enumerate() {
        let coverage = &mount.request.coverage;
        let done = report.and_then(|report| report.mounts.get(at));
        let steps = done.map_or(mount.plan.steps.as_slice(), |done| done.applied.as_slice());
        let shown = view::plan::presented(steps).into_iter();
        made.applied.extend(
            shown.map(|(change, action)| ChangeDocument::new(coverage, &change).action(action_word(action))),
        );
        let stays = |kept: &crate::restore::Kept| {
            ChangeDocument::new(coverage, &kept.change).reason(why_words(&kept.why))
        };
        made.kept.extend(mount.plan.kept.iter().map(stays));
        made.conflicts.extend(mount.plan.conflicts.iter().map(stays));
        let failed = done.into_iter().flat_map(|done| &done.failed);
        made.failed
            .extend(failed.map(|f| ReasonDocument::new(coverage, &f.path, f.reason.clone())));
        made.not_covered.extend(
            mount
                .plan
                .not_covered
                .iter()
                .map(|gap| ReasonDocument::gap(coverage, gap)),
        );
        let reason = "excluded, and changed since the snapshot";
        made.not_checked.extend(
            mount
                .not_checked
                .iter()
                .map(|skipped| ReasonDocument::new(coverage, &skipped.path, reason)),
        );
    }
    made
}

/// `--to`: the snapshot into a directory of its own.
fn to_directory(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    args: &RestoreArgs,
    directory: PathBuf,
) -> Result<Status, CliError> {
    let target = target(store, row, args)?;
    let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, &args.paths)?;
    let several = coverages.len() > 1;
    let terminal = context.terminal;
    if !args.json {
        let shown = sanitize::path(&directory);
        terminal.out(&format!(
            "The {} snapshot {} goes to {shown}.",
            target.kind.word(),
            target.id
        ));
    }
    if args.dry_run {
        return Ok(ExitCode::Done.into());
    }
    confirm(terminal, &context.interrupts, "Write it there?", args.yes)?;
    let blobs = store.blobs(&target.archives);
    if several {
        std::fs::DirBuilder::new()
            .recursive(false)
            .create(&directory)
            .or_else(|error| match error.kind() {
                std::io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(RestoreError::Stage {
                    path: directory.clone(),
                    source: error,
                }),
            })?;
    }
    let mut paths = 0;
    let mut problems = Vec::new();
    for (mount, scope) in target.mounts.iter().zip(&scopes) {
        let Some(manifest) = store.manifest(&target, mount)? else {
            continue;
        };
        let place = if several {
            directory.join(&mount.coverage.label)
        } else {
            directory.clone()
        };
        let written = write_to(&place, &manifest, scope, &blobs, context.world().observer)?;
        paths += written.paths.len() as u64;
        for (path, reason) in written.problems {
            if !args.json {
                terminal.warn(&format!("{}: {reason}", sanitize::path(&path.on_host(&place))));
            }
            problems.push(ReasonDocument::new(&mount.coverage, &path, reason));
        }
    }
    let partial = !problems.is_empty();
    if args.json {
        #[derive(serde::Serialize)]
        struct Document {
            schema: u32,
            instance: String,
            outcome: &'static str,
            target: String,
            directory: String,
            paths: u64,
            failed: Vec<ReasonDocument>,
        }
        terminal.json(&Document {
            schema: SCHEMA,
            instance: row.id.to_string(),
            outcome: if partial { "partial" } else { "restored" },
            target: target.id.to_string(),
            directory: directory.to_string_lossy().into_owned(),
            paths,
            failed: problems,
        });
    } else {
        terminal.out(&format!(
            "Done: {} written.",
            size::counted(paths, "path", "paths")
        ));
    }
    Ok(if partial {
        ExitCode::Partial
    } else {
        ExitCode::Done
    }
    .into())
}
