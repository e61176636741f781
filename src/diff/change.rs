//! Change of one path between two states.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Entry, RelPath};

/// Kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only there in the later state.
    Added,
    /// Content or link target differ.
    Modified,
    /// Only there in the earlier state.
    Deleted,
    /// Another type of object.
    Type,
    /// Only the permission bits differ.
    Mode,
    /// Owner, attributes, flags or hard links differ (and maybe the permission bits).
    Metadata,
    /// The same content under another path; `from_path` is the earlier one.
    Renamed,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Below the mount root; the root itself when only its metadata, or all of it, differs.
    pub path: RelPath,
    /// Kind of the difference.
    pub kind: ChangeKind,
    /// The earlier state.
    pub from: Option<Entry>,
    /// The later state.
    pub to: Option<Entry>,
    /// Earlier path of a [`ChangeKind::Renamed`].
    pub from_path: Option<RelPath>,
    /// True if another name of the file, on either side, is that of a secret ([`super::mark_secrets`]).
    pub has_secret_name: bool,
}
