//! Numbers and ages of what the sessions of one workspace, or of one directory, have in the store.

use rusqlite::{Row, ToSql};

use super::Catalog;
use super::row::{Count, InstanceRow, Word};
use crate::model::{SnapshotKind, Time};
use crate::store::StoreError;

/// Snapshots of sessions that are not pinned: those of a workspace, or those of a directory without a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptCounts {
    /// Number of sessions with a snapshot.
    pub(crate) sessions: u64,
    /// Number of checkpoints.
    pub(crate) checkpoints: u64,
    /// Number of emergency snapshots.
    pub(crate) emergencies: u64,
    /// Time of the oldest snapshot, or end of a session.
    pub(crate) oldest: Option<Time>,
    /// Time of the oldest checkpoint.
    pub(crate) oldest_checkpoint: Option<Time>,
}

impl Catalog {
    /// Returns the counts for the workspace of a session, or for its first directory if it has no workspace. Reads no row that concerns others
    /// as a whole: it is asked after each checkpoint.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub(crate) fn kept_beside(&self, own: &InstanceRow) -> Result<KeptCounts, StoreError> {
        let root = own.mounts.first().map(|mount| mount.root.0.as_slice());
        let (condition, of): (&str, &dyn ToSql) = match &own.workspace {
            Some(workspace) => (
                "(workspace = ?1 OR instance IN (SELECT id FROM instances WHERE workspace = ?1))",
                workspace,
            ),
            None => (
                "workspace IS NULL AND instance IN (SELECT instance FROM snapshots WHERE id IN
                 (SELECT snapshot FROM snapshot_roots WHERE root = ?1))",
                &root,
            ),
        };
        let (checkpoint, emergency) = (SnapshotKind::Checkpoint.word(), SnapshotKind::Emergency.word());
        let sql = format!(
            "SELECT count(DISTINCT instance), count(*) FILTER (WHERE kind = '{checkpoint}'),
                    count(*) FILTER (WHERE kind = '{emergency}'),
                    min(min(taken_at, coalesce((SELECT ended_at FROM instances WHERE id = own.instance), taken_at))),
                    min(taken_at) FILTER (WHERE kind = '{checkpoint}')
             FROM snapshots AS own WHERE {condition}
             AND NOT EXISTS (SELECT 1 FROM pins WHERE pins.instance = own.instance AND pins.snapshot = '')"
        );
        let count = |row: &Row<'_>, at| -> rusqlite::Result<u64> { Ok(row.get::<_, Count>(at)?.0) };
        let time = |row: &Row<'_>, at| -> rusqlite::Result<Option<Time>> {
            Ok(row.get::<_, Option<Word<Time>>>(at)?.map(|word| word.0))
        };
        let counts = |row: &Row<'_>| {
            Ok(KeptCounts {
                sessions: count(row, 0)?,
                checkpoints: count(row, 1)?,
                emergencies: count(row, 2)?,
                oldest: time(row, 3)?,
                oldest_checkpoint: time(row, 4)?,
            })
        };
        self.query(|connection| connection.prepare_cached(&sql)?.query_row([of], counts))
    }
}
