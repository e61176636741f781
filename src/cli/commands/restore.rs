//! `restore`: plan, confirm, emergency snapshot, apply, verify.

mod document;
mod flow;
mod set_aside;
mod to;

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

pub(in crate::cli) use document::document;
pub(in crate::cli) use flow::{Caller, act, carry, flags, gaps};
pub(super) use flow::{RestoreOptions, carry_out, say};
pub(super) use set_aside::again as set_aside_again;

use crate::cli::args::{Mtimes, RestoreArgs};
use crate::cli::context::pending::{make_way_and_say, refuse_torn};
use crate::cli::context::{Context, settle_path};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::Status;
use crate::cli::identity_arg::identities;
use crate::cli::named_session::{no_store, nothing, refuse_imported, settle_and_say};
use crate::cli::paths;
use crate::cli::suggested_command::Words;
use crate::model::{Coverage, RelPath, SnapshotKind, SnapshotRecord, StepRef};
use crate::restore::{
    Allow, MountRequest, Proposal, Purpose, RestoreError, Scope, of_instance, of_step, propose,
};
use crate::session::{
    Allowed, SessionError, State, ensure_outside_session, find_before, find_called, find_instance,
    find_snapshot, is_inside, overlap, roots, state,
};
use crate::store::{InstanceRow, LockGuard, Store};

/// A restore that is planned, and what it holds until it was carried out.
pub(in crate::cli) struct Planned {
    pub(in crate::cli) store: Store,
    pub(in crate::cli) row: InstanceRow,
    pub(in crate::cli) proposal: Proposal,
    pub(in crate::cli) asked: Caller,
    pub(super) how: RestoreOptions,
    pub(super) locks: Locks,
}

/// The locks of a restore. Nobody else is kept waiting while the operator thinks about a plan.
pub(super) struct Locks {
    held: RefCell<Option<(Option<LockGuard>, LockGuard)>>,
    /// Roots to lock again after the answer; `None` if the locks are held throughout.
    roots: Option<Vec<PathBuf>>,
}

impl Locks {
    /// Locks that are let go while the operator is asked.
    pub(super) fn passing(held: (Option<LockGuard>, LockGuard), roots: Vec<PathBuf>) -> Self {
        Self {
            held: RefCell::new(Some(held)),
            roots: Some(roots),
        }
    }

    /// Locks that are held from the plan to the end: what is done with them lies half done.
    pub(super) fn lasting(held: (Option<LockGuard>, LockGuard)) -> Self {
        Self {
            held: RefCell::new(Some(held)),
            roots: None,
        }
    }

    /// Lets them go, asks, and takes them again. Refuses when the store has learned something about these files meanwhile, for the
    /// plan may be another one then; that the files themselves are as they were is seen when the restore begins.
    fn while_open(
        &self,
        planned: &Planned,
        ask: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let Some(roots) = &self.roots else {
            return ask();
        };
        let (store, row) = (&planned.store, &planned.row);
        let seen = store.catalog().newest_receipt()?;
        self.held.replace(None);
        ask()?;
        self.held
            .replace(Some((Some(store.lock_restore(roots)?), store.share()?)));
        refuse_torn(store, row)?;
        for id in store.catalog().concerned_since(seen)? {
            let other = store.catalog().instance(&id)?;
            let mounts = other.iter().flat_map(|other| &other.mounts);
            let overlaps = |theirs: &Coverage| row.mounts.iter().any(|ours| overlap(ours, theirs));
            if id == row.id || mounts.into_iter().any(overlaps) {
                let message = format!(
                    "{id} changed something here while the question was open, so the plan may be out of date; nothing was changed"
                );
                return Err(CliError::new(ErrorKind::Failed, message).hint("run the command again"));
            }
        }
        // A prune may have deleted it.
        store.record(&planned.proposal.target.id)?;
        Ok(())
    }
}

/// Session to restore, with the store opened for reading.
struct Opened {
    reading: Store,
    row: InstanceRow,
    asked: Caller,
}

pub(super) fn run(context: &Context<'_>, args: &RestoreArgs) -> Result<Status, CliError> {
    let opened = open(context, args)?;
    if let Some(directory) = &args.to {
        let directory = settle_path(context.environment, directory.as_ref());
        let reading = opened.reading.unlocked_by(identities(context, &args.unlock)?);
        let _needed = reading.share()?;
        return to::to_directory(context, &reading, &opened.row, args, directory);
    }
    carry_out(context, &plan_opened(context, opened, args, args.dry_run)?)
}

fn how(args: &RestoreArgs, row: &InstanceRow, asked: Caller) -> RestoreOptions {
    // What was set aside once is not there for the commands that follow.
    let aside: &[OsString] = if args.dry_run {
        &args.set_aside_excluded
    } else {
        &[]
    };
    RestoreOptions {
        json: args.json,
        yes: args.yes,
        dry_run: args.dry_run,
        is_refused: false,
        patch: args.patch,
        asked,
        exact_mtimes: args.mtimes == Mtimes::Exact,
        question: "Restore these files?",
        identity: args.unlock.identity.clone(),
        again: Words::new("restore")
            .arg(row.id.as_str())
            .flags("--set-aside-excluded", aside)
            .flag("--from", args.from.as_ref())
            .flag("--only-changes-of", args.only_changes_of.as_ref())
            .flag("--mtimes", (args.mtimes == Mtimes::Exact).then_some("exact"))
            .switch("--files-only", args.files_only)
            .switch("--require-complete", args.require_complete)
            .flag("--identity", args.unlock.identity.as_ref())
            .paths(&args.paths),
    }
}

/// Plans a restore in place, without a word about it. With `dry_run` nothing is locked or written.
pub(in crate::cli) fn plan(context: &Context<'_>, args: &RestoreArgs) -> Result<Planned, CliError> {
    // What is asked next may carry it out.
    plan_opened(context, open(context, args)?, args, false)
}

fn open(context: &Context<'_>, args: &RestoreArgs) -> Result<Opened, CliError> {
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    let row = find_called(&reading, context.environment, &args.instance)?;
    ensure_outside_session(&reading, context.environment, Allowed::Checkpoint(&row.id))?;
    let asked = match is_inside(&reading, context.environment, &row) {
        true => Caller::Inside,
        false => Caller::Outside,
    };
    if asked == Caller::Inside {
        refuse_all_but_checkpoints(&reading, &row, args)?;
    }
    Ok(Opened { reading, row, asked })
}

/// Plans a restore. With `looks` the plan is only shown, so the session may be active.
fn plan_opened(
    context: &Context<'_>,
    opened: Opened,
    args: &RestoreArgs,
    looks: bool,
) -> Result<Planned, CliError> {
    let Opened { reading, row, asked } = opened;
    let identities = identities(context, &args.unlock)?;
    refuse_imported(&row)?;
    let living = asked.refuse_living(context, &reading, &row);
    let is_refused = match living {
        // A look changes nothing. Who else may be at work there is refused with what ends that.
        Err(refused) if looks && refused.kind == ErrorKind::RefusedActive => {
            let why = refused.message;
            context.terminal.note(&format!(
                "{why}, so a restore is refused; this is what one would do if it ended now"
            ));
            true
        }
        living => living.map(|()| false)?,
    };
    let is_own_work = is_refused && state(&reading, &row).is_active();
    let roots = roots(&row.mounts);
    // Looking keeps nobody from working, and writes nothing; only archives must not go meanwhile.
    let (store, locks) = if args.dry_run {
        refuse_torn(&reading, &row)?;
        let needed = reading.share()?;
        (reading, (None, needed))
    } else {
        drop(reading);
        let store = context.store_for_writing()?;
        let locks = (Some(store.lock_restore(&roots)?), store.share()?);
        make_way_and_say(context, &store, &row)?;
        settle_and_say(context, &store, &row)?;
        (store, locks)
    };
    let store = store.unlocked_by(identities);
    let row = find_instance(&store, row.id.as_str())?;
    if state(&store, &row) == State::Lost {
        context.terminal.note(&format!(
            "{} may be restored although it was never ended: its launcher and all its processes are gone",
            row.id
        ));
    }
    let (target, step) = target(&store, &row, args)?;
    let purpose = step.as_ref().map_or(Purpose::Restore, |step| {
        Purpose::Step(StepRef {
            snapshot: step.id.clone(),
            kind: step.kind,
            name: step.name.clone(),
        })
    });
    let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let scopes = paths::scopes(context.environment, &coverages, &args.paths)?;
    let mut requests = Vec::new();
    for (coverage, scope) in coverages.into_iter().zip(scopes) {
        let (mut witness, scope) = match &step {
            Some(step) => {
                let (witness, changed) = of_step(&store, &row, &coverage, (&target, step), &scope)?;
                (witness, Scope::Exactly(changed))
            }
            None => (of_instance(&store, &row, &coverage)?, scope),
        };
        // What came after a checkpoint is what a session wants gone that goes back to it; and what an active one left so far is its work.
        witness.owned = (asked == Caller::Inside || is_own_work) && step.is_none();
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
    let mut proposal = propose(&store, target, purpose, requests, allow, false, observer)?;
    if step.is_none() {
        check_paths(&proposal, &row, args)?;
    }
    set_aside::add(context, &mut proposal, args)?;
    Ok(Planned {
        how: RestoreOptions {
            is_refused,
            ..how(args, &row, asked)
        },
        store,
        row,
        proposal,
        asked,
        locks: Locks::passing(locks, roots),
    })
}

/// The snapshot to go back to; of a single step, which is taken back, also the one that it led to.
fn target(
    store: &Store,
    row: &InstanceRow,
    args: &RestoreArgs,
) -> Result<(SnapshotRecord, Option<SnapshotRecord>), CliError> {
    let wanted = args.only_changes_of.as_deref().or(args.from.as_deref());
    let found =
        find_snapshot(store, row, wanted.unwrap_or("baseline")).map_err(|error| nothing(row, error))?;
    let (record, step) = match &args.only_changes_of {
        Some(_) => {
            let before = find_before(store, row, &found)?;
            (store.record(&before.id)?, Some(store.record(&found.id)?))
        }
        None => (store.record(&found.id)?, None),
    };
    if args.require_complete && !record.complete {
        return Err(RestoreError::Incomplete(record.id).into());
    }
    Ok((record, step))
}

/// A session goes back to its own checkpoints, in its own mounts.
fn refuse_all_but_checkpoints(store: &Store, row: &InstanceRow, args: &RestoreArgs) -> Result<(), CliError> {
    let refused = || SessionError::OnlyCheckpoints(row.id.clone());
    let wanted = args
        .only_changes_of
        .as_ref()
        .or(args.from.as_ref())
        .ok_or_else(refused)?;
    let found = find_snapshot(store, row, wanted)?;
    let elsewhere =
        args.to.is_some() || !args.set_aside_excluded.is_empty() || args.unlock.identity.is_some();
    match found.kind {
        SnapshotKind::Checkpoint if !elsewhere => Ok(()),
        _ => Err(refused().into()),
    }
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
