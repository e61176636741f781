//! `end`: the last moment of a session that `begin` began.

use super::begin::tell_notes;
use super::changes;
use super::named_session::no_store;
use super::replicate::at_the_end;
use super::repositories::warn_of_unsteady;
use super::retain::by_the_rules;
use super::steadfast::Steadfast;
use crate::cli::args::EndArgs;
use crate::cli::context::Context;
use crate::cli::document::{EndDocument, Head};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::model::{Ending, ProcessRef};
use crate::process;
use crate::session::{
    Allowed, Closed, EndRequest, Services, SessionError, end, ensure_outside_session, find_called,
};
use crate::store::Store;

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
    let changed = changes::of_session(&store, &row, closed.closing.as_ref())?;
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

/// Ends a session; no signal cancels its closing snapshot. A launcher calls this when its terminal goes away, and then this
/// process is told to go as well.
pub(super) fn end_held(
    context: &Context<'_>,
    store: &Store,
    request: EndRequest<'_>,
) -> Result<Closed, SessionError> {
    let _held = context.interrupts.hold_back();
    let world = context.world();
    let noted = context.interrupts.noted();
    let steadfast = Steadfast::new(Some(world.observer), context.terminal, noted);
    let world = Services {
        observer: &steadfast,
        ..world
    };
    end(store, world, request)
}

/// The instance's processes that still live: it stays active while they do.
pub(super) fn survivors(row: &crate::store::InstanceRow) -> Vec<ProcessRef> {
    let known: Vec<ProcessRef> = row.keeper.iter().cloned().collect();
    let members = process::members(&row.id, &known)
        .map(|probe| probe.members)
        .unwrap_or_default();
    // The keeper itself may go on: an agent's shell that calls `end` is no work of the session any more.
    let keeper = row.keeper.as_ref().map(|keeper| keeper.pid);
    members
        .iter()
        .filter(|member| member.why == process::Why::Environment && Some(member.pid) != keeper)
        .filter_map(|member| process::reference(member.pid))
        .collect()
}
