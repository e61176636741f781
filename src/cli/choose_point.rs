//! The list of a session's prompts and tool calls, for `restore --before` without a text.

use super::choose::MARGIN;
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::named_session::no_store;
use super::view;
use crate::process::INSTANCE_VARIABLE;
use crate::report::{RestorePoint, SessionReport};

/// Number of prompts and calls that an error lists.
const LISTED: usize = 5;

/// Returns the id of the snapshot right before the prompt or tool call that the operator chooses. Nothing is asked without a terminal,
/// inside a session, or if `is_silent`: the error lists the newest ones.
pub(super) fn chosen_snapshot_before(
    context: &Context<'_>,
    session: &str,
    is_silent: bool,
) -> Result<String, CliError> {
    let store = context.store_for_reading()?.ok_or_else(|| no_store(session))?;
    let (row, _) = context.engine().session_or_fork(&store, session)?;
    let points = SessionReport::of(&store, &row, None)?.restore_points();
    let with_snapshot: Vec<(&RestorePoint, &String)> = points
        .iter()
        .filter_map(|point| Some((point, point.snapshot.as_ref()?)))
        .collect();
    if with_snapshot.is_empty() {
        let message = format!("no prompt or tool call of {} has a snapshot before it", row.id);
        return Err(CliError::new(ErrorKind::UnknownSnapshot, message)
            .hint("hooks of an agent report prompts and calls: see `hook install`")
            .command("to list its snapshots", format!("show {}", row.id)));
    }
    let terminal = context.terminal;
    let is_inside = context.environment.get(INSTANCE_VARIABLE).is_some();
    if is_silent || is_inside || !terminal.can_choose() {
        let error = CliError::new(ErrorKind::Usage, "--before needs a part of a prompt or tool call");
        return Err(with_snapshot
            .iter()
            .take(LISTED)
            .fold(error, |error, (point, id)| {
                let words = view::restore_points::words(point);
                error.command(
                    format!("before {words}"),
                    format!("restore {} --from {id}", row.id),
                )
            }));
    }
    let shown: Vec<&RestorePoint> = with_snapshot.iter().map(|(point, _)| *point).collect();
    let columns = terminal.width_err().saturating_sub(MARGIN);
    let lines = view::restore_points::choices(&shown, context.now(), columns);
    let chosen = terminal.find("Restore the files from before", &lines, &context.interrupts);
    let chosen = chosen.and_then(|at| with_snapshot.get(at));
    chosen
        .map(|(_, id)| (*id).clone())
        .ok_or_else(CliError::cancelled)
}
