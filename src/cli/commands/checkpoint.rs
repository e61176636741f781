//! `checkpoint`: a named snapshot inside a running session.

use crate::capture::Captured;
use crate::cli::args::CheckpointArgs;
use crate::cli::context::Context;
use crate::cli::document::{CheckpointDocument, Head};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_session::{no_store, own_or};
use crate::cli::replication::behind;
use crate::cli::repositories::warn_of_unsteady;
use crate::cli::retain::by_the_rules;
use crate::cli::session_begin::tell_notes;
use crate::model::{InstanceId, SnapshotRecord};
use crate::session::{
    Allowed, CheckpointRequest, check_name, checkpoint, ensure_outside_session, find_called, is_active,
};
use crate::store::{InstanceRow, Store};

pub(super) fn run(context: &Context<'_>, args: &CheckpointArgs) -> Result<Status, CliError> {
    let wanted = own_or(context, args.instance.as_deref())?;
    if let Some(name) = &args.name {
        check_name(name)?;
    }
    let (store, row) = living(context, &wanted, |id| {
        (
            "its files as they were at the end are a snapshot already",
            format!("show {id}"),
        )
    })?;
    let mark = CheckpointRequest {
        name: args.name.as_deref(),
        message: args.message.as_deref(),
        call: None,
    };
    let captured = take(context, &store, &row, mark)?;
    let record = captured.record;
    // The process ends now; to give a million names back one by one would take longer than what is left to do.
    std::mem::forget(captured.manifests);
    if args.json {
        context.terminal.json(&document(&record));
    } else {
        context
            .terminal
            .out(record.name.as_deref().unwrap_or(record.id.as_str()));
    }
    by_the_rules(context, &store, &row.id);
    behind(context, &store);
    Ok(ExitCode::Done.into())
}

/// Takes a checkpoint of a living session, and says when git worked in it meanwhile.
pub(in crate::cli) fn take(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
    mark: CheckpointRequest<'_>,
) -> Result<Captured, CliError> {
    let captured = checkpoint(store, context.world(), row, mark)?;
    warn_of_unsteady(context, &captured.record);
    tell_notes(context, Some(&captured));
    Ok(captured)
}

/// The document of a checkpoint.
pub(in crate::cli) fn document(record: &SnapshotRecord) -> CheckpointDocument {
    CheckpointDocument {
        head: Head::default(),
        instance: record.instance.to_string(),
        snapshot: record.id.to_string(),
        name: record.name.clone(),
        complete: record.complete,
        entries: record.entries(),
        bytes: record.bytes(),
    }
}

/// A session in which moments can be marked: it lives, and files of it are kept. `instead` is what else can be done when it lives no more.
pub(in crate::cli) fn living(
    context: &Context<'_>,
    wanted: &str,
    instead: impl FnOnce(&InstanceId) -> (&'static str, String),
) -> Result<(Store, InstanceRow), CliError> {
    // A mistyped id makes no store where there was none.
    if !context.has_store()? {
        return Err(no_store(wanted));
    }
    let store = context.store_for_writing()?;
    let row = find_called(&store, context.environment, wanted)?;
    ensure_outside_session(&store, context.environment, Allowed::Checkpoint(&row.id))?;
    if !is_active(&store, &row) {
        let message = format!(
            "{} is not active; a checkpoint shows a moment within a session",
            row.id
        );
        let (what, command) = instead(&row.id);
        return Err(CliError::new(ErrorKind::Failed, message).command(what, command));
    }
    if row.mounts.is_empty() {
        let message = format!(
            "{} records no files (mode {}), so there is nothing to keep",
            row.id, row.mode
        );
        return Err(CliError::new(ErrorKind::NothingToRestore, message));
    }
    Ok((store, row))
}
