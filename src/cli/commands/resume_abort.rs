//! `resume` and `abort`: what becomes of a restore that was interrupted.

use std::path::PathBuf;

use crate::cli::args::{AbortArgs, ResumeArgs, WaitingArgs};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::context::pending::{tell_left, what_was_cleared};
use crate::cli::document::{RestoreDocument, RestoreOutcome};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::named_session::no_store;
use crate::cli::restore_document::document;
use crate::cli::restore_flow::{RestoreOptions, carry_out, say};
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::model::{Decision, Intent};
use crate::recovery::{Caller, Locks, RestorePlan};
use crate::restore::{
    Allow, MountRequest, Purpose, RestoreError, Scope, TakenBack, abort, leave, of_instance, of_restore,
    of_step, proposal, propose, resume, settle,
};
use crate::session::{Allowed, ensure_outside_session, find_called, find_instance, refuse_living};
use crate::store::{
    Holder, InstanceRow, LockGuard, PendingRestore, RestoreJournal, RestoreStage, Store, wait_hint,
};
use crate::terminal::sanitize;

/// Interrupted restore, with the store and the locks that `resume` and `abort` need.
struct Found {
    store: Store,
    row: InstanceRow,
    papers: RestoreJournal,
    _locks: (LockGuard, LockGuard),
}

pub(super) fn run_resume(context: &Context<'_>, args: &ResumeArgs) -> Result<Status, CliError> {
    let identities = identities(context, &args.unlock)?;
    let args = &args.restore;
    let (row, waiting) = look(context, args.instance.as_deref())?;
    if args.dry_run {
        return show(context, &row, &waiting, args.json, "resume");
    }
    let mut found = take(context, &row, &waiting, false)?;
    found.store = found.store.unlocked_by(identities);
    let intent = found.papers.intent().clone();
    if waiting.stage == RestoreStage::Begun {
        return again(context, found, &intent, args);
    }
    let world = context.world();
    let planned = match waiting.stage {
        RestoreStage::Decided(Decision::Abort | Decision::Left) => None,
        _ => proposal(&found.store, &intent)?,
    };
    let Some(planned) = planned else {
        let done = settle(&found.store, found.papers, &world.acting())?;
        tell_left(context, &done.left);
        return Err(
            CliError::new(ErrorKind::NothingToRestore, what_was_cleared(&done)).command(
                "put the files back",
                how(&row, &intent, args.json, args.yes).again.text(),
            ),
        );
    };
    let proposal = planned;
    if !args.json {
        context
            .terminal
            .out(&view::plan::steps(&proposal, context.terminal.width_out()));
    } else if !args.yes && context.terminal.can_ask() {
        context
            .terminal
            .err(&view::plan::steps(&proposal, context.terminal.width_err()));
    }
    confirm(
        context.terminal,
        &context.interrupts,
        "Finish this restore?",
        args.yes,
    )?;
    let (proposal, report) = resume(&found.store, found.papers, &world.acting())?;
    let how = how(&row, &intent, args.json, args.yes);
    Ok(say(context, (&row, Caller::Outside), &proposal, &report, &how))
}

pub(super) fn run_abort(context: &Context<'_>, args: &AbortArgs) -> Result<Status, CliError> {
    let (row, waiting) = look(context, args.restore.instance.as_deref())?;
    if args.restore.dry_run {
        return show(context, &row, &waiting, args.restore.json, "abort");
    }
    let is_over = matches!(
        waiting.stage,
        RestoreStage::Decided(Decision::Commit | Decision::Left)
    );
    let found = take(context, &row, &waiting, args.as_is && !is_over)?;
    if let RestoreStage::Decided(decision @ (Decision::Commit | Decision::Left)) = waiting.stage {
        let done = settle(&found.store, found.papers, &context.world().acting())?;
        tell_left(context, &done.left);
        let error = CliError::new(ErrorKind::NothingToRestore, what_was_cleared(&done));
        return Err(match decision {
            Decision::Commit => error.command("take it back", format!("undo {}", row.id)),
            _ => error,
        });
    }
    let question = if args.as_is {
        "Leave everything as it is now, some paths old and some new?"
    } else {
        "Take this restore back?"
    };
    // What has no readable plan can be taken back all the same: the journal knows every move.
    if let Ok(Some(proposal)) = proposal(&found.store, found.papers.intent())
        && !args.restore.json
    {
        context
            .terminal
            .out(&view::plan::steps(&proposal, context.terminal.width_out()));
    }
    confirm(context.terminal, &context.interrupts, question, args.restore.yes)?;
    let world = context.world();
    let acting = world.acting();
    let intent = found.papers.intent().clone();
    let journaled = waiting.stage != RestoreStage::Begun;
    let back = if args.as_is {
        let places = leave(&found.store, found.papers, &acting)?;
        let words = |place: PathBuf| {
            format!(
                "{} stays; what was moved aside lies in it",
                sanitize::path(&place)
            )
        };
        TakenBack {
            left: places.into_iter().map(words).collect(),
            ..TakenBack::default()
        }
    } else {
        abort(&found.store, found.papers, &acting)?
    };
    let gone = back
        .gone
        .iter()
        .map(|path| RestoreError::Gone { path: path.clone() }.to_string());
    let left: Vec<String> = gone.chain(back.left.iter().cloned()).collect();
    if args.restore.json {
        let outcome = if left.is_empty() {
            RestoreOutcome::Aborted
        } else {
            RestoreOutcome::Partial
        };
        let target = intent.target.to_string();
        let mut made = RestoreDocument::bare(row.id.as_str(), outcome, target, left.clone());
        made.emergency = back.emergency.as_ref().map(ToString::to_string);
        context.terminal.json(&made);
    } else {
        tell_left(context, &left);
        context.terminal.out(match (args.as_is, journaled) {
            (true, _) => "Left as it is.",
            (false, true) if back.gone.is_empty() => {
                "Taken back: everything is as it was before the restore."
            }
            (false, true) => "Taken back as far as it goes.",
            (false, false) => "The restore had not changed anything yet; what it had staged is removed.",
        });
        if let Some(emergency) = back.emergency.filter(|_| !back.gone.is_empty()) {
            let words = Words::new("restore")
                .arg(row.id.as_str())
                .flag("--from", Some(emergency.to_string()))
                .switch("--overwrite-later-edits", true)
                .switch("--delete-later-files", true);
            context.propose("the emergency snapshot has what is gone", &words.text());
        }
    }
    Ok(if left.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::Partial
    }
    .into())
}

/// The restore that is meant: of the instance, or the only one that waits.
fn look(context: &Context<'_>, instance: Option<&str>) -> Result<(InstanceRow, PendingRestore), CliError> {
    let none = |of: &str| {
        CliError::new(
            ErrorKind::NothingToRestore,
            format!("no interrupted restore{of} waits, so there is nothing to finish or to take back"),
        )
    };
    let store = match (context.store_for_reading()?, instance) {
        (Some(store), _) => store,
        (None, Some(wanted)) => return Err(no_store(wanted)),
        (None, None) => return Err(none("")),
    };
    ensure_outside_session(&store, context.environment, Allowed::Nothing)?;
    let mut waiting = store.pending_restores()?;
    let row = match instance {
        Some(wanted) => {
            let row = find_called(&store, context.environment, wanted)?;
            waiting.retain(|found| found.intent.instance == row.id);
            row
        }
        None => match waiting.first() {
            Some(first) => find_instance(&store, first.intent.instance.as_str())?,
            None => return Err(none("")),
        },
    };
    let mut waiting = waiting.into_iter();
    match (waiting.next(), waiting.next(), instance) {
        (Some(_), Some(other), None) => Err(CliError::new(
            ErrorKind::Usage,
            "several interrupted restores wait; name the session",
        )
        .hint(format!("among them {} and {}", row.id, other.intent.instance))),
        (Some(found), ..) if found.alive => {
            let holders = store.restore_holders(&found.intent.id);
            let who: Vec<String> = holders.iter().map(Holder::described).collect();
            let who = match who.is_empty() {
                true => "another process".to_owned(),
                false => who.join(", "),
            };
            let message = format!("the restore of {} is under way in {who}", row.id);
            Err(CliError::new(ErrorKind::Failed, message).advise(wait_hint(&holders)))
        }
        (Some(found), ..) => Ok((row, found)),
        (None, ..) => Err(none(&format!(" of {}", row.id))),
    }
}

/// `untouched`: everything in the mounts stays as it is.
fn take(
    context: &Context<'_>,
    row: &InstanceRow,
    waiting: &PendingRestore,
    untouched: bool,
) -> Result<Found, CliError> {
    let store = context.store_for_writing()?;
    let mounts = waiting.intent.mounts.iter();
    let roots: Vec<PathBuf> = mounts.map(|mount| mount.coverage.root.to_path()).collect();
    let paths = if untouched {
        store.lock_restore_here(&roots)?
    } else {
        store.lock_restore(&roots)?
    };
    let locks = (paths, store.share()?);
    let papers = store.take_up(&waiting.intent.id)?.ok_or_else(|| {
        CliError::new(
            ErrorKind::Failed,
            format!("the restore of {} is taken up by another process", row.id),
        )
    })?;
    refuse_living(&store, context.environment, row)?;
    Ok(Found {
        store,
        row: row.clone(),
        papers,
        _locks: locks,
    })
}

fn show(
    context: &Context<'_>,
    row: &InstanceRow,
    waiting: &PendingRestore,
    json: bool,
    verb: &str,
) -> Result<Status, CliError> {
    let Some(store) = context.store_for_reading()? else {
        return Err(no_store(row.id.as_str()));
    };
    let proposal = proposal(&store, &waiting.intent)?;
    match proposal {
        Some(proposal) if json => context.terminal.json(&document(row, &proposal, None)),
        Some(proposal) => context
            .terminal
            .out(&view::plan::steps(&proposal, context.terminal.width_out())),
        None if json => {
            let target = waiting.intent.target.to_string();
            let outcome = RestoreOutcome::Planned;
            context.terminal.json(&RestoreDocument::bare(
                row.id.as_str(),
                outcome,
                target,
                Vec::new(),
            ));
        }
        None => context
            .terminal
            .out("The restore was interrupted before it changed anything."),
    }
    if !json {
        context.propose("carry it out", &format!("{verb} {}", row.id));
    }
    Ok(ExitCode::Done.into())
}

fn how(row: &InstanceRow, intent: &Intent, json: bool, yes: bool) -> RestoreOptions {
    let again = match Purpose::of(intent) {
        Purpose::Restore => Words::new("restore")
            .arg(row.id.as_str())
            .flag("--from", Some(intent.target.to_string())),
        Purpose::Step(step) => Words::new("restore")
            .arg(row.id.as_str())
            .flag("--only-changes-of", Some(step.called())),
        Purpose::Undo(number) => Words::new("undo")
            .arg(row.id.as_str())
            .flag("--receipt", Some(number.to_string())),
    };
    RestoreOptions {
        json,
        yes,
        dry_run: false,
        patch: false,
        question: "Restore these files?",
        identity: None,
        again,
    }
}

/// A restore that had not begun to move anything is made again, as it was confirmed then.
fn again(
    context: &Context<'_>,
    found: Found,
    intent: &Intent,
    args: &WaitingArgs,
) -> Result<Status, CliError> {
    let Found {
        store,
        row,
        papers,
        _locks: locks,
    } = found;
    if intent.unlocked && !store.is_unlocked() {
        return Err(CliError::new(
            ErrorKind::Usage,
            "that restore was begun with your private key, and had not changed anything yet",
        )
        .hint("give it again with --identity FILE, or `abort` it"));
    }
    let world = context.world();
    // Read before the papers are thrown away: what cannot be read now may be put back, and the restore is not forgotten until then.
    let target = store.record(&intent.target)?;
    let purpose = Purpose::of(intent);
    let step = match &purpose {
        Purpose::Step(step) => Some(store.record(&step.snapshot)?),
        Purpose::Restore | Purpose::Undo(_) => None,
    };
    let done = settle(&store, papers, &world.acting())?;
    tell_left(context, &done.left);
    let mut requests = Vec::new();
    for mount in &intent.mounts {
        let coverage = mount.coverage.clone();
        let witness = match (&purpose, &step) {
            (Purpose::Undo(_), _) => of_restore(&store, &row.id, &coverage)?,
            // The paths are those of then: what the step changed, as far as it was asked for.
            (_, Some(step)) => of_step(&store, &row, &coverage, (&target, step), &Scope::All)?.0,
            (_, None) => of_instance(&store, &row, &coverage)?,
        };
        requests.push(MountRequest {
            coverage,
            scope: Scope::from(&mount.scope),
            witness,
        });
    }
    let allow = Allow::of(intent);
    let mut proposal = propose(&store, target, purpose, requests, allow, false, world.observer)?;
    context.engine().set_aside_again(&store, &mut proposal, intent)?;
    let (paths, needed) = locks;
    let how = how(&row, intent, args.json, args.yes);
    let planned = RestorePlan {
        store,
        row,
        proposal,
        caller: Caller::Outside,
        is_refused: false,
        exact_mtimes: intent.exact_mtimes,
        locks: Locks::lasting((Some(paths), needed)),
    };
    carry_out(context, &planned, &how)
}
