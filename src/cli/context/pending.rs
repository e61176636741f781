//! Handling of interrupted restores in every command: clean up, refuse, or report them.

use super::Context;
use crate::model::{Decision, Intent};
use crate::report::unsettled;
use crate::restore::Cleared;
use crate::store::{InstanceRow, RestoreStage, Store};
use crate::terminal::{sanitize, size};
use handle_fs::Locations;

/// Warns about files that remain in staging directories.
pub(in crate::cli) fn tell_left(context: &Context<'_>, left: &[String]) {
    for left in left {
        context.terminal.warn(&sanitize::text(left));
    }
}

/// Describes how an interrupted restore was cleaned up.
pub(in crate::cli) fn what_was_cleared(done: &Cleared) -> String {
    let id = &done.intent.instance;
    let files = match done.left.is_empty() {
        true => "its staging files are removed",
        false => "some of its staging files stay",
    };
    match done.decision {
        Some(Decision::Commit) if done.is_recorded_now => {
            format!("An interrupted restore of {id} was already complete; its receipt is written now.")
        }
        Some(Decision::Commit) => {
            format!("A restore of {id} was already complete and recorded; only cleanup was left.")
        }
        Some(Decision::Abort) => {
            format!("An interrupted restore of {id} was already rolled back; {files}.")
        }
        Some(Decision::Left) => format!("An interrupted restore of {id} was discarded."),
        None => format!("An interrupted restore of {id} had changed nothing; {files}."),
    }
}

/// Says which interrupted restores wait; what is read meanwhile may be old in one place and new in another.
pub(in crate::cli) fn warn_of_pending(context: &Context<'_>, store: &Store) {
    warn_of(context, store, |_| true);
}

/// Says which interrupted restores of the session's files wait. Returns true if there are any.
pub(in crate::cli) fn warn_of_torn(context: &Context<'_>, store: &Store, row: &InstanceRow) -> bool {
    let locations = Locations::default();
    warn_of(context, store, |intent| {
        let mut torn = intent.mounts.iter().map(|mount| &mount.coverage);
        torn.any(|torn| {
            row.mounts
                .iter()
                .any(|own| own.meeting(torn, &locations).is_some())
        })
    })
}

fn warn_of(context: &Context<'_>, store: &Store, is_meant: impl Fn(&Intent) -> bool) -> bool {
    let mut found = match unsettled(store) {
        Ok(found) => found,
        Err(error) => {
            context.terminal.warn(&error.to_string());
            return false;
        }
    };
    found.retain(|found| is_meant(&found.intent));
    let has_any = !found.is_empty();
    for found in found {
        let intent = &found.intent;
        let id = &intent.instance;
        let when = size::age(intent.at, context.now());
        if found.stage != RestoreStage::Moving {
            context.terminal.warn(&format!(
                "a restore of {id} was done {when}, but is not recorded: its process ended before that"
            ));
            context.propose("to record it", &format!("resume {id}"));
            continue;
        }
        context.terminal.warn(&format!(
            "a restore of {id} was interrupted {when}: some paths may be old and some new until it is finished or aborted"
        ));
        context.propose("to finish it", &format!("resume {id}"));
        context.propose("to roll it back", &format!("abort {id}"));
    }
    has_any
}
