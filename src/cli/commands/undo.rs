//! `undo`: takes back a restore, limited to what that restore touched. It is a restore itself.

use std::collections::BTreeSet;

use super::restore::{Caller, Locks, Planned, RestoreOptions, carry_out};
use crate::cli::args::UndoArgs;
use crate::cli::context::Context;
use crate::cli::context::pending::{make_way_and_say, refuse_torn};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::named_session::no_store;
use crate::cli::suggested_command::Words;
use crate::model::RelPath;
use crate::restore::{Allow, MountRequest, Purpose, Scope, bring_back, of_restore, propose};
use crate::session::{Allowed, ensure_outside_session, find_called, find_instance, refuse_living, roots};
use crate::store::{InstanceRow, RestoreRow, RestoreStage, Store};

pub(super) fn run(context: &Context<'_>, args: &UndoArgs) -> Result<Status, CliError> {
    carry_out(context, &plan(context, args)?)
}

/// Plans what takes a restore back, without a word about it. With `dry_run` nothing is locked or written.
pub(in crate::cli) fn plan(context: &Context<'_>, args: &UndoArgs) -> Result<Planned, CliError> {
    let reading = context.store_for_reading()?;
    let reading = match (reading, args.instance.as_deref()) {
        (Some(reading), _) => reading,
        (None, Some(wanted)) => return Err(no_store(wanted)),
        (None, None) => return Err(nothing_to_undo(args.receipt)),
    };
    let row = concerned(context, &reading, args)?;
    ensure_outside_session(&reading, context.environment, Allowed::Nothing)?;
    refuse_living(&reading, context.environment, &row)?;
    let roots = roots(&row.mounts);
    let identities = identities(context, &args.unlock)?;
    let (store, locks) = if args.dry_run {
        refuse_torn(&reading, &row)?;
        let needed = reading.share()?;
        (reading, (None, needed))
    } else {
        drop(reading);
        let store = context.store_for_writing()?;
        let locks = (Some(store.lock_restore(&roots)?), store.share()?);
        make_way_and_say(context, &store, &row)?;
        (store, locks)
    };
    let store = store.unlocked_by(identities);
    // What was cleared up may have been a restore that is the last one now.
    let (row, undone) = find(context, &store, args)?;
    let target = store.record(&undone.emergency)?;
    let mut requests = Vec::new();
    for mount in &target.mounts {
        let coverage = mount.coverage.clone();
        let touched = undone
            .changed
            .iter()
            .filter(|change| change.mount == coverage.label);
        let paths: BTreeSet<RelPath> = touched.map(|change| change.path.clone()).collect();
        let witness = of_restore(&store, &row.id, &coverage)?;
        requests.push(MountRequest {
            coverage,
            scope: Scope::Exactly(paths),
            witness,
        });
    }
    let allow = Allow {
        overwrite_later: args.overwrite_later_edits,
        delete_later: args.delete_later_files,
        files_only: false,
    };
    let purpose = Purpose::Undo(undone.number);
    let mut proposal = propose(
        &store,
        target,
        purpose,
        requests,
        allow,
        false,
        context.world().observer,
    )?;
    bring_back(&mut proposal, &undone.aside, context.world().entropy);
    let how = RestoreOptions {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        is_refused: false,
        patch: false,
        asked: Caller::Outside,
        exact_mtimes: false,
        question: "Take this restore back?",
        identity: args.unlock.identity.clone(),
        again: Words::new("undo")
            .arg(row.id.as_str())
            .flag("--receipt", Some(undone.number.to_string()))
            .flag("--identity", args.unlock.identity.as_ref()),
    };
    Ok(Planned {
        store,
        row,
        proposal,
        asked: Caller::Outside,
        how,
        locks: Locks::passing(locks, roots),
    })
}

/// The instance that is meant. One whose restore waits, or was done and is not written down yet, comes before what is.
fn concerned(context: &Context<'_>, store: &Store, args: &UndoArgs) -> Result<InstanceRow, CliError> {
    let named = match &args.instance {
        Some(name) => Some(find_called(store, context.environment, name)?),
        None => None,
    };
    let mut pending = store.pending_restores()?;
    pending.retain(|found| {
        let meant = named.as_ref().is_none_or(|row| row.id == found.intent.instance);
        meant && !found.alive && found.stage != RestoreStage::Begun
    });
    if let Some(row) = &named {
        refuse_torn(store, row)?;
    }
    match pending.pop() {
        Some(found) => {
            let row = find_instance(store, found.intent.instance.as_str())?;
            refuse_torn(store, &row)?;
            Ok(row)
        }
        None => Ok(find(context, store, args)?.0),
    }
}

/// The instance and the restore of it that is taken back: the last one, or the one with the given receipt.
fn find(
    context: &Context<'_>,
    store: &Store,
    args: &UndoArgs,
) -> Result<(InstanceRow, RestoreRow), CliError> {
    let rows = match &args.instance {
        Some(name) => vec![find_called(store, context.environment, name)?],
        None => store.catalog().instances()?,
    };
    let mut found: Option<(InstanceRow, RestoreRow)> = None;
    for row in rows {
        for restore in store.catalog().restores(&row.id)? {
            // A restore that changed nothing left nothing to take back.
            let wanted = match args.receipt {
                Some(number) => number == restore.number,
                None => !restore.changed.is_empty() || !restore.aside.is_empty(),
            };
            let newer = found
                .as_ref()
                .is_none_or(|(_, best)| best.number < restore.number);
            if wanted && newer {
                found = Some((row.clone(), restore));
            }
        }
    }
    found.ok_or_else(|| nothing_to_undo(args.receipt))
}

fn nothing_to_undo(receipt: Option<u64>) -> CliError {
    match receipt {
        Some(number) => CliError::new(
            ErrorKind::UnknownSnapshot,
            format!("receipt {number} is no restore that can be taken back"),
        )
        .command("the number of each restore stands first in", "log"),
        None => CliError::new(
            ErrorKind::NothingToRestore,
            "nothing was restored yet, so there is nothing to undo",
        ),
    }
}
