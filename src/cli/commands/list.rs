//! `list`: instances and their snapshots, newest first.

use std::collections::BTreeSet;

use super::pending::waiting_instances;
use crate::cli::args::ListArgs;
use crate::cli::context::Context;
use crate::cli::document::{InstanceDocument, ListDocument};
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::session::{Sight, state_by};

pub(super) fn run(context: &Context<'_>, args: &ListArgs) -> Result<Status, CliError> {
    let (mut rows, mut waiting) = (Vec::new(), BTreeSet::new());
    if let Some(store) = context.store_for_reading()? {
        waiting = waiting_instances(&store);
        let sight = Sight::now();
        for row in store.catalog().instances()? {
            let snapshots = store.catalog().snapshots(&row.id)?;
            let state = state_by(&sight, &store, &row);
            rows.push((row, state, snapshots));
        }
    }
    if args.json {
        let documents = rows.iter().map(|(row, state, snapshots)| {
            InstanceDocument::new(row, state, snapshots, waiting.contains(&row.id))
        });
        context.terminal.json(&ListDocument::new(documents.collect()));
    } else if rows.is_empty() {
        context.terminal.note("no sessions were recorded yet");
        context.propose("begin with", "launch --snapshot project DIR -- COMMAND");
    } else {
        let width = context.terminal.width_out();
        context
            .terminal
            .out(&view::instances::list(&rows, context.now(), width));
        if let Some((latest, ..)) = rows.first() {
            context.propose("one in full", &format!("show {}", latest.id));
        }
    }
    Ok(ExitCode::Done.into())
}
