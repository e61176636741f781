//! Queries for receipts and restores.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension as _, Row};

use super::Catalog;
use super::row::{self, AgentEventRow, CaptureRow, Count, Json, RestoreRow, Word};
use crate::model::{ArchiveId, CallRef, ChangeCounts, InstanceId, Operation, Receipt, SnapshotId};
use crate::store::StoreError;
use crate::store::log::Place;

fn receipt(row: &Row<'_>) -> rusqlite::Result<Receipt> {
    row.get::<_, Json<Receipt>>(0).map(|json| json.0)
}

impl Catalog {
    /// Returns the archives that repacks and forgets wrote.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub(in crate::store) fn repacked_archives(&self) -> Result<HashSet<ArchiveId>, StoreError> {
        let sql = "SELECT json_extract(json, '$.act.into.id') FROM receipts WHERE act = 'repack'
                   UNION SELECT json_extract(written.value, '$.id') FROM receipts r, json_each(r.json, '$.act.into') AS written
                   WHERE r.act = 'forget'";
        let id = |row: &Row<'_>| row.get::<_, Word<ArchiveId>>(0).map(|word| word.0);
        self.query(|connection| connection.prepare_cached(sql)?.query_map([], id)?.collect())
    }

    /// The receipt with this number.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn receipt(&self, number: u64) -> Result<Option<Receipt>, StoreError> {
        let Ok(number) = i64::try_from(number) else {
            return Ok(None);
        };
        let sql = "SELECT json FROM receipts WHERE number = ?1";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([number], receipt)
                .optional()
        })
    }

    /// The number of the newest receipt; 0 when there is none.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn newest_receipt(&self) -> Result<u64, StoreError> {
        let sql = "SELECT max(number) FROM receipts";
        self.query(|connection| {
            let newest: Option<Count> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            Ok(newest.map_or(0, |count| count.0))
        })
    }

    /// The sessions that receipts with a number above `number` are about.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn concerned_since(&self, number: u64) -> Result<Vec<InstanceId>, StoreError> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let sql = "SELECT json FROM receipts WHERE number > ?1 AND instance IS NOT NULL";
        let found: Vec<Receipt> = self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([number], receipt)?
                .collect()
        })?;
        Ok(found.into_iter().filter_map(|receipt| receipt.instance).collect())
    }

    /// Returns true if a receipt with a number above `number` tells that archives were rewritten.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn has_rewritten_since(&self, number: u64) -> Result<bool, StoreError> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let sql = "SELECT EXISTS (SELECT 1 FROM receipts WHERE number > ?1 AND act IN ('forget', 'repack'))";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([number], |row| row.get(0))
        })
    }

    /// Returns the snapshots whose receipts are lost, which the operator has accepted.
    pub(in crate::store) fn accepted(&self) -> Result<HashSet<SnapshotId>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE act = 'accept-loss'";
        let found: Vec<Receipt> =
            self.ask(|connection| connection.prepare_cached(sql)?.query_map([], receipt)?.collect())?;
        let snapshots = |receipt: Receipt| match receipt.act {
            Operation::AcceptLoss { snapshots, .. } => snapshots,
            _ => Vec::new(),
        };
        Ok(found.into_iter().flat_map(snapshots).collect())
    }

    /// Every receipt of an instance, newest first.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn receipts_of(&self, instance: &InstanceId) -> Result<Vec<Receipt>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE instance = ?1 ORDER BY number DESC";
        self.of_instance(sql, instance)
    }

    /// Returns true if the session came from the copy of another store.
    ///
    /// # Errors
    /// [`StoreError::Catalog`].
    pub fn is_adopted(&self, instance: &InstanceId) -> Result<bool, StoreError> {
        let (begun, _) = self.lifetime(instance)?;
        let receipt = match begun {
            Some(number) => self.receipt(number)?,
            None => None,
        };
        Ok(receipt.is_some_and(|receipt| matches!(receipt.act, Operation::Adopt { .. })))
    }

    /// Returns the receipts that a query finds for an instance.
    fn of_instance(&self, sql: &str, instance: &InstanceId) -> Result<Vec<Receipt>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([instance.as_str()], receipt)?
                .collect()
        })
    }

    /// Every event that agents reported in an instance, oldest first.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn agent_events(&self, instance: &InstanceId) -> Result<Vec<AgentEventRow>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE instance = ?1 AND act = 'agent-event' ORDER BY number";
        let found = self.of_instance(sql, instance)?;
        Ok(found.into_iter().filter_map(row::agent_event).collect())
    }

    /// Returns the number of the last turn of an instance, and true if its end was reported; (0, true) if there was none.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn last_turn(&self, instance: &InstanceId) -> Result<(u32, bool), StoreError> {
        let sql = "SELECT json ->> '$.act.turn', json ->> '$.act.event' = 'turn-end' FROM receipts
                   WHERE instance = ?1 AND act = 'agent-event' AND json ->> '$.act.event' IN ('prompt', 'turn-end')
                   ORDER BY number DESC LIMIT 1";
        let found = self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([instance.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        Ok(found.unwrap_or((0, true)))
    }

    /// Returns the text of the newest prompt of each instance that has one, as far as it was recorded.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn last_prompts(&self) -> Result<HashMap<InstanceId, String>, StoreError> {
        // Of each session only the events of its last turn are read.
        let sql = "SELECT id, prompt FROM (SELECT id, (SELECT json ->> '$.act.text' FROM receipts
                   WHERE instance = instances.id AND act = 'agent-event' AND json ->> '$.act.event' = 'prompt'
                   AND json ->> '$.act.text' IS NOT NULL ORDER BY number DESC LIMIT 1) AS prompt FROM instances)
                   WHERE prompt IS NOT NULL";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([], |row| Ok((row.get::<_, Word<_>>(0)?.0, row.get(1)?)))?
                .collect()
        })
    }

    /// Returns true if a snapshot of a session was taken, or an attempt failed.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn was_captured(&self, instance: &InstanceId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM receipts
                   WHERE instance = ?1 AND act IN ('capture', 'capture-failed'))";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([instance.as_str()], |row| row.get(0))
        })
    }

    /// Returns true if an attempt to take the baseline of a session failed: the session may have run without one.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn has_failed_baseline(&self, instance: &InstanceId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM receipts
                   WHERE instance = ?1 AND act = 'capture-failed' AND json ->> '$.act.kind' = 'baseline')";
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([instance.as_str()], |row| row.get(0))
        })
    }

    /// The numbers of the receipts with which an instance began and ended, as far as there are any. What the clock said then proves
    /// no order: it may have been set in between. Of several ends the first counts, as in the session's row; an adopted session has one for
    /// each import, and the last counts.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn lifetime(&self, instance: &InstanceId) -> Result<(Option<u64>, Option<u64>), StoreError> {
        let sql =
            "SELECT (SELECT min(number) FROM receipts WHERE instance = ?1 AND act IN ('begin', 'adopt')),
                          (SELECT CASE WHEN EXISTS (SELECT 1 FROM receipts WHERE instance = ?1 AND act = 'adopt')
                                  THEN max(number) ELSE min(number) END FROM receipts WHERE instance = ?1 AND act = 'end')";
        let number = |row: &Row<'_>, at| -> rusqlite::Result<Option<u64>> {
            Ok(row.get::<_, Option<Count>>(at)?.map(|count| count.0))
        };
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row([instance.as_str()], |row| Ok((number(row, 0)?, number(row, 1)?)))
        })
    }

    /// The recorded reason for each session that ended without a closing snapshot because that failed. A session whose snapshots
    /// are all pruned is not among them.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn missing_closings(&self) -> Result<HashMap<InstanceId, String>, StoreError> {
        let sql = "SELECT json FROM receipts AS failed
                   WHERE act = 'capture-failed' AND json ->> '$.act.kind' = 'closing'
                   AND EXISTS (SELECT 1 FROM receipts WHERE instance = failed.instance AND act = 'end')
                   AND NOT EXISTS (SELECT 1 FROM receipts WHERE instance = failed.instance AND act = 'capture'
                                   AND json ->> '$.act.kind' = 'closing')
                   AND EXISTS (SELECT 1 FROM snapshots WHERE instance = failed.instance)
                   ORDER BY number";
        let found: Vec<Receipt> =
            self.query(|connection| connection.prepare_cached(sql)?.query_map([], receipt)?.collect())?;
        let reason = |receipt: Receipt| match receipt.act {
            Operation::CaptureFailed { error, .. } => Some((receipt.instance?, error)),
            _ => None,
        };
        Ok(found.into_iter().filter_map(reason).collect())
    }

    /// Every restore and undo of an instance, newest first.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn restores(&self, instance: &InstanceId) -> Result<Vec<RestoreRow>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE instance = ?1 AND act = 'restore' ORDER BY number DESC";
        let found = self.of_instance(sql, instance)?;
        Ok(found.into_iter().filter_map(row::restore).collect())
    }

    /// Returns the restores that the session itself began and that were rolled back after its end: the snapshot that each was to bring
    /// back, and the one that shows what is there again.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn rolled_back_later(
        &self,
        instance: &InstanceId,
    ) -> Result<Vec<(SnapshotId, SnapshotId)>, StoreError> {
        let (_, Some(ended)) = self.lifetime(instance)? else {
            return Ok(Vec::new());
        };
        let sql = "SELECT json FROM receipts WHERE instance = ?1 AND act = 'abort' ORDER BY number DESC";
        let found = self.of_instance(sql, instance)?;
        let later = found.into_iter().filter(|receipt| receipt.number > ended);
        Ok(later
            .filter_map(|receipt| match receipt.act {
                Operation::Abort {
                    target,
                    emergency: Some(emergency),
                    as_is: false,
                    inside: true,
                    ..
                } => Some((target, emergency)),
                _ => None,
            })
            .collect())
    }

    /// The last restore or undo of each instance that had one.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn last_restores(&self) -> Result<HashMap<InstanceId, RestoreRow>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE number IN
                   (SELECT max(number) FROM receipts WHERE act = 'restore' GROUP BY instance)";
        let found: Vec<Receipt> =
            self.query(|connection| connection.prepare_cached(sql)?.query_map([], receipt)?.collect())?;
        let pair = |receipt: Receipt| Some((receipt.instance.clone()?, row::restore(receipt)?));
        Ok(found.into_iter().filter_map(pair).collect())
    }

    /// Returns the last snapshot of a session that was captured before the receipt `number`, also if it was pruned since. Emergency
    /// snapshots do not count, and the baseline counts as the first, also if it was stored after others.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn captured_before(
        &self,
        instance: &InstanceId,
        number: u64,
    ) -> Result<Option<SnapshotId>, StoreError> {
        let sql = "SELECT json ->> '$.act.snapshot' FROM receipts
                   WHERE instance = ?1 AND act = 'capture' AND json ->> '$.act.kind' <> 'emergency'
                     AND (number < ?2 OR json ->> '$.act.kind' = 'baseline')
                   ORDER BY json ->> '$.act.kind' = 'baseline', number DESC LIMIT 1";
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_row(rusqlite::params![instance.as_str(), number], |row| {
                    Ok(row.get::<_, Word<_>>(0)?.0)
                })
                .optional()
        })
    }

    /// Returns every captured snapshot of a session, newest first and its baseline last, also those pruned since.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn captures(&self, instance: &InstanceId) -> Result<Vec<CaptureRow>, StoreError> {
        let sql = "SELECT json ->> '$.act.snapshot', json ->> '$.act.kind', json -> '$.act.step', json -> '$.act.call',
                          json ->> '$.act.name', number, json ->> '$.act.since'
                   FROM receipts WHERE instance = ?1 AND act = 'capture'
                   ORDER BY json ->> '$.act.kind' = 'baseline', number DESC";
        let captured = |row: &Row<'_>| {
            let step = row.get::<_, Option<Json<ChangeCounts>>>(2)?;
            let call = row.get::<_, Option<Json<CallRef>>>(3)?;
            Ok(CaptureRow {
                snapshot: row.get::<_, Word<_>>(0)?.0,
                kind: row.get::<_, Word<_>>(1)?.0,
                name: row.get(4)?,
                number: row.get::<_, Count>(5)?.0,
                step: step.map(|json| json.0),
                call: call.map(|json| json.0),
                since: row.get::<_, Option<Count>>(6)?.map(|count| count.0),
            })
        };
        self.query(|connection| {
            connection
                .prepare_cached(sql)?
                .query_map([instance.as_str()], captured)?
                .collect()
        })
    }

    /// The receipt that tells how the restore with this emergency snapshot ended, when there is one. It need not be the last: a restore
    /// whose old files cannot be removed yet stays, with its receipt, while others of its instance follow.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn end_of_restore(
        &self,
        instance: &InstanceId,
        emergency: &SnapshotId,
    ) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT json FROM receipts WHERE instance = ?1 AND act IN ('restore', 'abort')
                   ORDER BY number DESC";
        let is_meant = |receipt: &Receipt| match &receipt.act {
            Operation::Restore { emergency: taken, .. } => taken == emergency,
            Operation::Abort { emergency: taken, .. } => taken.as_ref() == Some(emergency),
            _ => false,
        };
        self.query(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = statement.query_map([instance.as_str()], receipt)?;
            let meant = found.find(|found| found.as_ref().map_or(true, is_meant));
            Ok(meant.transpose()?.map(|receipt| receipt.number))
        })
    }

    /// The text of every receipt that was applied, in their order.
    pub(in crate::store) fn links(&self) -> Result<Vec<String>, StoreError> {
        self.ask(|connection| {
            connection
                .prepare_cached("SELECT json FROM receipts ORDER BY number")?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    /// The last receipt that was applied.
    pub(in crate::store) fn last_receipt(&self) -> Result<Place, StoreError> {
        let sql = "SELECT number, start, stop, hash FROM receipts ORDER BY number DESC LIMIT 1";
        let place = |row: &Row<'_>| {
            Ok(Place {
                number: row.get::<_, Count>(0)?.0,
                start: row.get::<_, Count>(1)?.0,
                stop: row.get::<_, Count>(2)?.0,
                hash: row.get::<_, Word<_>>(3)?.0,
            })
        };
        let last = self.ask(|connection| connection.prepare_cached(sql)?.query_row([], place).optional())?;
        Ok(last.unwrap_or(Place::BEGIN))
    }
}
