//! `watch`: one document for each change, and one for the end.

use schemars::JsonSchema;
use serde::Serialize;

use super::fold::{Fold, FoldedLine, fold_changes};
use super::{Change, Head, PathDocument};
use crate::diff::ChangeKind;
use crate::model::{Coverage, EntryKind, Time};
use crate::recovery::WatchedChange;

/// Difference to the baseline, in `watch --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WatchedState {
    /// The baseline does not have the path.
    Added,
    /// Content or link target differ.
    Modified,
    /// The path is gone.
    Deleted,
    /// Another type of object.
    Type,
    /// Only the permission bits differ.
    Mode,
    /// Owner, attributes, flags or hard links differ.
    Metadata,
    /// The path is as in the baseline again.
    Reverted,
}

/// Meaning of a line of `watch --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WatchEvent {
    /// A path changed.
    Change,
    /// The session ended, and so does the output.
    End,
}

/// Line of `watch --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchDocument {
    #[serde(flatten)]
    head: Head,
    event: WatchEvent,
    /// Session.
    instance: String,
    /// Time at which the change or the end was found.
    at: Time,
    /// The changed path; none at the end.
    #[serde(flatten)]
    path: Option<PathDocument>,
    /// Difference of the path to the baseline; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<WatchedState>,
    /// Number of paths that differ from the baseline; only at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u64>,
}

impl WatchDocument {
    /// Makes the line for a change.
    pub(crate) fn change(instance: &str, at: Time, line: WatchLine) -> Self {
        Self {
            head: Head::default(),
            event: WatchEvent::Change,
            instance: instance.to_owned(),
            at,
            path: Some(line.path),
            change: Some(line.state),
            changed: None,
        }
    }

    /// Makes the line for the end.
    pub(crate) fn end(instance: &str, at: Time, changed: u64) -> Self {
        Self {
            head: Head::default(),
            event: WatchEvent::End,
            instance: instance.to_owned(),
            at,
            path: None,
            change: None,
            changed: Some(changed),
        }
    }
}

/// A changed path.
#[derive(Debug)]
pub(crate) struct WatchLine {
    pub(crate) path: PathDocument,
    pub(crate) state: WatchedState,
    /// True for a directory.
    pub(crate) is_directory: bool,
}

impl WatchLine {
    /// Makes the report of a change.
    pub(crate) fn new(found: &WatchedChange) -> Self {
        let state = match found.change.as_ref().map(|change| change.kind) {
            None => WatchedState::Reverted,
            Some(ChangeKind::Added) => WatchedState::Added,
            Some(ChangeKind::Modified | ChangeKind::Renamed) => WatchedState::Modified,
            Some(ChangeKind::Deleted) => WatchedState::Deleted,
            Some(ChangeKind::Type) => WatchedState::Type,
            Some(ChangeKind::Mode) => WatchedState::Mode,
            Some(ChangeKind::Metadata) => WatchedState::Metadata,
        };
        let change = found.change.as_ref();
        let entry = change.and_then(|change| change.to.as_ref().or(change.from.as_ref()));
        Self {
            path: PathDocument::new(&found.coverage, &found.path),
            state,
            is_directory: entry.is_some_and(|entry| entry.kind == EntryKind::Directory),
        }
    }
}

/// A line of `watch` in words.
#[derive(Debug)]
pub(crate) enum WatchedLine {
    /// One change.
    One(WatchLine),
    /// Several changes of one directory.
    Fold {
        coverage: Box<Coverage>,
        fold: Fold,
        /// Kinds of the changes that `fold` counts.
        kinds: Vec<ChangeKind>,
    },
}

/// Returns the lines for what one look found, folded as a plan is unless `unfolds`. Paths that are as in the baseline again never fold.
pub(crate) fn watched_lines(found: &[WatchedChange], unfolds: bool) -> Vec<WatchedLine> {
    if unfolds {
        return found
            .iter()
            .map(|change| WatchedLine::One(WatchLine::new(change)))
            .collect();
    }
    let mut lines = Vec::new();
    for of_mount in found.chunk_by(|one, other| one.coverage.label == other.coverage.label) {
        let (changed, reverted): (Vec<_>, Vec<_>) = of_mount.iter().partition(|found| found.change.is_some());
        let changes: Vec<Change> = changed.iter().filter_map(|found| found.change.clone()).collect();
        let kinds: Vec<ChangeKind> = changes.iter().map(|change| change.kind).collect();
        lines.extend(
            reverted
                .iter()
                .map(|found| WatchedLine::One(WatchLine::new(found))),
        );
        if let Some(coverage) = of_mount.first().map(|found| &found.coverage) {
            for line in fold_changes(coverage, &changes) {
                lines.extend(match line {
                    FoldedLine::One(at) => changed
                        .get(at)
                        .map(|found| WatchedLine::One(WatchLine::new(found))),
                    FoldedLine::Fold(fold) => Some(WatchedLine::Fold {
                        coverage: Box::new(coverage.clone()),
                        fold,
                        kinds: kinds.clone(),
                    }),
                });
            }
        }
    }
    lines
}
