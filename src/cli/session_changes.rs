//! Changes of a session, as text and as JSON documents.

use super::context::Context;
use super::view;
use crate::model::InstanceId;
use crate::recovery::SessionChanges;
use crate::report::ChangeDocument;
use crate::terminal::{size, width};

/// Returns the changes as JSON documents.
pub(super) fn documents(changes: &SessionChanges) -> Vec<ChangeDocument> {
    let all = changes
        .mounts
        .iter()
        .flat_map(|(coverage, changes)| changes.iter().map(move |c| (coverage, c)));
    all.map(|(coverage, change)| ChangeDocument::new(coverage, change))
        .collect()
}

/// One screen: how much changed, the first paths, and the commands that show and undo it.
pub(super) fn screen(
    changes: &SessionChanges,
    context: &Context<'_>,
    instance: &InstanceId,
    columns: usize,
) -> String {
    const SHOWN: usize = 12;
    if !changes.has_closing && changes.has_baseline {
        return format!(
            "session {instance} ended without a closing snapshot; `diff` compares with the current files"
        );
    }
    if changes.is_awaited {
        return format!(
            "session {instance} ended; its baseline is not stored yet, so nothing can be restored yet"
        );
    }
    if !changes.has_baseline {
        return format!("session {instance} ended without a baseline, so nothing can be restored");
    }
    let total: usize = changes.mounts.iter().map(|(_, paths)| paths.len()).sum();
    if total == 0 && changes.withheld == 0 {
        return format!("session {instance} changed nothing");
    }
    let all = changes.mounts.iter().flat_map(|(_, paths)| paths);
    let mut parts = view::changes::counts(all);
    if changes.withheld > 0 {
        let private = size::count(changes.withheld);
        parts.push(format!("{private} private (see `diff`)"));
    }
    let head = format!("session {instance}: {}", parts.join(", "));
    let mut lines = width::wrap(&head, columns);
    let mut left = SHOWN;
    for (coverage, paths) in &changes.mounts {
        if changes.mounts.len() > 1 && !paths.is_empty() && left > 0 {
            lines.push(format!("  in {}", view::changes::host(coverage)));
        }
        for change in paths.iter().take(left) {
            lines.push(format!("  {}", view::changes::line(change)));
        }
        left = left.saturating_sub(paths.len());
    }
    if total > SHOWN {
        lines.push(format!("  and {} more", size::count((total - SHOWN) as u64)));
    }
    let words = |verb: &str| match context.is_latest_here(instance) {
        true => verb.to_owned(),
        false => format!("{verb} {instance}"),
    };
    lines.push(context.proposal("details", &words("diff"), columns));
    lines.push(context.proposal("to undo", &words("restore"), columns));
    lines.join("\n")
}
