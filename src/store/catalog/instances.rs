//! Queries for instances; newest first, in the order of the chain.

use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Params, params, params_from_iter};

use super::Catalog;
use super::row::{self, IMPORTED, InstanceRow, Json, Word};
use crate::model::{AgentRef, ByteString, InstanceId, Operation, ProcessRef, Time};
use crate::store::StoreError;

/// The order of the chain; what the chain does not order goes by time, then by id, so that it is always the
/// same.
const NEWEST_FIRST: &str = "ORDER BY place DESC, started_at DESC, id DESC";

/// Condition for a mount at exactly the root `?1`.
const ON_ROOT: &str = "id IN (SELECT instance FROM instance_roots WHERE root = ?1
    UNION SELECT s.instance FROM snapshot_roots r JOIN snapshots s ON s.id = r.snapshot WHERE r.root = ?1)";

/// Receipt of the beginning, and of the end, of a session and of the one with the id `?1`.
const FIRST: &str =
    "(SELECT min(number) FROM receipts WHERE instance = sessions.id AND act IN ('begin', 'adopt'))";
const LAST: &str = "(SELECT max(number) FROM receipts WHERE instance = sessions.id AND act = 'end')";
const OWN_FIRST: &str =
    "(SELECT min(number) FROM receipts WHERE instance = ?1 AND act IN ('begin', 'adopt'))";
const OWN_LAST: &str = "(SELECT max(number) FROM receipts WHERE instance = ?1 AND act = 'end')";

/// Identifying facts about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceBrief {
    /// Its id.
    pub id: InstanceId,
    /// Its workspace, when it has one.
    pub workspace: Option<String>,
    /// True if it began here and its baseline did not fail.
    pub began: bool,
}

impl Catalog {
    fn instances_where(&self, condition: &str, with: impl Params) -> Result<Vec<InstanceRow>, StoreError> {
        let sql = format!(
            "SELECT {} FROM sessions WHERE {condition} {NEWEST_FIRST}",
            row::INSTANCE
        );
        self.query(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(with, row::instance)?
                .collect()
        })
    }

    /// All instances, in short: what they are found by, without a look at all that is known of each.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_in_short(&self) -> Result<Vec<InstanceBrief>, StoreError> {
        let sql = format!(
            "SELECT id, workspace, mode <> '{IMPORTED}' AND coalesce(ending, '') NOT LIKE '{{\"failed\"%' FROM sessions {NEWEST_FIRST}"
        );
        let brief = |row: &rusqlite::Row<'_>| {
            Ok(InstanceBrief {
                id: row.get::<_, Word<_>>(0)?.0,
                workspace: row.get(1)?,
                began: row.get(2)?,
            })
        };
        self.query(|connection| connection.prepare_cached(&sql)?.query_map([], brief)?.collect())
    }

    /// All instances.
    ///
    /// # Errors
    /// [`StoreError::Catalog`], [`StoreError::Damaged`]; so for every query.
    pub fn instances(&self) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where("true", [])
    }

    /// The instances that snapshots are left of, or that were restored, in the same order.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_with_snapshots(&self) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where(
            "id IN (SELECT instance FROM snapshots UNION SELECT instance FROM receipts WHERE act = 'restore')",
            [],
        )
    }

    /// The end of the instance before the newest one, or its start if no end is recorded.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn end_before_newest(&self) -> Result<Option<Time>, StoreError> {
        let sql =
            format!("SELECT coalesce(ended_at, started_at) FROM sessions {NEWEST_FIRST} LIMIT 1 OFFSET 1");
        let time = |row: &rusqlite::Row<'_>| row.get::<_, Word<Time>>(0).map(|word| word.0);
        self.query(|connection| connection.prepare_cached(&sql)?.query_row([], time).optional())
    }

    /// Returns true if another instance has no end in the chain, or one after that of this one.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn some_outlast(&self, instance: &InstanceId) -> Result<bool, StoreError> {
        let sql =
            format!("SELECT 1 FROM sessions WHERE id <> ?1 AND NOT coalesce({LAST} < {OWN_LAST}, false)");
        self.query(|connection| connection.prepare_cached(&sql)?.exists([instance.as_str()]))
    }

    /// The other instances, but those that the chain proves to have ended before this one began or to have begun after it had ended.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_beside(&self, instance: &InstanceId) -> Result<Vec<InstanceRow>, StoreError> {
        let condition = format!(
            "id <> ?1 AND NOT coalesce({LAST} < {OWN_FIRST}, false) AND NOT coalesce({FIRST} > {OWN_LAST}, false)"
        );
        self.instances_where(&condition, [instance.as_str()])
    }

    /// The instances that began after a receipt, in the same order; imported ones began elsewhere.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_begun_after(&self, receipt: u64) -> Result<Vec<InstanceRow>, StoreError> {
        let receipt = i64::try_from(receipt).unwrap_or(i64::MAX);
        let condition = "id IN (SELECT instance FROM receipts WHERE act = 'begin' AND number > ?1)";
        self.instances_where(condition, params![receipt])
    }

    /// Every instance without a recorded end, in the same order.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn open_instances(&self) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where("ended_at IS NULL", [])
    }

    /// The instances that may be active, in the same order: those without a recorded end or with processes that outlived it, and
    /// those of `ids`.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_that_may_live<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<InstanceRow>, StoreError> {
        let ids: Vec<&String> = ids.into_iter().collect();
        let condition = format!(
            "ended_at IS NULL OR coalesce(survivors, '[]') <> '[]' OR id IN ({})",
            vec!["?"; ids.len()].join(", ")
        );
        self.instances_where(&condition, params_from_iter(ids))
    }

    /// The instance with this id.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instance(&self, id: &InstanceId) -> Result<Option<InstanceRow>, StoreError> {
        Ok(self.instances_where("id = ?1", [id.as_str()])?.into_iter().next())
    }

    /// Every instance whose id begins with `prefix`.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn find_instances(&self, prefix: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where("substr(id, 1, length(?1)) = ?1", [prefix])
    }

    /// The instance that began last.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn latest_instance(&self) -> Result<Option<InstanceRow>, StoreError> {
        let condition = format!("id = (SELECT id FROM sessions {NEWEST_FIRST} LIMIT 1)");
        Ok(self.instances_where(&condition, [])?.into_iter().next())
    }

    /// The instances of a workspace.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_of_workspace(&self, workspace: &str) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where("workspace = ?1", [workspace])
    }

    /// The instances that began for a container of jackin's, by its name or jackin's id of it.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_of_container(&self, called: &str) -> Result<Vec<InstanceRow>, StoreError> {
        let condition = "id IN (SELECT instance FROM receipts WHERE act = 'begin'
             AND ?1 IN (json ->> '$.act.container.name', json ->> '$.act.container.id'))";
        self.instances_where(condition, params![called])
    }

    /// The instances that the operator gave this name, and no other since.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_named(&self, name: &str) -> Result<Vec<InstanceRow>, StoreError> {
        let condition = "id IN (SELECT instance FROM receipts r WHERE act IN ('begin', 'adopt', 'rename')
             AND json ->> '$.act.name' = ?1 AND NOT EXISTS (SELECT 1 FROM receipts later
             WHERE later.instance = r.instance AND later.act = 'rename' AND later.number > r.number))";
        self.instances_where(condition, [name])
    }

    /// The instances that a hook of this agent began for this session of its own.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_of_agent(&self, agent: &AgentRef) -> Result<Vec<InstanceRow>, StoreError> {
        let condition = "id IN (SELECT instance FROM receipts WHERE act = 'begin'
             AND json ->> '$.act.agent.name' = ?1 AND json ->> '$.act.agent.session' = ?2)";
        self.instances_where(condition, params![agent.name, agent.session])
    }

    /// Returns the agent whose hook or tool began the instance; `None` if the operator or a launcher did.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn beginner(&self, instance: &InstanceId) -> Result<Option<AgentRef>, StoreError> {
        let (first, _) = self.lifetime(instance)?;
        let receipt = first.map(|number| self.receipt(number)).transpose()?.flatten();
        Ok(match receipt.map(|receipt| receipt.act) {
            Some(Operation::Begin { agent, .. }) => agent,
            _ => None,
        })
    }

    /// Returns the shells that run a script, below the keeper, by which the event came that began the instance.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn first_scripts(&self, instance: &InstanceId) -> Result<Vec<ProcessRef>, StoreError> {
        let (first, _) = self.lifetime(instance)?;
        let receipt = first.map(|number| self.receipt(number)).transpose()?.flatten();
        Ok(match receipt.map(|receipt| receipt.act) {
            Some(Operation::Begin { scripts, .. }) => scripts,
            _ => Vec::new(),
        })
    }

    /// Returns the conversation of each instance that has one, newest instance first: that of the agent whose hook began it, else that
    /// of the agent which reported an event in it last.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn conversations(&self) -> Result<Vec<(InstanceId, AgentRef)>, StoreError> {
        self.conversations_where("true", [])
    }

    /// Returns the conversation of an instance, as [`Self::conversations`] does.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn conversation(&self, instance: &InstanceId) -> Result<Option<AgentRef>, StoreError> {
        let found = self.conversations_where("id = ?1", [instance.as_str()])?;
        Ok(found.into_iter().next().map(|(_, agent)| agent))
    }

    fn conversations_where(
        &self,
        condition: &str,
        with: impl Params,
    ) -> Result<Vec<(InstanceId, AgentRef)>, StoreError> {
        let agent = |act: &str, order: &str| {
            format!(
                "(SELECT json -> '$.act.agent' FROM receipts WHERE instance = sessions.id AND act = '{act}'
                  AND json ->> '$.act.agent.session' <> '' ORDER BY number {order} LIMIT 1)"
            )
        };
        let sql = format!(
            "SELECT id, agent FROM (SELECT id, place, started_at, coalesce({}, {}) AS agent FROM sessions WHERE {condition})
             WHERE agent IS NOT NULL {NEWEST_FIRST}",
            agent("begin", "ASC"),
            agent("agent-event", "DESC"),
        );
        let pair =
            |row: &rusqlite::Row<'_>| Ok((row.get::<_, Word<_>>(0)?.0, row.get::<_, Json<AgentRef>>(1)?.0));
        self.query(|connection| connection.prepare_cached(&sql)?.query_map(with, pair)?.collect())
    }

    /// The instances with a mount at exactly this root (canonical host path, as bytes).
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_on_root(&self, root: &[u8]) -> Result<Vec<InstanceRow>, StoreError> {
        self.instances_where(ON_ROOT, params![root])
    }

    /// The instances with a restore, or an undo, whose receipt has this number or a later one.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn restored_since(&self, number: u64) -> Result<Vec<InstanceRow>, StoreError> {
        let restored = "id IN (SELECT instance FROM receipts WHERE act = 'restore' AND number >= ?1)";
        self.instances_where(restored, params![i64::try_from(number).unwrap_or(i64::MAX)])
    }

    /// The ids of the newest instances with a mount at exactly this root, or of this workspace; without a root, of all. At most `most`.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn newest_instances(
        &self,
        root: Option<&[u8]>,
        workspace: Option<&str>,
        most: u32,
    ) -> Result<Vec<InstanceId>, StoreError> {
        let sql = format!(
            "SELECT id FROM sessions WHERE ?1 IS NULL OR workspace = ?2 OR {ON_ROOT} {NEWEST_FIRST} LIMIT ?3"
        );
        let id = |row: &rusqlite::Row<'_>| row.get::<_, Word<InstanceId>>(0).map(|word| word.0);
        self.query(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(params![root, workspace, most], id)?
                .collect()
        })
    }

    /// The ids of the instances with a mount at this directory or at one above it (canonical host path), also one of which no file is
    /// kept. What of the mount they cover is not looked at.
    ///
    /// # Errors
    /// As [`Catalog::instances`].
    pub fn instances_around(&self, directory: &Path) -> Result<Vec<InstanceId>, StoreError> {
        let roots: Vec<Vec<u8>> = directory
            .ancestors()
            .map(|root| ByteString::from(root).0)
            .collect();
        // Only the receipt has the roots of which no file is kept, in JSON.
        let written = |root: &Vec<u8>| serde_json::to_string(&ByteString(root.clone())).unwrap_or_default();
        let written: Vec<String> = roots.iter().map(written).collect();
        let sql = format!(
            "WITH around (root, written) AS (VALUES {})
             SELECT id FROM sessions WHERE id IN (SELECT instance FROM instance_roots WHERE root IN (SELECT root FROM around)
             UNION SELECT s.instance FROM snapshot_roots r JOIN snapshots s ON s.id = r.snapshot
             WHERE r.root IN (SELECT root FROM around)
             UNION SELECT i.id FROM instances i JOIN receipts r ON r.number = i.begun,
             json_each(r.json, '$.act.watched') AS watched
             WHERE i.mode = 'metadata' AND watched.value -> '$.coverage.root' IN (SELECT written FROM around)) {NEWEST_FIRST}",
            vec!["(?, ?)"; roots.len()].join(", ")
        );
        let roots = roots.into_iter().map(Value::Blob);
        let values = roots.zip(written.into_iter().map(Value::Text));
        let values: Vec<Value> = values.flat_map(|(root, written)| [root, written]).collect();
        let id = |row: &rusqlite::Row<'_>| row.get::<_, Word<InstanceId>>(0).map(|word| word.0);
        self.query(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(params_from_iter(values), id)?
                .collect()
        })
    }
}
