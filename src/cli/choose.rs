//! Lists on the terminal, to choose an argument that is missing.

use std::ffi::OsString;
use std::sync::Arc;

use super::Invocation;
use super::args::{Lack, ParseOutcome, with_chosen};
use super::called_as::CalledAs;
use super::commands::Verb;
use super::context::Context;
use super::error::CliError;
use crate::agents::Agent;
use crate::environment::Environment;
use crate::process::{INSTANCE_VARIABLE, Interrupts};
use crate::store::Store;
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{Terminal, sanitize, size};

/// Returns the arguments with the session or the agent that the operator chose; `None` if they lack neither, or nothing was chosen.
///
/// Nothing is asked without a terminal, with `--json` or `--yes`, or inside a session.
pub(super) fn completed(
    args: &[OsString],
    understood: &Result<Invocation, ParseOutcome>,
    environment: &Environment,
    terminal: &Terminal,
) -> Option<Vec<OsString>> {
    let lack = match understood {
        Err(ParseOutcome::Wrong { lacks, .. }) => (*lacks)?,
        Ok(Invocation {
            verb: Verb::Diff(args),
            ..
        }) if args.instance.is_none() => Lack::Session,
        _ => return None,
    };
    let own = || args.iter().take_while(|arg| *arg != "--");
    if !terminal.can_choose()
        || own().any(|arg| arg == "--json" || arg == "--yes")
        || environment.get(INSTANCE_VARIABLE).is_some()
    {
        return None;
    }
    let (question, items, words) = match lack {
        Lack::Agent => {
            let words: Vec<String> = Agent::ALL.iter().map(ToString::to_string).collect();
            ("Agent", words.clone(), words)
        }
        Lack::Session => {
            let called_as = CalledAs::of(args.first().map(OsString::as_os_str));
            let context = Context::of_a_call(environment, terminal, called_as, Arc::default());
            // The command itself reports a store that cannot be read.
            let (items, words) = sessions(&context).ok()?;
            ("Session", items, words)
        }
    };
    // Without these a signal would end the process while the terminal is changed.
    let caught = Interrupts::install().ok()?;
    let chosen = terminal.choose(question, &items, 0, &caught);
    caught.release();
    Some(with_chosen(args, lack, words.get(chosen?)?))
}

/// Returns a line for each session that has snapshots, and its id; newest first.
fn sessions(context: &Context<'_>) -> Result<(Vec<String>, Vec<String>), CliError> {
    let mut table = Table::new([Column::new(""), Column::new(""), Column::new("").fit(Fit::Cut)]);
    let mut ids = Vec::new();
    if let Some(store) = Store::open_read(&context.layout()?)? {
        let tallies = store.catalog().tallies()?;
        for row in store.catalog().instances()? {
            if tallies.get(&row.id).is_none_or(|tally| tally.snapshots == 0) {
                continue;
            }
            let root = row
                .mounts
                .first()
                .map(|mount| sanitize::path(&mount.root.to_path()));
            table.row([
                row.id.to_string().into(),
                size::age(row.started_at, context.now()).into(),
                root.unwrap_or_default().into(),
            ]);
            ids.push(row.id.to_string());
        }
    }
    let lines = table.render(context.terminal.width_err().saturating_sub(4));
    Ok((lines.lines().map(str::to_owned).collect(), ids))
}
