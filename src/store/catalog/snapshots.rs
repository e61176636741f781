//! Queries for snapshots; newest first, in the order of the chain. A snapshot counts when its record is
//! there.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension as _, Params, params};

use super::Catalog;
use super::row::{self, Count, IMPORTED, SnapshotRow, Word};
use crate::model::{Amendment, ArchiveId, ArchiveRef, Digest, InstanceId, SnapshotId, SnapshotKind};
use crate::store::StoreError;

/// The snapshots of an instance, in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of snapshots.
    pub snapshots: u64,
    /// Bytes of the first one, over all mounts.
    pub bytes: u64,
}

/// Facts that receipts record about a snapshot.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Recorded {
    /// Digest of the record; `None` if no receipt was applied.
    pub(in crate::store) digest: Option<Digest>,
    /// True if paths of the snapshot were forgotten.
    pub(in crate::store) is_amended: bool,
    /// True if archives of any snapshot were forgotten.
    pub(in crate::store) some_archives_gone: bool,
}

/// Archives of one receipt of `forget`, with the snapshots that it amended.
pub(in crate::store) type AmendedArchives = (Vec<ArchiveRef>, Vec<SnapshotId>);

/// Order in which a snapshot without a receipt comes behind the receipt that determines its place.
const NEWEST_FIRST: &str = "ORDER BY place DESC, number IS NULL DESC, taken_at DESC, id DESC";

impl Catalog {
    fn snapshots_where(&self, condition: &str, with: impl Params) -> Result<Vec<SnapshotRow>, StoreError> {
        // A baseline is the first of its session, also when it was stored behind others.
        let order = NEWEST_FIRST.replacen("BY", "BY kind = 'baseline',", 1);
        self.snapshots_by(&format!("WHERE {condition} {order}"), with)
    }

    fn snapshots_by(&self, clauses: &str, with: impl Params) -> Result<Vec<SnapshotRow>, StoreError> {
        let sql = format!("SELECT {} FROM moments {clauses}", row::SNAPSHOT);
        self.query(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(with, row::snapshot)?
                .collect()
        })
    }

    /// The snapshots of an instance.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn snapshots(&self, instance: &InstanceId) -> Result<Vec<SnapshotRow>, StoreError> {
        self.snapshots_where("instance = ?1", [instance.as_str()])
    }

    /// All snapshots.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn all_snapshots(&self) -> Result<Vec<SnapshotRow>, StoreError> {
        self.snapshots_where("true", [])
    }

    /// All snapshots in the order in which they were stored, newest first: those of sessions that went on beside each other lie between
    /// each other.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn snapshots_as_stored(&self) -> Result<Vec<SnapshotRow>, StoreError> {
        self.snapshots_by(NEWEST_FIRST, [])
    }

    /// All snapshots, by their instance.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn snapshots_by_instance(&self) -> Result<HashMap<InstanceId, Vec<SnapshotRow>>, StoreError> {
        let mut found: HashMap<InstanceId, Vec<SnapshotRow>> = HashMap::new();
        for row in self.all_snapshots()? {
            found.entry(row.instance.clone()).or_default().push(row);
        }
        Ok(found)
    }

    /// Returns the number of snapshots and the size of the first one, for each session that has any. Does not read their full rows.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn tallies(&self) -> Result<HashMap<InstanceId, Tally>, StoreError> {
        // Beside one minimum SQLite gives the other columns of the row that has it.
        let sql = "SELECT instance, count(*), bytes,
             min(CASE kind WHEN 'baseline' THEN 0 ELSE 1 + 2 * place + (number IS NULL) END) FROM moments GROUP BY instance";
        let tally = |row: &rusqlite::Row<'_>| {
            let tally = Tally {
                snapshots: row.get::<_, Count>(1)?.0,
                bytes: row.get::<_, Count>(2)?.0,
            };
            Ok((row.get::<_, Word<InstanceId>>(0)?.0, tally))
        };
        self.query(|connection| connection.prepare_cached(sql)?.query_map([], tally)?.collect())
    }

    /// Returns the newest snapshot of a session, its kind, and the number of the session's snapshots.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub(crate) fn newest_with_count(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<(SnapshotId, SnapshotKind, u64)>, StoreError> {
        let sql = format!(
            "SELECT id, kind, count(*) OVER () FROM moments WHERE instance = ?1 {NEWEST_FIRST} LIMIT 1"
        );
        let newest = |row: &rusqlite::Row<'_>| {
            let id = row.get::<_, Word<SnapshotId>>(0)?.0;
            Ok((
                id,
                row.get::<_, Word<SnapshotKind>>(1)?.0,
                row.get::<_, Count>(2)?.0,
            ))
        };
        self.query(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_row([instance.as_str()], newest)
                .optional()
        })
    }

    /// Returns the number of listed snapshots.
    pub(in crate::store) fn snapshot_count(&self) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM snapshots";
        let count = self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([], |row| Ok(row.get::<_, Count>(0)?.0))
        })?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// One snapshot.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn snapshot(&self, id: &SnapshotId) -> Result<Option<SnapshotRow>, StoreError> {
        Ok(self.snapshots_where("id = ?1", [id.as_str()])?.into_iter().next())
    }

    /// The newest snapshot, of any instance and kind, with a mount at exactly this root (canonical host path,
    /// as bytes): what the next capture of that root compares with. Not what was imported: it tells of other files.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn latest_snapshot_on_root(&self, root: &[u8]) -> Result<Option<SnapshotId>, StoreError> {
        self.latest("true", root)
    }

    /// The newest baseline with a mount at exactly this root.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn latest_baseline_on_root(&self, root: &[u8]) -> Result<Option<SnapshotId>, StoreError> {
        let condition = format!("kind = '{}'", SnapshotKind::Baseline.word());
        self.latest(&condition, root)
    }

    fn latest(&self, condition: &str, root: &[u8]) -> Result<Option<SnapshotId>, StoreError> {
        let sql = format!(
            "SELECT id FROM moments WHERE {condition}
             AND id IN (SELECT snapshot FROM snapshot_roots WHERE root = ?1)
             AND instance NOT IN (SELECT id FROM instances WHERE mode = '{IMPORTED}') {NEWEST_FIRST} LIMIT 1"
        );
        let id = |row: &rusqlite::Row<'_>| row.get::<_, Word<SnapshotId>>(0).map(|word| word.0);
        // Only a receipt that waits could concern the condition on imported sessions, and those wait for none.
        self.query_snapshots(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_row(params![root], id)
                .optional()
        })
    }

    /// The names that checkpoints of an instance have; sorted.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn names_taken(&self, instance: &InstanceId) -> Result<Vec<String>, StoreError> {
        let sql =
            "SELECT DISTINCT name FROM snapshots WHERE instance = ?1 AND name IS NOT NULL ORDER BY name";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([instance.as_str()], |row| row.get(0))?
                .collect()
        })
    }

    /// Returns the facts that receipts record about a snapshot, in one query: each record that is read needs them.
    pub(in crate::store) fn recorded(&self, id: &SnapshotId) -> Result<Recorded, StoreError> {
        let sql = "SELECT (SELECT record FROM captures WHERE snapshot = ?1),
                   EXISTS (SELECT 1 FROM amendments WHERE snapshot = ?1), EXISTS (SELECT 1 FROM forgotten_archives)";
        let recorded = |row: &rusqlite::Row<'_>| {
            Ok(Recorded {
                digest: row.get::<_, Option<Word<Digest>>>(0)?.map(|word| word.0),
                is_amended: row.get(1)?,
                some_archives_gone: row.get(2)?,
            })
        };
        self.ask(|connection| connection.prepare_cached(sql)?.query_row([id.as_str()], recorded))
    }

    /// Returns the amendments of a snapshot, oldest first.
    pub(in crate::store) fn amendments(&self, id: &SnapshotId) -> Result<Vec<Amendment>, StoreError> {
        let sql = "SELECT amended, archives FROM amendments WHERE snapshot = ?1 ORDER BY number";
        let amendment = |row: &rusqlite::Row<'_>| {
            Ok(Amendment {
                amended: row.get::<_, row::Json<_>>(0)?.0,
                archives: row.get::<_, row::Json<_>>(1)?.0,
            })
        };
        self.ask(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([id.as_str()], amendment)?
                .collect()
        })
    }

    /// Returns the archives that receipts of `forget` name for the snapshots that lost paths, each list once with its snapshots.
    pub(in crate::store) fn amended_archives(&self) -> Result<Vec<AmendedArchives>, StoreError> {
        let sql = "SELECT archives, json_group_array(snapshot) FROM amendments
                   WHERE snapshot IN (SELECT id FROM snapshots) GROUP BY archives ORDER BY min(number)";
        let list = |row: &rusqlite::Row<'_>| {
            let archives = row.get::<_, row::Json<_>>(0)?.0;
            Ok((archives, row.get::<_, row::Json<_>>(1)?.0))
        };
        self.ask(|connection| connection.prepare_cached(sql)?.query_map([], list)?.collect())
    }

    /// Returns true if a receipt of `forget` says that the archive is gone.
    pub(in crate::store) fn is_forgotten(&self, id: &ArchiveId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM forgotten_archives WHERE archive = ?1";
        self.ask(|connection| connection.prepare_cached(sql)?.exists([id.as_str()]))
    }

    /// Returns the archives that receipts of `forget` say are gone.
    pub(in crate::store) fn forgotten_archives(&self) -> Result<Vec<ArchiveId>, StoreError> {
        let id = |row: &rusqlite::Row<'_>| row.get::<_, Word<ArchiveId>>(0).map(|word| word.0);
        self.ask(|connection| {
            connection
                .prepare_cached("SELECT archive FROM forgotten_archives ORDER BY archive")?
                .query_map([], id)?
                .collect()
        })
    }

    /// Every snapshot that was pruned, and the receipt that tells of it.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn pruned_of(&self, instance: &InstanceId) -> Result<Vec<(SnapshotId, u64)>, StoreError> {
        let sql = "SELECT p.snapshot, p.number FROM pruned p JOIN receipts r ON r.number = p.number
             WHERE p.instance = ?1 AND r.act IN ('prune', 'forget') ORDER BY p.number DESC, p.snapshot";
        let pair = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Word<_>>(0)?.0, row.get::<_, Count>(1)?.0));
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([instance.as_str()], pair)?
                .collect()
        })
    }

    /// Returns the number of pruned snapshots of each session.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn pruned_counts(&self) -> Result<HashMap<InstanceId, u64>, StoreError> {
        let pair = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Word<_>>(0)?.0, row.get::<_, Count>(1)?.0));
        self.query(|connection| {
            connection
                .prepare_cached("SELECT instance, count(*) FROM pruned GROUP BY instance")?
                .query_map([], pair)?
                .collect()
        })
    }

    /// Returns the pins: of whole sessions (`None`), and of single snapshots.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn pins(&self) -> Result<Vec<(InstanceId, Option<SnapshotId>)>, StoreError> {
        let pin = |row: &rusqlite::Row<'_>| {
            let snapshot: String = row.get(1)?;
            Ok((row.get::<_, Word<_>>(0)?.0, SnapshotId::parse(&snapshot).ok()))
        };
        self.query(|connection| {
            connection
                .prepare_cached("SELECT instance, snapshot FROM pins ORDER BY instance, snapshot")?
                .query_map([], pin)?
                .collect()
        })
    }

    /// Returns every pruned snapshot.
    pub(in crate::store) fn pruned(&self) -> Result<HashSet<SnapshotId>, StoreError> {
        self.ids("SELECT snapshot FROM pruned")
    }

    /// Returns every snapshot that a receipt records, that was not pruned, and that is not listed: its record is lost or
    /// unreadable.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn unlisted(&self) -> Result<Vec<SnapshotId>, StoreError> {
        self.ids(
            "SELECT snapshot FROM captures WHERE snapshot NOT IN (SELECT id FROM snapshots)
             AND snapshot NOT IN (SELECT snapshot FROM pruned) ORDER BY number",
        )
    }

    /// Returns every snapshot that is listed and that no receipt records, but those whose receipts are lost with the operator's consent.
    pub(in crate::store) fn without_receipt(&self) -> Result<Vec<SnapshotId>, StoreError> {
        let mut found: Vec<SnapshotId> =
            self.ids("SELECT id FROM snapshots WHERE id NOT IN (SELECT snapshot FROM captures)")?;
        if !found.is_empty() {
            let accepted = self.accepted()?;
            found.retain(|id| !accepted.contains(id));
        }
        Ok(found)
    }

    fn ids<T: FromIterator<SnapshotId>>(&self, sql: &str) -> Result<T, StoreError> {
        let id = |row: &rusqlite::Row<'_>| row.get::<_, Word<SnapshotId>>(0).map(|word| word.0);
        self.ask(|connection| connection.prepare_cached(sql)?.query_map([], id)?.collect())
    }

    /// Returns true if the snapshots whose records were applied are those with these ids, given sorted, and no others.
    pub(in crate::store) fn lists_exactly(&self, ids: &[String]) -> Result<bool, StoreError> {
        self.ask(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM snapshots ORDER BY id")?;
            let mut rows = statement.query([])?;
            for id in ids {
                match rows.next()? {
                    Some(row) if row.get_ref(0)?.as_str()? == id => {}
                    _ => return Ok(false),
                }
            }
            Ok(rows.next()?.is_none())
        })
    }

    /// Every snapshot whose record was applied, sorted.
    pub(in crate::store) fn applied_records(&self) -> Result<Vec<SnapshotId>, StoreError> {
        self.ids("SELECT id FROM snapshots ORDER BY id")
    }
}
