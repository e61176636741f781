//! What every command does about restores that were interrupted: clears up after them, refuses, or says that they wait.

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::restore::{Cleared, RestoreError, pending};
use crate::session::{SessionError, make_way, roots};
use crate::snapshot::Decision;
use crate::store::{InstanceRow, PendingRestore, RestoreStage, Store};
use crate::terminal::{sanitize, size};

/// Says what stays in staging directories.
pub(super) fn tell_left(context: &Context<'_>, left: &[String]) {
    for left in left {
        context.terminal.warn(&sanitize::text(left));
    }
}

/// What became of a restore that was cleared up.
pub(super) fn what_was_cleared(done: &Cleared) -> String {
    let id = &done.intent.instance;
    match done.decision {
        Some(Decision::Commit) => {
            format!("An interrupted restore of {id} was done already; it is cleared up and has its receipt.")
        }
        Some(Decision::Abort) => {
            format!("An interrupted restore of {id} was taken back already; it is cleared up.")
        }
        Some(Decision::Left) => format!("An interrupted restore of {id} was left as it was."),
        None => format!(
            "An interrupted restore of {id} had not changed anything yet; what it had staged is removed."
        ),
    }
}

/// Makes way for a command that changes what `row` covers, and says what that meant.
pub(super) fn make_way_and_say(
    context: &Context<'_>,
    store: &Store,
    row: &InstanceRow,
) -> Result<(), CliError> {
    for done in make_way(store, context.world(), &roots(&row.mounts))? {
        tell_left(context, &done.left);
        context.terminal.note(&what_was_cleared(&done));
    }
    Ok(())
}

/// For a plan that changes nothing: refuses when a restore waits.
pub(super) fn refuse_torn(store: &Store, row: &InstanceRow) -> Result<(), CliError> {
    let found = pending(store, &roots(&row.mounts))?;
    match found
        .into_iter()
        .find(|found| found.stage == RestoreStage::Moving)
    {
        Some(found) => Err(SessionError::Restore(RestoreError::Pending(Box::new(found.intent))).into()),
        None => Ok(()),
    }
}

/// Whether a restore of the instance waits for `resume` or `abort`. Papers that cannot be read are told of elsewhere.
pub(super) fn restore_waits(store: &Store, row: &InstanceRow) -> bool {
    let found = store.pending_restores().unwrap_or_default();
    let waits = |found: &PendingRestore| found.stage == RestoreStage::Moving && !found.alive;
    found
        .iter()
        .any(|found| waits(found) && found.intent.instance == row.id)
}

/// Says which interrupted restores wait; what is read meanwhile may be old in one place and new in another.
pub(in crate::cli) fn warn_of_pending(context: &Context<'_>, store: &Store) {
    let found = match store.pending_restores() {
        Ok(found) => found,
        Err(error) => return context.terminal.warn(&error.to_string()),
    };
    let waits = |found: &PendingRestore| found.stage == RestoreStage::Moving && !found.alive;
    for found in found.into_iter().filter(waits) {
        let intent = &found.intent;
        let id = &intent.instance;
        let when = size::age(intent.at, context.now());
        context.terminal.warn(&format!(
            "a restore of {id} was interrupted {when}: some paths may be old and some new until it is finished or taken back"
        ));
        context.propose("finish it", &format!("resume {id}"));
        context.propose("take it back", &format!("abort {id}"));
    }
}
