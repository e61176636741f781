//! `watch`: one document for each change, and one for the end.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, PathDocument};
use crate::diff::ChangeKind;
use crate::model::{EntryKind, Time};
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
