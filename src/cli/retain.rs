//! Messages about snapshots that the retention policy deletes when a session ends or a checkpoint is taken.

use std::collections::BTreeMap;

use crate::cli::context::Context;
use crate::cli::view::prune::shortage_words;
use crate::cli::view::receipt::reason_words;
use crate::diagnostic::Diagnostic as _;
use crate::model::{InstanceId, PruneReason};
use crate::report::ShortageDocument;
use crate::retention::Pruned;
use crate::store::Store;
use crate::terminal::{sanitize, size};

/// Tells of workspaces whose rules cannot be read.
pub(super) fn tell_faults(context: &Context<'_>, faults: &[String]) {
    for fault in faults {
        let fault = sanitize::text(fault);
        context
            .terminal
            .warn(&format!("no snapshot of that workspace is deleted: {fault}"));
    }
}

/// Names snapshots of file systems that nothing needs and that could not be removed: the next command tries again.
pub(super) fn tell_natives(context: &Context<'_>, pruned: &Pruned) {
    for stays in &pruned.swept.natives {
        context.terminal.warn(&sanitize::text(stays));
    }
}

/// Prunes the workspace of the session `own` by the rules. It happens beside what was asked for, so nothing that goes wrong here is
/// more than a warning, and a store that others use is left for another time.
pub(super) fn by_the_rules(context: &Context<'_>, store: &Store, own: &InstanceId) {
    let kept = match context.engine().apply_retention(store, own) {
        Ok(kept) => kept,
        Err(error) => {
            let message = sanitize::text(&error.message());
            let what = match error.is_deleted() {
                true => "snapshots that exceeded the retention policy",
                false => "the retention policy was not applied",
            };
            return context.terminal.warn(&format!("{what}: {message}"));
        }
    };
    tell_faults(context, &kept.faults);
    if kept.is_busy {
        context
            .terminal
            .detail("the store is in use; snapshots that exceed the retention policy are deleted later");
    }
    tell_natives(context, &kept.pruned);
    tell_pruned(context, &kept.pruned);
    if kept.lacking > 0 {
        context.terminal.warn(&format!(
            "the store is {} larger than retention allows, and nothing more of this workspace may be deleted",
            size::bytes(kept.lacking)
        ));
        context.propose("details", "prune --dry-run");
    }
    if let Some(shortage) = kept.shortage.map(ShortageDocument::from) {
        context.terminal.warn(&shortage_words(shortage, kept.size));
        if kept.size > shortage.missing {
            context.propose("details", "prune --dry-run");
        }
    }
}

/// Names what was deleted, session by session, with the bytes that are free.
fn tell_pruned(context: &Context<'_>, pruned: &Pruned) {
    const NAMED: usize = 5;
    let mut sessions: BTreeMap<(&InstanceId, PruneReason), u64> = BTreeMap::new();
    for snapshot in &pruned.snapshots {
        *sessions.entry((&snapshot.instance, snapshot.reason)).or_default() += 1;
    }
    if sessions.is_empty() {
        return;
    }
    let bytes = size::bytes(pruned.freed().saturating_add(pruned.repacked));
    let mut told: Vec<String> = sessions
        .iter()
        .take(NAMED)
        .map(|((instance, reason), count)| {
            let count = size::counted(*count, "snapshot", "snapshots");
            format!("{count} of {instance} ({})", reason_words(*reason))
        })
        .collect();
    if sessions.len() > NAMED {
        told.push(format!("{} more sessions", sessions.len() - NAMED));
    }
    context.terminal.note(&format!(
        "The retention policy deleted {}; {bytes} are free again.",
        told.join(", ")
    ));
}
