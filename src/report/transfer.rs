//! `export` and `import`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Head;
use super::path::lossy;
use crate::model::{ExportNote, SnapshotKind, Time};
use crate::transfer::DroppedWhat;

/// `export --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// Id of the snapshot.
    pub(crate) snapshot: String,
    /// The file that was written.
    pub(crate) file: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_bytes: Option<String>,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of its bytes.
    pub(crate) digest: String,
    /// Whether the snapshot holds everything that it covers.
    pub(crate) complete: bool,
    /// How many entries it has.
    pub(crate) entries: u64,
}

/// How an import ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ImportOutcome {
    /// `--dry-run`: this would be done.
    Planned,
    /// It is a session here now.
    Imported,
}

/// `import --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) outcome: ImportOutcome,
    /// The file.
    pub(crate) file: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_bytes: Option<String>,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of its bytes.
    pub(crate) digest: String,
    /// What it says of itself.
    pub(crate) origin: OriginDocument,
    /// How many entries it has, without what is dropped.
    pub(crate) entries: u64,
    /// Sum of the files' sizes.
    pub(crate) bytes: u64,
    /// Nothing is dropped, because `--trust` was given.
    pub(crate) trusted: bool,
    /// How many paths lose a right: a set-id bit, an attribute, inode flags, or themselves when they are devices.
    pub(crate) dropped: u64,
    /// How many more become the importing user's, and lose nothing else.
    pub(crate) owners: u64,
    /// The first twenty of both.
    pub(crate) dropped_paths: Vec<DroppedDocument>,
    /// The new session's id; none for a plan.
    pub(crate) instance: Option<String>,
    /// The new snapshot's id; none for a plan.
    pub(crate) snapshot: Option<String>,
}

/// What a snapshot was where it comes from. Nobody vouches for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OriginDocument {
    /// The session's id there.
    instance: String,
    /// Its workspace there.
    workspace: Option<String>,
    /// The snapshot's id there.
    snapshot: String,
    kind: SnapshotKind,
    taken_at: Time,
    exported_at: Time,
    /// Which program exported it.
    written_by: String,
    /// The host path of every mount there.
    mounts: Vec<String>,
}

impl OriginDocument {
    pub(crate) fn new(note: &ExportNote) -> Self {
        let record = &note.record;
        let mounts = record.mounts.iter();
        Self {
            instance: record.instance.to_string(),
            workspace: record.workspace.clone(),
            snapshot: record.id.to_string(),
            kind: record.kind,
            taken_at: record.taken_at,
            exported_at: note.exported_at,
            written_by: note.written_by.clone(),
            mounts: mounts
                .map(|mount| String::from_utf8_lossy(&mount.coverage.root.0).into_owned())
                .collect(),
        }
    }
}

/// A path of which something is dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DroppedDocument {
    /// Label of the mount.
    label: String,
    /// Below the mount; `.` is the mount itself.
    path: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What, in words.
    what: Vec<String>,
}

impl DroppedDocument {
    pub(crate) fn new(dropped: &DroppedWhat) -> Self {
        let (path, path_bytes) = lossy(&dropped.path);
        Self {
            label: dropped.label.clone(),
            path,
            path_bytes,
            what: dropped.what.clone(),
        }
    }
}
