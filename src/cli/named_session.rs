//! The session that a command names: found, closed when it is dead, or refused with the reason.

use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::config::Mode;
use crate::process::INSTANCE_VARIABLE;
use crate::session::{SessionError, State, close_orphaned_sessions, find_called, find_instance, state};
use crate::store::{InstanceRow, Store};

/// Returns the named session, or the one this process runs in.
pub(super) fn own_or(context: &Context<'_>, named: Option<&str>) -> Result<String, CliError> {
    let own = || context.environment.get(INSTANCE_VARIABLE);
    let wanted = named.map(str::to_owned);
    let wanted = wanted.or_else(|| own().map(|id| id.to_string_lossy().into_owned()));
    wanted.ok_or_else(|| {
        CliError::new(
            ErrorKind::Usage,
            "which session is meant? Inside a session it is known; here name it",
        )
        .command("the sessions", "list")
    })
}

/// Opens the store and closes the instance when it is found dead.
pub(super) fn open(context: &Context<'_>, instance: &str) -> Result<(Store, InstanceRow), CliError> {
    let reading = context.store_for_reading()?.ok_or_else(|| no_store(instance))?;
    let row = find_called(&reading, context.environment, instance)?;
    settled(context, reading, row)
}

/// The instance as it is once it was closed, when it is found dead.
pub(super) fn settled(
    context: &Context<'_>,
    reading: Store,
    row: InstanceRow,
) -> Result<(Store, InstanceRow), CliError> {
    if row.ended_at.is_some() || state(&reading, &row) != State::Lost {
        return Ok((reading, row));
    }
    drop(reading);
    let store = context.store_for_writing()?;
    settle_and_say(context, &store, &row)?;
    let row = find_instance(&store, row.id.as_str())?;
    Ok((store, row))
}

/// There is no store at all.
pub(super) fn no_store(instance: &str) -> CliError {
    SessionError::Unknown {
        wanted: instance.to_owned(),
        nearest: Vec::new(),
        some_recorded: false,
    }
    .into()
}

/// Takes the late closing snapshot of a dead instance, and says so.
pub(super) fn settle_and_say(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
) -> Result<(), CliError> {
    if let Some(closed) = close_orphaned_sessions(store, context.world(), row)? {
        context.terminal.warn(&format!(
            "{} ended without a closing snapshot; a late one was taken now, and changes before and after the end cannot be distinguished",
            row.id
        ));
        if let Some(error) = closed.error {
            context
                .terminal
                .warn(&format!("the late closing snapshot failed: {error}"));
        }
    }
    Ok(())
}

/// A mode without files explains itself better than a missing snapshot.
pub(super) fn nothing(row: &InstanceRow, error: SessionError) -> CliError {
    if row.is_imported() || Mode::parse(&row.mode).is_some_and(Mode::captures) {
        return error.into();
    }
    CliError::new(
        ErrorKind::NothingToRestore,
        format!(
            "nothing to restore from: {} has no files, its mode was {}",
            row.id, row.mode
        ),
    )
    .command(
        "have the files recorded next time",
        "launch --snapshot project DIR -- COMMAND",
    )
    .command("sessions that have snapshots", "list")
}

/// Fails for an imported session, whose paths belong to another machine.
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
