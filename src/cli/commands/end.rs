//! `end`: the last moment of a session that `begin` began.

use crate::cli::args::EndArgs;
use crate::cli::context::Context;
use crate::cli::document::{EndDocument, Head};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::named_session::no_store;
use crate::cli::replication::at_the_end;
use crate::cli::repositories::warn_of_unsteady;
use crate::cli::retain::by_the_rules;
use crate::cli::session_begin::tell_notes;
use crate::cli::session_changes;
use crate::cli::session_end::{end_held, survivors};
use crate::model::Ending;
use crate::session::{Allowed, EndRequest, ensure_outside_session, find_called};

pub(super) fn run(context: &Context<'_>, args: &EndArgs) -> Result<Status, CliError> {
    // A mistyped id makes no store where there was none.
    let reading = context
        .store_for_reading()?
        .ok_or_else(|| no_store(&args.instance))?;
    find_called(&reading, context.environment, &args.instance)?;
    drop(reading);
    let store = context.store_for_writing()?;
    let row = find_called(&store, context.environment, &args.instance)?;
    ensure_outside_session(&store, context.environment, Allowed::End(&row.id))?;
    if row.ended_at.is_none() && store.instance_locked(&row.id)? {
        let message = format!("{} was started by launch, which ends it itself", row.id);
        return Err(CliError::new(ErrorKind::RefusedActive, message).hint("stop its command instead"));
    }
    let survivors = survivors(&row);
    let request = EndRequest {
        row: &row,
        ending: Ending::Ended,
        survivors,
    };
    let closed = end_held(context, &store, request)?;
    if let Some(error) = closed.error {
        let inner = CliError::from(error);
        let message = format!(
            "{} has ended, but its closing snapshot failed: {}",
            row.id, inner.message
        );
        return Err(CliError { message, ..inner });
    }
    if let Some(closing) = &closed.closing {
        warn_of_unsteady(context, &closing.record);
        tell_notes(context, Some(closing));
    }
    let changed = session_changes::of_session(&store, &row, closed.closing.as_ref())?;
    if args.json {
        let record = closed.closing.as_ref().map(|captured| &captured.record);
        context.terminal.json(&EndDocument {
            head: Head::default(),
            instance: row.id.to_string(),
            closing: record.map(|record| record.id.to_string()),
            complete: record.map(|record| record.complete),
            changes: changed.documents(),
        });
    } else {
        context
            .terminal
            .out(&changed.screen(context, &row.id, context.terminal.width_out()));
    }
    by_the_rules(context, &store, &row.id);
    at_the_end(context, &store);
    Ok(ExitCode::Done.into())
}
