//! Session in a list to choose from.

use std::path::PathBuf;

use crate::display::{sanitize, size};
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

    /// Returns its line in a list.
    pub(super) fn line(&self) -> String {
        let root = self.root.as_deref().map_or_else(String::new, sanitize::path);
        let mark = if self.imported { " (imported)" } else { "" };
        format!("{}  {}  {root}{mark}", self.id, size::moment(self.started_at))
    }
}
