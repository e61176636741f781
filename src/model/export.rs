//! Description of an exported archive, in `.jackin-recovery/export.json`: the snapshot that it holds.

use serde::{Deserialize, Serialize};

use super::{SnapshotRecord, Time};

/// The member. Unknown fields are ignored (additive changes keep the format number).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportNote {
    /// Version of this form.
    pub format: u32,
    /// Time of the export.
    pub exported_at: Time,
    /// Recovery mode of the session in words.
    pub mode: String,
    /// The snapshot's record, without the archives that it needs in its store: everything is in this one.
    pub record: SnapshotRecord,
    /// Program that wrote it.
    pub written_by: String,
}

impl ExportNote {
    /// The form that this version writes, and the newest that it reads.
    pub const FORMAT: u32 = 1;
}
