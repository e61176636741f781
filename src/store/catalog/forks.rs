//! Queries for forks, from their receipts.

use std::path::PathBuf;

use super::Catalog;
use super::row::Json;
use crate::model::{ForkId, InstanceId, Operation, Receipt, SnapshotId, Time};
use crate::store::StoreError;

/// A snapshot that was written into a directory of its own, from its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRow {
    /// Number of the receipt.
    pub number: u64,
    /// Time of the fork.
    pub at: Time,
    /// Its id.
    pub id: ForkId,
    /// The session of the snapshot.
    pub instance: InstanceId,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Directory that it was written to.
    pub directory: PathBuf,
    /// Name that the operator gave it, if any.
    pub branch: Option<String>,
    /// Number of paths written.
    pub paths: u64,
    /// Number of paths that could not be created, or not exactly.
    pub failed: u64,
}

impl Catalog {
    /// Every fork of every instance, newest first.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn forks(&self) -> Result<Vec<ForkRow>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE act = 'fork' ORDER BY number DESC";
        let found: Vec<Receipt> = self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([], |row| row.get::<_, Json<Receipt>>(0).map(|json| json.0))?
                .collect()
        })?;
        Ok(found.into_iter().filter_map(fork).collect())
    }
}

/// The fork that a receipt tells of.
fn fork(receipt: Receipt) -> Option<ForkRow> {
    let Receipt {
        number,
        at,
        instance,
        act,
        ..
    } = receipt;
    match (act, instance) {
        (
            Operation::Fork {
                snapshot,
                fork,
                directory,
                branch,
                paths,
                failed,
            },
            Some(instance),
        ) => Some(ForkRow {
            number,
            at,
            id: fork,
            instance,
            snapshot,
            directory: directory.to_path(),
            branch,
            paths,
            failed,
        }),
        _ => None,
    }
}
