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

/// Line of `watch --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
#[schemars(rename = "WatchDocument")]
pub(crate) enum WatchDocument {
    /// A path changed.
    Change(WatchedDocument),
    /// The session ended, and so does the output.
    End(WatchEndDocument),
}

/// A changed path.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchedDocument {
    #[serde(flatten)]
    head: Head,
    /// Session.
    instance: String,
    /// Time at which the change was found.
    at: Time,
    #[serde(flatten)]
    pub(crate) path: PathDocument,
    pub(crate) change: WatchedState,
    /// True for a directory.
    #[serde(skip)]
    pub(crate) is_directory: bool,
}

/// End of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WatchEndDocument {
    #[serde(flatten)]
    head: Head,
    /// Session.
    instance: String,
    /// Time at which the end was noticed.
    at: Time,
    /// Number of paths that differ from the baseline.
    pub(crate) changed: u64,
}

impl WatchedDocument {
    /// Makes the report of a change.
    pub(crate) fn new(instance: &str, at: Time, found: &WatchedChange) -> Self {
        let state = match found.change.as_ref().map(|change| change.kind) {
            None => WatchedState::Reverted,
            Some(ChangeKind::Added) => WatchedState::Added,
            Some(ChangeKind::Modified | ChangeKind::Renamed) => WatchedState::Modified,
            Some(ChangeKind::Deleted) => WatchedState::Deleted,
            Some(ChangeKind::Type) => WatchedState::Type,
            Some(ChangeKind::Mode) => WatchedState::Mode,
            Some(ChangeKind::Metadata) => WatchedState::Metadata,
        };
        let entry = found
            .change
            .as_ref()
            .and_then(|change| change.to.as_ref().or(change.from.as_ref()));
        Self {
            head: Head::default(),
            instance: instance.to_owned(),
            at,
            path: PathDocument::new(&found.coverage, &found.path),
            change: state,
            is_directory: entry.is_some_and(|entry| entry.kind == EntryKind::Directory),
        }
    }
}

impl WatchEndDocument {
    /// Makes the report of an end.
    pub(crate) fn new(instance: &str, at: Time, changed: u64) -> Self {
        Self {
            head: Head::default(),
            instance: instance.to_owned(),
            at,
            changed,
        }
    }
}
