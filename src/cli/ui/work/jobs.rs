//! Commands on a session or snapshot that the screen runs: pin, rename, checkpoint, fork, export and forget. Each says what it did.

use std::path::PathBuf;

use super::super::data::{Answer, ForgetText, Job};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::named_file::NamedFile;
use crate::cli::named_session::no_store;
use crate::cli::replication::behind;
use crate::cli::retain::by_the_rules;
use crate::cli::session_begin::{tell_notes, warn_of_unsteady};
use crate::cli::view;
use crate::cli::view::plan::Listed;
use crate::cli::written_snapshot::{print_changed_meanwhile, print_problems, print_sockets};
use crate::model::Time;
use crate::recovery::{
    CheckpointRequest, ForgetRequest, ForkRequest, PlannedForget, Store, TakenCheckpoint, Text,
};
use crate::report::{ForgetDocument, ForgetOutcome, ForkDocument, PinDocument};
use crate::terminal::recorded::Recording;
use crate::terminal::{sanitize, size};

/// Runs a job. What it warns of stands before what it did.
pub(super) fn run(context: &Context<'_>, job: Job, said: &Recording) -> Result<Answer, CliError> {
    let done = match &job {
        Job::Pin {
            session,
            snapshot,
            pins,
        } => pin(context, session, snapshot.as_deref(), *pins)?,
        Job::Rename { session, name } => rename(context, session, name)?,
        Job::Checkpoint { session, name } => checkpoint(context, session, name)?,
        Job::Fork {
            session,
            snapshot,
            directory,
        } => fork(context, session, snapshot.as_deref(), directory)?,
        Job::Export {
            session,
            snapshot,
            file,
        } => export(context, session, snapshot.as_deref(), file)?,
        Job::Forget { session, agreed } => match forget(context, session, agreed)? {
            Ok(done) => done,
            Err(text) => return Ok(Answer::Forget(session.clone(), text)),
        },
    };
    Ok(Answer::JobDone(format!("{}{done}", said.text())))
}

fn pin(context: &Context<'_>, session: &str, snapshot: Option<&str>, pins: bool) -> Result<String, CliError> {
    let engine = context.engine();
    let done = match pins {
        true => engine.pin(session, snapshot)?,
        false => engine.unpin(session, snapshot)?,
    };
    let found = PinDocument::of(&done, pins);
    let what = match &found.snapshot {
        Some(id) => format!("snapshot {id}"),
        None => format!("{} with all of its snapshots", found.instance),
    };
    Ok(match (pins, found.is_kept_by_session) {
        (true, _) => format!("{what} is pinned"),
        (false, false) => format!("{what} is unpinned"),
        (false, true) => format!(
            "{what} is unpinned; {} is pinned as a whole, so it is still kept",
            found.instance
        ),
    })
}

fn rename(context: &Context<'_>, session: &str, name: &str) -> Result<String, CliError> {
    let wanted = match name {
        "" => Text::Remove,
        name => Text::Set(name),
    };
    let renamed = context.engine().rename(session, wanted, Text::Keep)?;
    let id = &renamed.row.id;
    Ok(match &renamed.row.title.name {
        Some(name) => format!("session {id} is named {}", sanitize::name(name.as_bytes())),
        None => format!("session {id} has no name"),
    })
}

fn checkpoint(context: &Context<'_>, session: &str, name: &str) -> Result<String, CliError> {
    let mark = CheckpointRequest {
        name: Some(name).filter(|name| !name.is_empty()),
        message: None,
        ..CheckpointRequest::default()
    };
    let TakenCheckpoint { store, row, captured } = context.engine().checkpoint(session, mark)?;
    warn_of_unsteady(context, &captured.record);
    tell_notes(context, Some(&captured));
    by_the_rules(context, &store, &row.id);
    behind(context, &store);
    let record = &captured.record;
    let shown = record.name.as_deref().unwrap_or(record.id.as_str());
    Ok(format!("checkpoint {} taken", sanitize::name(shown.as_bytes())))
}

/// Returns a path that was typed on the screen, where no shell expands `~`.
fn typed(context: &Context<'_>, text: &str) -> PathBuf {
    let home = context.environment.home.as_deref();
    match (text.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        (None, Some(home)) if text == "~" => home.to_path_buf(),
        _ => PathBuf::from(text),
    }
}

fn fork(
    context: &Context<'_>,
    session: &str,
    snapshot: Option<&str>,
    directory: &str,
) -> Result<String, CliError> {
    let forked = context.engine().fork(&ForkRequest {
        from: snapshot,
        directory: Some(&*typed(context, directory)).filter(|_| !directory.is_empty()),
        ..ForkRequest::of(session)
    })?;
    print_changed_meanwhile(context, &forked.target);
    print_problems(context, &forked.written, false);
    print_sockets(context, &forked.written.sockets);
    let encrypted = forked.encrypted.len() as u64;
    let fork = ForkDocument::of(forked, None);
    let mut text = view::forks::made(&fork);
    if !fork.is_whole {
        text.push_str("\nThe snapshot and so the fork are incomplete.");
    }
    if encrypted > 0 {
        let files = size::counted(encrypted, "file is", "files are");
        text.push_str(&format!(
            "\n{files} encrypted, and not written: `fork --identity FILE` writes all."
        ));
    }
    if !fork.failed.is_empty() {
        let count = size::counted(fork.failed.len() as u64, "path differs", "paths differ");
        text.push_str(&format!("\n{count} from the snapshot; each is listed above."));
    }
    for outside in &fork.outside_git {
        text.push_str(&format!("\nWarning: {}.", outside.line()));
    }
    Ok(text)
}

fn export(
    context: &Context<'_>,
    session: &str,
    snapshot: Option<&str>,
    file: &str,
) -> Result<String, CliError> {
    let engine = context.engine();
    let subject = engine.export_subject(session, snapshot)?;
    let NamedFile { path, shown } = NamedFile::settle(context, &typed(context, file))?;
    let done = engine.export(subject, &path)?;
    let mut text = format!(
        "{shown}\n{}, {}\nBLAKE3 {}",
        size::bytes(done.exported.size),
        size::counted(done.record.entries(), "entry", "entries"),
        done.exported.digest
    );
    if !done.record.complete {
        text.push_str("\nThe snapshot and so the file are incomplete.");
    }
    Ok(text)
}

/// Returns what forgetting a session would delete.
pub(super) fn plan_forget(context: &Context<'_>, session: String) -> Result<Answer, CliError> {
    let store = context.engine().store_for_care(true)?;
    let store = store.ok_or_else(|| no_store(&session))?;
    let (_, document) = planned(context, &store, &session, true)?;
    let text = text(context, &document, context.now());
    Ok(Answer::Forget(session, text))
}

/// Forgets a session if the plan is still the one that was shown; otherwise returns the new one.
fn forget(
    context: &Context<'_>,
    session: &str,
    agreed: &ForgetText,
) -> Result<Result<String, ForgetText>, CliError> {
    let engine = context.engine();
    let store = engine.store_for_care(false)?.ok_or_else(|| no_store(session))?;
    let (planned, document) = planned(context, &store, session, false)?;
    if text(context, &document, agreed.at) != *agreed {
        return Ok(Err(text(context, &document, context.now())));
    }
    if document.outcome != ForgetOutcome::Planned {
        let error = CliError::new(ErrorKind::Failed, format!("{session} has nothing to forget"));
        return Err(error);
    }
    let done = engine.forget(&store, &planned.proposal)?;
    for stays in &done.swept.natives {
        context.terminal.warn(&sanitize::text(stays));
    }
    let mut lines = vec![format!(
        "Done: {} freed; receipt {}.",
        size::bytes(done.freed),
        done.receipt
    )];
    lines.extend(view::forget::elsewhere(&document));
    lines.extend(
        document
            .replica
            .as_ref()
            .map(|place| format!("the copy in {} still has it", sanitize::text(place))),
    );
    Ok(Ok(lines.join("\n")))
}

fn planned(
    context: &Context<'_>,
    store: &Store,
    session: &str,
    dry_run: bool,
) -> Result<(PlannedForget, ForgetDocument), CliError> {
    let engine = context.engine();
    let request = ForgetRequest {
        session: Some(session),
        paths: &[],
        older_than: None,
        any: false,
        copies: false,
    };
    let planned = engine.plan_forget(store, &request, dry_run)?;
    let mut document = ForgetDocument::of(&planned);
    document.replica = engine.replication().map(|copy| copy.place.value.to_string());
    Ok((planned, document))
}

/// Returns the plan in the words of that time.
fn text(context: &Context<'_>, document: &ForgetDocument, at: Time) -> ForgetText {
    let form = view::forget::Form {
        is_by_age: false,
        now: at,
        columns: super::WIDEST,
        listed: Listed::All,
        home: context.environment.home.as_deref(),
    };
    let text = view::forget::plan(document, &form);
    ForgetText { text, at }
}
