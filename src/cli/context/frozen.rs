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
            "The baseline of {whose} is stored now from its file-system snapshot: {}.",
            done.id
        )),
        ThawedEnd::NotYet => terminal.note(&format!(
            "The baseline of {whose} is not stored yet: its cluster is still copying the volume snapshot. A later \
            command that writes to the store stores it."
        )),
        ThawedEnd::Removed => terminal.detail(&format!(
            "removed an unused file-system snapshot of {whose}"
        )),
        ThawedEnd::NotStored(error) => {
            let way = error.is_lack_of_room().then(|| way_to_store(&error));
            let told = CliError::from(error);
            terminal.warn(&format!(
                "the baseline of {whose} cannot be stored ({}); its file-system snapshot is kept",
                sanitize::text(&told.message)
            ));
            if let Some(way) = way {
                terminal.note(&format!("hint: {way}"));
                context.propose("to delete it", "prune");
            }
        }
        ThawedEnd::Stays(error) => {
            terminal.warn(&format!(
                "cannot use the file-system snapshot of {whose}: {}",
                sanitize::text(&error.to_string())
            ));
            if matches!(error, StoreError::Native { .. }) {
                context.propose("if its cluster or disk is lost for good", &format!("prune --forget {}", done.id));
            }
        }
    }
}

/// Returns the hint on how to store a baseline that failed. Its excludes are agreed and can no longer change.
pub(in crate::cli) fn way_to_store(error: &CaptureError) -> &'static str {
    match error {
        CaptureError::Limit { entries: true, .. } => {
            "raise max_entries in [recovery.limits], and the next command that writes to the store stores the baseline"
        }
        CaptureError::Limit { .. } => {
            "raise max_bytes in [recovery.limits], and the next command that writes to the store stores the baseline"
        }
        _ => "free disk space for the store, and the next command that writes to it stores the baseline",
    }
}

/// Reports the baselines that are not stored yet, so that they do not seem lost.
pub(in crate::cli) fn warn_of_frozen(context: &Context<'_>, store: &Store) {
    // What cannot be read is told by who takes it up.
    for state in store.natives().unwrap_or_default() {
        if let Some(paper) = waits(store, &state) {
            let whose = &paper.instance;
            match state.is_alive {
                true => context.terminal.note(&format!("The baseline of {whose} is being stored.")),
                false => context.terminal.warn(&format!(
                    "the baseline of {whose} is not stored yet; its file-system snapshot is kept, and the next \
                    command that writes to the store tries again"
                )),
            }
        }
    }
}

fn waits<'s>(store: &Store, state: &'s NativeState) -> Option<&'s FsSnapshotIntent> {
    let paper = state.paper.as_ref().ok()?;
    (state.is_made && is_awaited(store, paper).is_ok_and(|awaited| awaited)).then_some(paper)
}
