//! Messages about file-system snapshots that a capture left when it died.

use super::Context;
use crate::capture::CaptureError;
use crate::cli::error::CliError;
use crate::model::FsSnapshotIntent;
use crate::session::{DeferredBaseline, ThawedEnd, is_awaited};
use crate::store::{NativeState, Store, StoreError};
use crate::terminal::sanitize;

/// Reports a baseline that a dead process left.
pub(in crate::cli) fn tell(context: &Context<'_>, done: DeferredBaseline) {
    let terminal = context.terminal;
    let whose = done
        .instance
        .map_or_else(|| done.id.to_string(), |instance| instance.to_string());
    match done.end {
        ThawedEnd::Stored => terminal.note(&format!(
            "The baseline of {whose} was not stored yet, and is stored now from what was frozen for it: {}.",
            done.id
        )),
        ThawedEnd::NotYet => terminal.note(&format!(
            "The baseline of {whose} is not stored yet: its cluster still copies what was frozen for it. A later command that writes to the \
             store stores it."
        )),
        ThawedEnd::Removed => terminal.detail(&format!(
            "what was frozen for a snapshot of {whose} that was never taken is removed"
        )),
        ThawedEnd::NotStored(error) => {
            let way = is_lack_of_room(&error).then(|| way_to_store(&error));
            let told = CliError::from(error);
            terminal.warn(&format!(
                "the baseline of {whose} cannot be stored ({}); what was frozen for it is kept",
                sanitize::text(&told.message)
            ));
            if let Some(way) = way {
                terminal.note(&format!("hint: {way}"));
                context.propose("give it up", "prune");
            }
        }
        ThawedEnd::Stays(error) => {
            terminal.warn(&format!(
                "what was frozen for a snapshot of {whose} cannot be taken up: {}",
                sanitize::text(&error.to_string())
            ));
            if matches!(error, StoreError::Native { .. }) {
                context.propose("if what it lies in is gone for good", &format!("prune --forget {}", done.id));
            }
        }
    }
}

/// Returns true if a baseline is too large to be stored, the only reason to delete it.
pub(in crate::cli) fn is_lack_of_room(error: &CaptureError) -> bool {
    matches!(error, CaptureError::Limit { .. } | CaptureError::Room { .. })
}

/// Returns the hint on how to store a baseline that failed. Its excludes are agreed and can no longer change.
pub(in crate::cli) fn way_to_store(error: &CaptureError) -> &'static str {
    match error {
        CaptureError::Limit { entries: true, .. } => {
            "raise max_entries in [recovery.limits], and the next command that writes to the store stores it"
        }
        CaptureError::Limit { .. } => {
            "raise max_bytes in [recovery.limits], and the next command that writes to the store stores it"
        }
        _ => "make room where the store lies, and the next command that writes to the store stores it",
    }
}

/// Says which baselines are not stored yet: whoever reads must not take them for lost.
pub(in crate::cli) fn warn_of_frozen(context: &Context<'_>, store: &Store) {
    // What cannot be read is told by who takes it up.
    for state in store.natives().unwrap_or_default() {
        if let Some(paper) = waits(store, &state) {
            let whose = &paper.instance;
            match state.is_alive {
                true => context.terminal.note(&format!("The baseline of {whose} is being stored.")),
                false => context.terminal.warn(&format!(
                    "the baseline of {whose} is not stored yet; what was frozen for it is kept, and the next command that writes to the \
                     store tries it"
                )),
            }
        }
    }
}

fn waits<'s>(store: &Store, state: &'s NativeState) -> Option<&'s FsSnapshotIntent> {
    let paper = state.paper.as_ref().ok()?;
    (state.is_made && is_awaited(store, paper).is_ok_and(|awaited| awaited)).then_some(paper)
}
