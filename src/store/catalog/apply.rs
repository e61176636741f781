//! The only writers of the catalog's tables: one receipt, one record. Both may be applied again and in any
//! order of records and receipts; the tables come out the same.

use std::path::Path;

use rusqlite::{OptionalExtension as _, Transaction, params};
use serde::Serialize;

use super::row::{Count, IMPORTED, Json, Word};
use super::{failure, schema};
use crate::model::{
    AmendedSnapshot, ArchiveRef, Coverage, Digest, Ending, InstanceId, Operation, Receipt, SnapshotId,
    SnapshotRecord,
};
use crate::store::StoreError;
use crate::store::log::Link;

/// The tables within one transaction.
pub(in crate::store) struct Tables<'a> {
    path: &'a Path,
    transaction: &'a Transaction<'a>,
}

fn json<T: Serialize + ?Sized>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|why| rusqlite::Error::ToSqlConversionFailure(Box::new(why)))
}

/// SQLite's numbers are signed. What comes here was checked to fit (records) or counts what lies on disk
/// (places).
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn word(act: &Operation) -> &'static str {
    match act {
        Operation::Begin { .. } => "begin",
        Operation::Capture { .. } => "capture",
        Operation::CaptureFailed { .. } => "capture-failed",
        Operation::AgentEvent { .. } => "agent-event",
        Operation::End { .. } => "end",
        Operation::Restore { .. } => "restore",
        Operation::Abort { .. } => "abort",
        Operation::Prune { .. } => "prune",
        Operation::Forget { .. } => "forget",
        Operation::Repack { .. } => "repack",
        Operation::Rename { .. } => "rename",
        Operation::Pin { .. } => "pin",
        Operation::Unpin { .. } => "unpin",
        Operation::Fork { .. } => "fork",
        Operation::Export { .. } => "export",
        Operation::Import { .. } => "import",
        Operation::Adopt { .. } => "adopt",
        Operation::AcceptLoss { .. } => "accept-loss",
    }
}

impl<'a> Tables<'a> {
    pub(super) fn new(path: &'a Path, transaction: &'a Transaction<'a>) -> Self {
        Self { path, transaction }
    }

    fn done<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| failure(self.path, error))
    }

    /// Empties everything.
    pub(in crate::store) fn reset(&self) -> Result<(), StoreError> {
        self.done(schema::reset(self.transaction))
    }

    /// The number of the last link that was applied; 0 when there is none.
    pub(in crate::store) fn last_number(&self) -> Result<u64, StoreError> {
        let last = self
            .transaction
            .prepare_cached("SELECT coalesce(max(number), 0) FROM receipts")
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, Count>(0)));
        Ok(self.done(last)?.0)
    }

    /// The digest of a snapshot's record, when its receipt was applied.
    pub(in crate::store) fn recorded_digest(&self, id: &SnapshotId) -> Result<Option<Digest>, StoreError> {
        let sql = "SELECT record FROM captures WHERE snapshot = ?1";
        let found = self
            .transaction
            .query_row(sql, [id.as_str()], |row| row.get::<_, Word<Digest>>(0));
        Ok(self.done(found.optional())?.map(|digest| digest.0))
    }

    /// Takes in one link of the chain.
    pub(in crate::store) fn apply_receipt(&self, link: &Link) -> Result<(), StoreError> {
        self.done(self.receipt(link))
    }

    /// Takes in one snapshot record.
    pub(in crate::store) fn apply_record(&self, record: &SnapshotRecord) -> Result<(), StoreError> {
        self.done(self.record(record))
    }

    fn receipt(&self, link: &Link) -> rusqlite::Result<()> {
        let Receipt {
            number,
            at,
            instance,
            act,
            ..
        } = &link.receipt;
        let instance = instance.as_ref().map_or("", InstanceId::as_str);
        self.transaction
            .prepare_cached("INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
            .execute(params![
                signed(*number),
                signed(link.place.start),
                signed(link.place.stop),
                link.place.hash.hex(),
                at.rfc3339(),
                instance,
                word(act),
                link.json,
            ])?;
        // One that somebody wrote without naming a session tells of none.
        let needs_one = matches!(
            act,
            Operation::Begin { .. }
                | Operation::Adopt { .. }
                | Operation::End { .. }
                | Operation::Rename { .. }
                | Operation::Pin { .. }
                | Operation::Unpin { .. }
        );
        if needs_one && instance.is_empty() {
            return Ok(());
        }
        match act {
            Operation::Begin {
                workspace,
                mode,
                mounts,
                keeper,
                boot,
                command,
                // Asked for one instance at a time, and then from the receipt.
                cleanup_policy: _,
                container: _,
                watched: _,
                agent: _,
                scripts: _,
                // Read from the receipt: a later one may change it.
                title: _,
            } => {
                let added = self.transaction.execute(
                    "INSERT OR IGNORE INTO instances
                     (id, begun, workspace, mode, mounts, keeper, boot, command, started_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                    params![
                        instance,
                        signed(*number),
                        workspace,
                        mode,
                        json(mounts)?,
                        keeper.as_ref().map(json).transpose()?,
                        boot,
                        command.as_ref().map(json).transpose()?,
                        at.rfc3339(),
                    ],
                )?;
                if added > 0 {
                    self.roots(
                        "INSERT OR IGNORE INTO instance_roots VALUES (?1, ?2)",
                        mounts.iter(),
                        instance,
                    )?;
                }
            }
            Operation::Adopt {
                workspace,
                mode,
                mounts,
                command,
                began,
                ended,
                ending,
                ..
            } => {
                let added = self.transaction.execute(
                    "INSERT OR IGNORE INTO instances
                     (id, begun, workspace, mode, mounts, keeper, boot, command, started_at, ended_at, ending, survivors)
                     VALUES (?1, ?2, ?3, ?4, ?5, NULL, '', ?6, ?7, ?8, ?9, '[]')",
                    params![
                        instance,
                        signed(*number),
                        workspace,
                        mode,
                        json(mounts)?,
                        command.as_ref().map(json).transpose()?,
                        began.rfc3339(),
                        ended.rfc3339(),
                        json(ending)?,
                    ],
                )?;
                self.roots(
                    "INSERT OR IGNORE INTO instance_roots VALUES (?1, ?2)",
                    mounts.iter(),
                    instance,
                )?;
                if added == 0 {
                    // It came with less of its history; a later import knows more.
                    if mode != IMPORTED {
                        self.transaction.execute(
                            "UPDATE instances SET workspace = ?2, mode = ?3, mounts = ?4, command = ?5, started_at = ?6
                             WHERE id = ?1 AND mode = ?7 AND NOT EXISTS (SELECT 1 FROM receipts
                             WHERE instance = ?1 AND act = 'adopt' AND NOT coalesce(json ->> '$.act.trusted', 0))",
                            params![
                                instance,
                                workspace,
                                mode,
                                json(mounts)?,
                                command.as_ref().map(json).transpose()?,
                                began.rfc3339(),
                                IMPORTED,
                            ],
                        )?;
                    }
                    self.transaction.execute(
                        "UPDATE instances SET ended_at = ?2, ending = ?3 WHERE id = ?1 AND ending = ?4",
                        params![instance, ended.rfc3339(), json(ending)?, json(&Ending::Unseen)?],
                    )?;
                }
            }
            Operation::Capture { snapshot, record, .. } => {
                self.transaction
                    .prepare_cached("INSERT OR IGNORE INTO captures VALUES (?1, ?2, ?3)")?
                    .execute(params![snapshot.as_str(), signed(*number), record.hex()])?;
            }
            // Who saw it end first knows best.
            Operation::End { ending, survivors } => {
                self.transaction.execute(
                    "UPDATE instances SET ended_at = ?2, ending = ?3, survivors = ?4
                     WHERE id = ?1 AND ended_at IS NULL",
                    params![instance, at.rfc3339(), json(ending)?, json(survivors)?],
                )?;
            }
            Operation::Prune { snapshots, .. } => {
                for pruned in snapshots {
                    self.pruned(*number, &pruned.id, pruned.instance.as_str())?;
                }
            }
            Operation::Forget {
                snapshots,
                amended,
                from,
                into,
                ..
            } => {
                for pruned in snapshots {
                    self.pruned(*number, &pruned.id, pruned.instance.as_str())?;
                }
                for amended in amended {
                    self.amended(*number, amended, into)?;
                }
                let sql = "INSERT OR IGNORE INTO forgotten_archives VALUES (?1, ?2)";
                for archive in from {
                    let mut statement = self.transaction.prepare_cached(sql)?;
                    statement.execute(params![archive.as_str(), signed(*number)])?;
                }
            }
            Operation::AcceptLoss { records, .. } => {
                for id in records {
                    let sql = "SELECT r.instance FROM captures c JOIN receipts r ON r.number = c.number
                               WHERE c.snapshot = ?1";
                    let mut session = self.transaction.prepare_cached(sql)?;
                    let session = session.query_row([id.as_str()], |row| row.get::<_, String>(0));
                    // One that no receipt tells of is not missed.
                    if let Some(session) = session.optional()? {
                        self.pruned(*number, id, &session)?;
                    }
                }
            }
            Operation::Pin { snapshot } => {
                let sql = "INSERT OR IGNORE INTO pins VALUES (?1, ?2)";
                self.pin(sql, instance, snapshot.as_ref())?;
            }
            // Of a whole session: with all of its snapshots.
            Operation::Unpin { snapshot } => {
                let sql = "DELETE FROM pins WHERE instance = ?1 AND (?2 = '' OR snapshot = ?2)";
                self.pin(sql, instance, snapshot.as_ref())?;
            }
            // Of a session that goes on.
            Operation::AgentEvent {
                keeper: Some(keeper), ..
            } => {
                self.transaction.execute(
                    "UPDATE instances SET keeper = ?2 WHERE id = ?1 AND ended_at IS NULL",
                    params![instance, json(keeper)?],
                )?;
            }
            // Names are read from the receipts.
            Operation::Rename { .. }
            | Operation::CaptureFailed { .. }
            // Read from the receipts as well.
            | Operation::AgentEvent { .. }
            | Operation::Restore { .. }
            | Operation::Abort { .. }
            | Operation::Repack { .. }
            | Operation::Fork { .. }
            | Operation::Export { .. }
            | Operation::Import { .. } => {}
        }
        Ok(())
    }

    fn pin(&self, sql: &str, instance: &str, snapshot: Option<&SnapshotId>) -> rusqlite::Result<()> {
        let snapshot = snapshot.map_or("", SnapshotId::as_str);
        self.transaction.execute(sql, params![instance, snapshot])?;
        Ok(())
    }

    /// Applies the prune of a snapshot, whether or not its record is gone already.
    fn pruned(&self, number: u64, id: &SnapshotId, session: &str) -> rusqlite::Result<()> {
        let id = id.as_str();
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO pruned VALUES (?1, ?2, ?3)")?
            .execute(params![id, session, signed(number)])?;
        for sql in [
            "DELETE FROM snapshots WHERE id = ?1",
            "DELETE FROM snapshot_roots WHERE snapshot = ?1",
            "DELETE FROM pins WHERE snapshot = ?1",
        ] {
            self.transaction.prepare_cached(sql)?.execute([id])?;
        }
        Ok(())
    }

    /// Applies the loss of paths, whether or not the record was applied already.
    fn amended(&self, number: u64, amended: &AmendedSnapshot, into: &[ArchiveRef]) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO amendments VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                amended.snapshot.as_str(),
                signed(number),
                json(amended)?,
                json(into)?
            ])?;
        self.amend(amended)
    }

    fn amend(&self, amended: &AmendedSnapshot) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("UPDATE snapshots SET complete = ?2, entries = ?3, bytes = ?4 WHERE id = ?1")?
            .execute(params![
                amended.snapshot.as_str(),
                amended.complete,
                signed(amended.entries),
                signed(amended.bytes)
            ])?;
        Ok(())
    }

    /// Applies the last amendment of a snapshot to its row.
    fn amend_row(&self, id: &SnapshotId) -> rusqlite::Result<()> {
        let sql = "SELECT amended FROM amendments WHERE snapshot = ?1 ORDER BY number DESC LIMIT 1";
        let mut statement = self.transaction.prepare_cached(sql)?;
        let found = statement.query_row([id.as_str()], |row| row.get::<_, Json<AmendedSnapshot>>(0));
        match found.optional()? {
            Some(Json(amended)) => self.amend(&amended),
            None => Ok(()),
        }
    }

    fn is_pruned(&self, id: &SnapshotId) -> rusqlite::Result<bool> {
        let sql = "SELECT 1 FROM pruned WHERE snapshot = ?1";
        self.transaction.prepare_cached(sql)?.exists([id.as_str()])
    }

    fn record(&self, record: &SnapshotRecord) -> rusqlite::Result<()> {
        if self.is_pruned(&record.id)? {
            return Ok(());
        }
        let coverages: Vec<&Coverage> = record.mounts.iter().map(|mount| &mount.coverage).collect();
        let added = self
            .transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO snapshots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                record.id.as_str(),
                record.instance.as_str(),
                record.workspace,
                record.kind.word(),
                record.late,
                record.name,
                record.message,
                record.taken_at.rfc3339(),
                record.complete,
                signed(record.entries()),
                signed(record.bytes()),
                json(&coverages)?,
            ])?;
        if added > 0 {
            let sql = "INSERT OR IGNORE INTO snapshot_roots VALUES (?1, ?2)";
            self.roots(sql, coverages.into_iter(), record.id.as_str())?;
            self.amend_row(&record.id)?;
        }
        Ok(())
    }

    fn roots<'c>(
        &self,
        sql: &str,
        mounts: impl Iterator<Item = &'c Coverage>,
        id: &str,
    ) -> rusqlite::Result<()> {
        let mut statement = self.transaction.prepare_cached(sql)?;
        for coverage in mounts {
            statement.execute(params![coverage.root.0, id])?;
        }
        Ok(())
    }
}
