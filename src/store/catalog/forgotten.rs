//! Queries for sessions that `forget` deleted.

use std::collections::HashMap;

use super::Catalog;
use super::row::{Count, Word};
use crate::model::{InstanceId, Time};
use crate::store::StoreError;

/// Deletion of a session by `forget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgottenRow {
    /// Number of the receipt.
    pub receipt: u64,
    /// Time of the receipt.
    pub at: Time,
}

impl Catalog {
    /// Returns the sessions that were forgotten, with the last receipt about it. One that was imported again is none of them.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn forgotten(&self) -> Result<HashMap<InstanceId, ForgottenRow>, StoreError> {
        // A bare column beside max() is that of the same row (https://sqlite.org/lang_select.html#bareagg). Most stores have forgotten nothing,
        // and have pruned much.
        let sql =
            "SELECT p.instance, max(r.number), r.at FROM pruned p CROSS JOIN receipts r ON r.number = p.number
             WHERE EXISTS (SELECT 1 FROM receipts WHERE act = 'forget')
             AND p.number IN (SELECT number FROM receipts WHERE act = 'forget') AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.instance = p.instance)
             GROUP BY p.instance";
        let pair = |row: &rusqlite::Row<'_>| {
            let forgotten = ForgottenRow {
                receipt: row.get::<_, Count>(1)?.0,
                at: row.get::<_, Word<_>>(2)?.0,
            };
            Ok((row.get::<_, Word<_>>(0)?.0, forgotten))
        };
        self.query(|connection| connection.prepare_cached(sql)?.query_map([], pair)?.collect())
    }
}
