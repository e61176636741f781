//! Changes of a session, as text and as JSON documents.

use super::context::Context;
use super::view;
use crate::model::{Coverage, InstanceId};
use crate::recovery::{SessionChanges, Wanted};
use crate::report::{Change, ChangeDocument, ChangeKind, FoldedLine, fold_changes, is_notable};
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

/// One screen: the result, and apart from it the first paths and the commands that show and undo the changes. `is_torn` tells of an
/// interrupted restore of these files: until it is over no other one is possible.
pub(super) fn screen(
    changes: &SessionChanges,
    context: &Context<'_>,
    instance: &InstanceId,
    (columns, is_torn): (usize, bool),
) -> (String, String) {
    const SHOWN: usize = 12;
    let said = |words: String| (width::wrap(&words, columns).join("\n"), String::new());
    if !changes.has_closing && changes.has_baseline {
        return said(format!(
            "session {instance} ended without a closing snapshot; `diff` compares with the current files"
        ));
    }
    if changes.is_awaited {
        return said(format!(
            "session {instance} ended; its baseline is not stored yet, so nothing can be restored yet"
        ));
    }
    if !changes.has_baseline {
        return said(format!(
            "session {instance} ended without a baseline, so nothing can be restored"
        ));
    }
    let total: usize = changes.mounts.iter().map(|(_, paths)| paths.len()).sum();
    if total == 0 && changes.withheld == 0 && changes.unknown == 0 {
        return said(format!("session {instance} changed nothing"));
    }
    let all = changes.mounts.iter().flat_map(|(_, paths)| paths);
    let mut parts = view::changes::counts(all);
    if changes.withheld > 0 {
        let private = size::count(changes.withheld);
        parts.push(format!("{private} private (see `diff`)"));
    }
    if changes.unknown > 0 {
        let paths = size::counted(changes.unknown, "path", "paths");
        parts.push(format!("{paths} that could not be captured (see `diff`)"));
    }
    let head = format!("session {instance}: {}", parts.join(", "));
    let mut lines = Vec::new();
    let mut left = SHOWN;
    let mut shown = 0;
    for (coverage, paths) in &changes.mounts {
        if left == 0 {
            break;
        }
        if changes.mounts.len() > 1 && !paths.is_empty() {
            lines.push(format!("  in {}", view::changes::host(coverage)));
        }
        let folded = most_notable(coverage, paths, left);
        left = left.saturating_sub(folded.len());
        shown += folded.iter().map(|(count, _)| count).sum::<usize>();
        lines.extend(folded.into_iter().map(|(_, line)| format!("  {line}")));
    }
    if total > shown {
        lines.push(format!("  and {} more", size::count((total - shown) as u64)));
    }
    let words = |verb: &str| match context.is_latest_here(instance, Wanted::Any) {
        true => verb.to_owned(),
        false => format!("{verb} {instance}"),
    };
    lines.push(context.proposal("details", &words("diff"), columns));
    if !is_torn {
        lines.push(context.proposal("to undo", &words("restore"), columns));
    }
    (said(head).0, lines.join("\n"))
}

/// Returns at most so many lines of a folded list, each with the number of its paths. If there are more, those that folds never hide
/// come first.
fn most_notable(coverage: &Coverage, changes: &[Change], most: usize) -> Vec<(usize, String)> {
    let mut folded = fold_changes(coverage, changes);
    if folded.len() > most {
        let is_notable = |at: &usize| {
            changes
                .get(*at)
                .is_some_and(|change| is_notable(coverage, change))
        };
        folded.sort_by_key(|line| !matches!(line, FoldedLine::One(at) if is_notable(at)));
    }
    let kinds: Vec<ChangeKind> = changes.iter().map(|change| change.kind).collect();
    let line = |line: FoldedLine| match line {
        FoldedLine::One(at) => Some((1, view::changes::line(changes.get(at)?))),
        FoldedLine::Fold(fold) => Some((fold.items.len(), view::folded::line(&fold, &kinds))),
    };
    folded.into_iter().take(most).filter_map(line).collect()
}
