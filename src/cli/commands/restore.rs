//! `restore`: plan, confirm, emergency snapshot, apply, verify.

mod carry;
mod document;
mod set_aside;
mod to;

use std::ffi::OsString;

pub(super) use carry::{How, carry_out, say};
pub(super) use document::document;
pub(super) use set_aside::again as set_aside_again;

use super::diff::{no_store, nothing, settle_and_say};
use super::paths;
use super::pending::{make_way_and_say, refuse_torn};
use super::unlock::identities;
use super::words::Words;
use crate::cli::args::{Mtimes, RestoreArgs};
use crate::cli::context::{Context, settle_path};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::restore::{Allow, MountRequest, Proposal, Purpose, RestoreError, of_instance, propose};
use crate::session::{
    Allowed, State, find_called, find_instance, find_snapshot, refuse_inside, refuse_living, roots, state,
};
use crate::snapshot::{Coverage, RelPath, SnapshotRecord};
use crate::store::{InstanceRow, Store};

pub(super) fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<Status, CliError> {
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    let row = find_called(&reading, context.environment, &args.instance)?;
    refuse_inside(&reading, context.environment, Allowed::Nothing)?;
    let identities = identities(context, &args.unlock)?;
    if let Some(directory) = &args.to {
        let directory = settle_path(context.environment, directory.as_ref());
        let reading = reading.unlocked_by(identities);
        return to::to_directory(context, &reading, &row, args, directory);
    }
    refuse_imported(&row)?;
    refuse_living(&reading, context.environment, &row)?;
    let roots = roots(&row.mounts);
    // Looking needs no lock and writes nothing.
    let (store, _locks) = if args.dry_run {
        refuse_torn(&reading, &row)?;
        (reading, None)
    } else {
        drop(reading);
        let store = context.store_for_writing()?;
        let locks = (store.lock_restore(&roots)?, store.share()?);
        make_way_and_say(context, &store, &row)?;
        settle_and_say(context, &store, &row)?;
        (store, Some(locks))
    };
    let store = store.unlocked_by(identities);
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
        files_only: args.files_only,
    };
    let observer = context.world().observer;
    let mut proposal = propose(&store, target, Purpose::Restore, requests, allow, false, observer)?;
    check_paths(&proposal, &row, args)?;
    set_aside::add(context, &mut proposal, args)?;
    // What was set aside once is not there for the commands that follow.
    let aside: &[OsString] = if args.dry_run {
        &args.set_aside_excluded
    } else {
        &[]
    };
    let how = How {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        exact_mtimes: args.mtimes == Mtimes::Exact,
        question: "Restore these files?",
        identity: args.unlock.identity.clone(),
        again: Words::new("restore")
            .arg(row.id.as_str())
            .flags("--set-aside-excluded", aside)
            .flag("--from", args.from.as_ref())
            .flag("--mtimes", (args.mtimes == Mtimes::Exact).then_some("exact"))
            .switch("--files-only", args.files_only)
            .switch("--require-complete", args.require_complete)
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(&args.paths),
    };
    carry_out(context, &store, &row, &proposal, &how)
}

/// What came from a file belongs to no path of this machine.
pub(super) fn refuse_imported(row: &InstanceRow) -> Result<(), CliError> {
    if !row.is_imported() {
        return Ok(());
    }
    let message = format!("{} was imported: its paths are those of another machine", row.id);
    Err(CliError::new(ErrorKind::NothingToRestore, message)
        .command(
            "its files in a directory of their own",
            format!("fork {}", row.id),
        )
        .command("some of them", format!("restore {} PATH --to DIR", row.id)))
}

fn target(store: &Store, row: &InstanceRow, args: &RestoreArgs) -> Result<SnapshotRecord, CliError> {
    let wanted = args.from.as_deref().unwrap_or("baseline");
    let snapshot = find_snapshot(store, row, wanted).map_err(|error| nothing(row, error))?;
    let record = store.record(&snapshot.id)?;
    if args.require_complete && !record.complete {
        return Err(RestoreError::Incomplete(record.id).into());
    }
    Ok(record)
}

/// A path that is neither in the snapshot nor there now is a mistake that must not look like success.
fn check_paths(proposal: &Proposal, row: &InstanceRow, args: &RestoreArgs) -> Result<(), CliError> {
    let from = args.from.as_deref().unwrap_or("baseline");
    let described = format!("is neither in the {from} snapshot nor there now");
    for mount in &proposal.mounts {
        let gaps = mount.plan.not_covered.iter().map(|gap| &gap.path);
        let skipped = mount.now.skipped.iter().map(|skipped| &skipped.path);
        let elsewhere: Vec<&RelPath> = gaps.chain(skipped).collect();
        let known = paths::Known {
            sides: &[mount.target.as_ref(), mount.now.manifest.as_ref()],
            elsewhere: &elsewhere,
            described: &described,
        };
        known.check(&mount.request.coverage, &mount.request.scope, row.id.as_str())?;
    }
    Ok(())
}
