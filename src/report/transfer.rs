//! `export` and `import`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::path::lossy;
use super::{Head, HostPathDocument};
use crate::model::{ExportNote, SnapshotKind, SnapshotRecord, Time};
use crate::transfer::{DroppedWhat, Incoming};

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
    /// True if the snapshot is complete.
    pub(crate) complete: bool,
    /// Number of entries.
    pub(crate) entries: u64,
    /// Number of private files that are in it encrypted.
    pub(crate) encrypted: u64,
}

/// Result of an import.
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
    /// Description in the file, not verified.
    pub(crate) origin: OriginDocument,
    /// Number of entries, without dropped ones.
    pub(crate) entries: u64,
    /// Sum of the files' sizes.
    pub(crate) bytes: u64,
    /// Number of private files that are in it encrypted.
    pub(crate) encrypted: u64,
    /// Nothing is dropped, because `--trust` was given.
    pub(crate) trusted: bool,
    /// Number of paths that lose a set-id bit, an attribute or inode flags, or are dropped because they are devices.
    pub(crate) dropped: u64,
    /// Number of other paths whose owner becomes the importing user.
    pub(crate) owners: u64,
    /// The first twenty of both.
    pub(crate) dropped_paths: Vec<DroppedDocument>,
    /// The new session's id; none for a plan.
    pub(crate) instance: Option<String>,
    /// The new snapshot's id; none for a plan.
    pub(crate) snapshot: Option<String>,
    /// Exact path of `file`.
    #[serde(skip)]
    pub(crate) place: PathBuf,
    /// The snapshot lacks nothing of what it covers.
    #[serde(skip)]
    pub(crate) complete: bool,
}

impl ImportDocument {
    /// Makes the report of a file that was read, and of its snapshot here, if it was stored.
    pub(crate) fn of(
        incoming: &Incoming,
        file: &Path,
        trusted: bool,
        record: Option<&SnapshotRecord>,
    ) -> Self {
        let place = HostPathDocument::new(file);
        let (size, digest) = incoming.whole();
        let (entries, bytes) = incoming.totals();
        let dropped = incoming.dropped();
        Self {
            head: Head::default(),
            outcome: match record {
                Some(_) => ImportOutcome::Imported,
                None => ImportOutcome::Planned,
            },
            file: place.path,
            file_bytes: place.path_bytes,
            size,
            digest: digest.to_string(),
            origin: OriginDocument::new(incoming.note()),
            entries,
            bytes,
            encrypted: incoming.note().record.encrypted(),
            trusted,
            dropped: dropped.paths,
            owners: dropped.owners,
            dropped_paths: dropped.named.iter().map(DroppedDocument::new).collect(),
            instance: record.map(|record| record.instance.to_string()),
            snapshot: record.map(|record| record.id.to_string()),
            place: place.exact,
            complete: incoming.note().record.complete,
        }
    }
}

/// Origin of a snapshot, not verified.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OriginDocument {
    /// The session's id there.
    pub(crate) instance: String,
    /// Its workspace there.
    pub(crate) workspace: Option<String>,
    /// The snapshot's id there.
    pub(crate) snapshot: String,
    pub(crate) kind: SnapshotKind,
    pub(crate) taken_at: Time,
    pub(crate) exported_at: Time,
    /// Program that exported it.
    pub(crate) written_by: String,
    /// The host path of every mount there.
    mounts: Vec<String>,
    /// Exact paths of `mounts`.
    #[serde(skip)]
    pub(crate) roots: Vec<PathBuf>,
}

impl OriginDocument {
    pub(crate) fn new(note: &ExportNote) -> Self {
        let record = &note.record;
        let mounts = record.mounts.iter();
        let roots: Vec<PathBuf> = mounts.map(|mount| mount.coverage.root.to_path()).collect();
        Self {
            instance: record.instance.to_string(),
            workspace: record.workspace.clone(),
            snapshot: record.id.to_string(),
            kind: record.kind,
            taken_at: record.taken_at,
            exported_at: note.exported_at,
            written_by: note.written_by.clone(),
            mounts: roots
                .iter()
                .map(|root| root.to_string_lossy().into_owned())
                .collect(),
            roots,
        }
    }
}

/// A path of which something is dropped.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DroppedDocument {
    /// Label of the mount.
    pub(crate) label: String,
    /// Below the mount; `.` is the mount itself.
    pub(crate) path: String,
    /// The same in base64, when it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What, in words.
    pub(crate) what: Vec<String>,
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
