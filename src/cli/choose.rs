//! Lists on the terminal, to choose an argument that is missing.

use std::ffi::OsString;

use super::Invocation;
use super::args::{Lack, ParseOutcome, with_chosen};
use super::context::Context;
use super::view;
use crate::agents::{Agent, Presence, present};
use crate::environment::Environment;
use crate::process::{INSTANCE_VARIABLE, Interrupts};
use crate::recovery::Wanted;
use crate::report::{InstanceDocument, Status, sessions};
use crate::terminal::{Terminal, sanitize};

/// Columns that a list of choices needs beside its lines.
pub(super) const MARGIN: usize = 4;

/// Returns the arguments with the agent that the operator chose; `None` if they do not lack it, or nothing was chosen.
///
/// Nothing is asked without a terminal, with `--json` or `--yes`, or inside a session.
pub(super) fn completed(
    args: &[OsString],
    understood: &Result<Invocation, ParseOutcome>,
    environment: &Environment,
    terminal: &Terminal,
) -> Option<Vec<OsString>> {
    let Err(ParseOutcome::Wrong {
        lacks: Some(lack @ Lack::Agent),
        ..
    }) = understood
    else {
        return None;
    };
    let own = || args.iter().take_while(|arg| *arg != "--");
    if !terminal.can_choose()
        || own().any(|arg| arg == "--json" || arg == "--yes")
        || environment.get(INSTANCE_VARIABLE).is_some()
    {
        return None;
    }
    let (items, words) = agents(environment)?;
    // Without these a signal would end the process while the terminal is changed.
    let caught = Interrupts::install().ok()?;
    let chosen = terminal.choose("Agent", &items, 0, &caught);
    caught.release();
    Some(with_chosen(args, *lack, words.get(chosen?)?))
}

/// Returns a line for each agent on this machine, and its word; `None` if there is no agent.
fn agents(environment: &Environment) -> Option<(Vec<String>, Vec<String>)> {
    let found = present(environment);
    if found.is_empty() {
        return None;
    }
    let item = |(agent, presence): &(Agent, Presence)| {
        let (Presence::Program(path) | Presence::Settings(path)) = presence;
        format!("{:<10}{}", agent.word(), sanitize::path(path))
    };
    let words = found.iter().map(|(agent, _)| agent.to_string());
    Some((found.iter().map(item).collect(), words.collect()))
}

/// Answer of an operator who may choose a session from a list.
pub(super) enum Chosen {
    /// The id of the session.
    Session(String),
    /// The operator left the list.
    Cancelled,
    /// There is no terminal to ask on, or nothing to choose from, or the caller runs in a session.
    NotAsked,
}

/// Lets the operator choose a session from a list.
pub(super) fn chosen_session(context: &Context<'_>, wanted: Wanted) -> Chosen {
    let is_inside = context.environment.get(INSTANCE_VARIABLE).is_some();
    if is_inside || !context.terminal.can_choose() {
        return Chosen::NotAsked;
    }
    let Some((ids, lines)) = sessions_to_choose(context, wanted).filter(|(ids, _)| !ids.is_empty()) else {
        return Chosen::NotAsked;
    };
    let chosen = context.terminal.find("Session", &lines, &context.interrupts);
    match chosen.and_then(|at| ids.into_iter().nth(at)) {
        Some(id) => Chosen::Session(id),
        None => Chosen::Cancelled,
    }
}

/// Returns the ids of the sessions to choose from, and a line for each.
fn sessions_to_choose(context: &Context<'_>, wanted: Wanted) -> Option<(Vec<String>, Vec<String>)> {
    let terminal = context.terminal;
    // The command itself reports a store that cannot be read.
    let store = context.engine().store_for_reading().ok()??;
    let forks = store.catalog().forks().ok()?;
    let mut restored = store.catalog().last_restores().ok()?;
    let forgotten = store.catalog().forgotten().ok()?;
    restored.retain(|id, _| !forgotten.contains_key(id));
    let all = sessions(&store, &forks, false).ok()?;
    let is_meant = |session: &&InstanceDocument| match wanted {
        Wanted::Any => session.tally.snapshots > 0,
        Wanted::Active => session.status == Status::Active,
        Wanted::Restored => restored.keys().any(|id| id.as_str() == session.id),
    };
    let shown: Vec<&InstanceDocument> = all.iter().filter(is_meant).collect();
    let columns = terminal.width_err().saturating_sub(MARGIN);
    let home = context.environment.home.as_deref();
    let lines = view::instances::choices(&shown, context.now(), columns, home);
    Some((shown.iter().map(|session| session.id.clone()).collect(), lines))
}
