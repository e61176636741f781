//! Typed rows that queries return, and the conversion of columns to types.

use handle_fs::Locations;
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use crate::model::{
    AgentEvent, AgentRef, AsideChange, CallRef, ChangeCounts, Coverage, Ending, InstanceId, Operation,
    PathChange, ProcessRef, Receipt, RestoreKind, SessionTitle, SnapshotId, SnapshotKind, StepRef, Time,
    WatchedMount, count_paths,
};

/// The mode of a session that came from a file.
pub const IMPORTED: &str = "imported";

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// Its id.
    pub id: InstanceId,
    /// Workspace name, when there is one.
    pub workspace: Option<String>,
    /// Recovery mode in words; `unknown` when its first receipt is lost and only snapshots tell of it.
    pub mode: String,
    /// Coverage of its snapshots.
    pub mounts: Vec<Coverage>,
    /// Mounts whose files are not kept, in mode `metadata`.
    pub watched: Vec<Coverage>,
    /// The process whose life is the instance's.
    pub keeper: Option<ProcessRef>,
    /// The boot in which it began; empty when that is lost.
    pub boot: String,
    /// Program name and number of arguments.
    pub command: Option<(String, u32)>,
    /// Time of its start.
    pub started_at: Time,
    /// Time when its end was recorded; `None` if it was not.
    pub ended_at: Option<Time>,
    /// Way in which it ended, if known.
    pub ending: Option<Ending>,
    /// Processes that still lived then.
    pub survivors: Vec<ProcessRef>,
    /// Name, message and recorded arguments.
    pub title: SessionTitle,
}

impl InstanceRow {
    /// Returns true if it came from a file: its paths are those of another machine, or of another time.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.mode == IMPORTED
    }

    /// Returns the mounts in which its agent may write any file as long as the session lives, whatever the snapshots have of them.
    pub fn writable(&self) -> impl Iterator<Item = &Coverage> {
        self.mounts.iter().chain(&self.watched)
    }

    /// Returns true if the agent of another session may write what the snapshots of this one cover.
    #[must_use]
    pub fn is_reached_from(&self, other: &Self, locations: &Locations) -> bool {
        let mut own = self.mounts.iter();
        own.any(|own| {
            other
                .writable()
                .any(|theirs| own.reached_from(theirs, locations).is_some())
        })
    }
}

/// Capture of a snapshot, from its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureRow {
    /// Its id.
    pub snapshot: SnapshotId,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// Number of its receipt.
    pub number: u64,
    /// A checkpoint's name, if its receipt has it.
    pub name: Option<String>,
    /// Changes since the previous snapshot; `None` if they were not counted.
    pub step: Option<ChangeCounts>,
    /// The tool call that it was taken before.
    pub call: Option<CallRef>,
    /// Number of the newest receipt before the files were looked at, if it is known.
    pub since: Option<u64>,
}

/// An event of an agent, from its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEventRow {
    /// Number of the receipt.
    pub number: u64,
    /// Time of the event.
    pub at: Time,
    /// The agent.
    pub agent: AgentRef,
    /// The reported event.
    pub event: AgentEvent,
    /// Number of the newest receipt before jackin looked at the files.
    pub since: u64,
    /// The snapshot that shows the files as they were then, if there is one.
    pub snapshot: Option<SnapshotId>,
}

/// Returns the event that a receipt records.
pub(super) fn agent_event(receipt: Receipt) -> Option<AgentEventRow> {
    match receipt.act {
        Operation::AgentEvent {
            agent,
            event,
            since,
            snapshot,
            keeper: _,
        } => Some(AgentEventRow {
            number: receipt.number,
            at: receipt.at,
            agent,
            event,
            since,
            snapshot,
        }),
        _ => None,
    }
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotRow {
    /// Its id.
    pub id: SnapshotId,
    /// The instance it belongs to.
    pub instance: InstanceId,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// True if it was taken late, because the session's end was missed, or behind a recorded end: it may show later edits.
    pub late: bool,
    /// A checkpoint's name.
    pub name: Option<String>,
    /// A checkpoint's message.
    pub message: Option<String>,
    /// Time when the capture began.
    pub taken_at: Time,
    /// True if the snapshot has everything inside its coverage.
    pub complete: bool,
    /// Entries over all mounts.
    pub entries: u64,
    /// Bytes over all mounts.
    pub bytes: u64,
    /// Number of its receipt; `None` if its process was killed before it was written.
    pub receipt: Option<u64>,
}

/// A restore or an undo, from its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreRow {
    /// Number of the receipt.
    pub number: u64,
    /// Time of the restore.
    pub at: Time,
    /// Kind of the command.
    pub kind: RestoreKind,
    /// The snapshot that files were restored to.
    pub target: SnapshotId,
    /// The emergency snapshot of the state before.
    pub emergency: SnapshotId,
    /// Number of the receipt that an undo reverted; `None` for a restore.
    pub undoes: Option<u64>,
    /// Step that was reverted alone, if any.
    pub only_changes_of: Option<StepRef>,
    /// True if the session itself requested it, from within.
    pub inside: bool,
    /// Numeric user that requested it.
    pub uid: u32,
    /// Every path that changed.
    pub changed: Vec<PathChange>,
    /// Paths kept because of later edits.
    pub conflicts: u64,
    /// Paths that could not be changed.
    pub failed: u64,
    /// Excluded directories that were set aside or brought back.
    pub aside: Vec<AsideChange>,
}

impl RestoreRow {
    /// Returns the number of changed paths ([`count_paths`]).
    #[must_use]
    pub fn paths(&self) -> u64 {
        count_paths(&self.changed)
    }

    /// The number of the receipt that took it back, among all restores of its instance.
    #[must_use]
    pub fn taken_back_by(&self, all: &[Self]) -> Option<u64> {
        let by = all.iter().find(|other| other.undoes == Some(self.number));
        by.map(|other| other.number)
    }
}

/// A column of JSON.
pub(super) struct Json<T>(pub(super) T);

/// A column with a word that serde knows: an id, a kind, a time.
pub(super) struct Word<T>(pub(super) T);

/// A column with a number that is not negative.
pub(super) struct Count(pub(super) u64);

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?)
            .map(Self)
            .map_err(|why| FromSqlError::Other(Box::new(why)))
    }
}

impl<T: DeserializeOwned> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word: StrDeserializer<'_, WordError> = value.as_str()?.into_deserializer();
        T::deserialize(word)
            .map(Self)
            .map_err(|why| FromSqlError::Other(Box::new(why)))
    }
}

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number)
            .map(Self)
            .map_err(|_| FromSqlError::OutOfRange(number))
    }
}

/// The columns of [`instance`].
pub(super) const INSTANCE: &str =
    "id, workspace, mode, mounts, keeper, boot, command, started_at, ended_at, ending, survivors,
     (SELECT json ->> '$.act.name' FROM receipts r WHERE r.instance = sessions.id
      AND r.act IN ('begin', 'adopt', 'rename') ORDER BY r.number DESC LIMIT 1),
     (SELECT json ->> '$.act.message' FROM receipts r WHERE r.instance = sessions.id
      AND r.act IN ('begin', 'adopt', 'rename') ORDER BY r.number DESC LIMIT 1),
     (SELECT json -> '$.act.arguments' FROM receipts r WHERE r.instance = sessions.id
      AND r.act IN ('begin', 'adopt') ORDER BY r.number LIMIT 1),
     (SELECT json -> '$.act.watched' FROM receipts r WHERE r.instance = sessions.id
      AND r.act IN ('begin', 'adopt') ORDER BY r.number LIMIT 1)";

/// Reads the columns [`INSTANCE`].
pub(super) fn instance(row: &Row<'_>) -> rusqlite::Result<InstanceRow> {
    Ok(InstanceRow {
        id: row.get::<_, Word<_>>(0)?.0,
        workspace: row.get(1)?,
        mode: row.get(2)?,
        mounts: row.get::<_, Json<_>>(3)?.0,
        watched: row
            .get::<_, Option<Json<Vec<WatchedMount>>>>(14)?
            .map(|json| json.0.into_iter().map(|mount| mount.coverage).collect())
            .unwrap_or_default(),
        keeper: row.get::<_, Option<Json<_>>>(4)?.map(|json| json.0),
        boot: row.get(5)?,
        command: row.get::<_, Option<Json<_>>>(6)?.map(|json| json.0),
        started_at: row.get::<_, Word<_>>(7)?.0,
        ended_at: row.get::<_, Option<Word<_>>>(8)?.map(|word| word.0),
        ending: row.get::<_, Option<Json<_>>>(9)?.map(|json| json.0),
        survivors: row
            .get::<_, Option<Json<_>>>(10)?
            .map(|json| json.0)
            .unwrap_or_default(),
        title: SessionTitle {
            name: row.get(11)?,
            message: row.get(12)?,
            arguments: row
                .get::<_, Option<Json<_>>>(13)?
                .map(|json| json.0)
                .unwrap_or_default(),
        },
    })
}

/// The columns of [`snapshot`]. What older programs captured behind the recorded end of its session is late as well; an adopted session has
/// an end for each import.
pub(super) const SNAPSHOT: &str = "id, instance, kind,
    late OR kind IN ('checkpoint', 'closing')
        AND coalesce(number > (SELECT min(e.number) FROM receipts e WHERE e.instance = moments.instance AND e.act = 'end'), 0)
        AND NOT EXISTS (SELECT 1 FROM receipts a WHERE a.instance = moments.instance AND a.act = 'adopt'),
    name, message, taken_at, complete, entries, bytes, number";

/// Reads the columns [`SNAPSHOT`].
pub(super) fn snapshot(row: &Row<'_>) -> rusqlite::Result<SnapshotRow> {
    Ok(SnapshotRow {
        id: row.get::<_, Word<_>>(0)?.0,
        instance: row.get::<_, Word<_>>(1)?.0,
        kind: row.get::<_, Word<_>>(2)?.0,
        late: row.get(3)?,
        name: row.get(4)?,
        message: row.get(5)?,
        taken_at: row.get::<_, Word<_>>(6)?.0,
        complete: row.get(7)?,
        entries: row.get::<_, Count>(8)?.0,
        bytes: row.get::<_, Count>(9)?.0,
        receipt: row.get::<_, Option<Count>>(10)?.map(|count| count.0),
    })
}

/// The restore that a receipt tells of.
pub(super) fn restore(receipt: Receipt) -> Option<RestoreRow> {
    let Receipt {
        number, at, uid, act, ..
    } = receipt;
    match act {
        Operation::Restore {
            kind,
            target,
            emergency,
            undoes,
            only_changes_of,
            inside,
            plan: _,
            unlocked: _,
            changed,
            conflicts,
            failed,
            aside,
        } => Some(RestoreRow {
            number,
            at,
            kind,
            target,
            emergency,
            undoes,
            only_changes_of,
            inside,
            uid,
            changed,
            conflicts,
            failed,
            aside,
        }),
        _ => None,
    }
}
