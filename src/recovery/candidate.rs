//! Session in a list to choose from.

use std::path::PathBuf;

use crate::model::{InstanceId, Time};
use crate::store::InstanceRow;

/// Facts by which an operator recognizes a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub id: InstanceId,
    /// Time of its start.
    pub started_at: Time,
    /// Root of its first mount.
    pub root: Option<PathBuf>,
    /// True if it was recorded on another machine.
    pub imported: bool,
}

impl Candidate {
    pub(super) fn of(row: &InstanceRow) -> Self {
        Self {
            id: row.id.clone(),
            started_at: row.started_at,
            root: row.writable().next().map(|mount| mount.root.to_path()),
            imported: row.is_imported(),
        }
    }
}
