//! `rebuild`: the catalog anew from records and receipts.

use crate::cli::args::RebuildArgs;
use crate::cli::context::Context;
use crate::cli::document::{Head, RebuildDocument};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::session::{Allowed, refuse_inside};
use crate::store::{Store, StoreError};
use crate::terminal::size;

pub(super) fn run(context: &Context<'_>, args: &RebuildArgs) -> Result<Status, CliError> {
    // Where there is no store none is made.
    if Store::open_read(context.layout()?)?.is_none() {
        tell(context, args, 0, &[]);
        return Ok(ExitCode::Done.into());
    }
    let store = context.store_for_writing()?;
    refuse_inside(&store, context.environment, Allowed::Nothing)?;
    let unread = store.rebuild()?;
    tell(context, args, store.catalog().instances()?.len() as u64, &unread);
    Ok(if unread.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::Integrity
    }
    .into())
}

fn tell(context: &Context<'_>, args: &RebuildArgs, instances: u64, unread: &[StoreError]) {
    if args.json {
        let unreadable = unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&RebuildDocument {
            head: Head::default(),
            instances,
            unreadable,
        });
        return;
    }
    for error in unread {
        context.terminal.warn(&error.to_string());
    }
    let sessions = size::counted(instances, "session", "sessions");
    context
        .terminal
        .out(&format!("the catalog was made anew: {sessions}"));
}
