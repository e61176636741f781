//! `rebuild`: the catalog anew from records and receipts.

use serde::Serialize;

use crate::cli::args::RebuildArgs;
use crate::cli::context::Context;
use crate::cli::document::SCHEMA;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::session::refuse_inside;
use crate::terminal::size;

#[derive(Serialize)]
struct Document {
    schema: u32,
    instances: u64,
    unreadable: Vec<String>,
}

pub(super) fn run(context: &Context<'_>, args: &RebuildArgs) -> Result<Status, CliError> {
    let store = context.store_for_writing()?;
    refuse_inside(&store, context.environment, None)?;
    let unread = store.rebuild()?;
    let instances = store.catalog().instances()?.len() as u64;
    if args.json {
        let unreadable = unread.iter().map(ToString::to_string).collect();
        context.terminal.json(&Document {
            schema: SCHEMA,
            instances,
            unreadable,
        });
    } else {
        for error in &unread {
            context.terminal.warn(&error.to_string());
        }
        let sessions = size::counted(instances, "session", "sessions");
        context
            .terminal
            .out(&format!("the catalog was made anew: {sessions}"));
    }
    Ok(if unread.is_empty() {
        ExitCode::Done
    } else {
        ExitCode::Integrity
    }
    .into())
}
