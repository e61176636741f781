//! Status of the session that covers a directory, from the catalog alone: for prompts, which ask before each command.

use super::Recovery;
use crate::config::settle;
use crate::environment::Environment;
use crate::model::{Ending, InstanceId, Intent, RestoreKind, SnapshotKind, Time};
use crate::process::{INSTANCE_VARIABLE, is_alive};
use crate::session::{Covering, SessionError, is_active};
use crate::store::{InstanceRow, PendingRestore, RestoreRow, RestoreStage, Store, StoreError};

/// State of a session, as far as it concerns an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// One of its processes lives.
    Recording,
    /// It ended, and its changes can be undone.
    Ended,
    /// It is dead and has no closing snapshot.
    Lost,
    /// It ended, and its files were restored.
    Restored,
    /// A restore of it was interrupted and waits for `resume` or `abort`.
    Interrupted,
}

/// Status of a session.
#[derive(Clone, Debug)]
pub struct SessionStatus {
    /// The session.
    pub row: InstanceRow,
    /// Its state.
    pub standing: Standing,
    /// Start of that state; the start of the session if the start of the state is unknown.
    pub since: Time,
    /// Number of paths changed up to the last snapshot; `None` if it was not counted, or the session ended without a closing snapshot.
    pub changed: Option<u64>,
    /// True if `changed` is exact; else it counts a path once for each checkpoint that saw it change.
    pub is_exact: bool,
}

impl Recovery<'_> {
    /// Returns the status of the session that this process runs in, else of the latest one that covers the current directory.
    ///
    /// Only the catalog is read, as it is at this moment. `None` if no session covers the directory, nothing is left to restore from,
    /// or the store is missing, locked or damaged.
    #[must_use]
    pub fn status(&self) -> Option<SessionStatus> {
        let store = Store::open_nonblocking(self.layout().ok()?).ok()??;
        let row = covering(&store, self.environment).ok()??;
        status_of(&store, row).ok()?
    }
}

fn covering(store: &Store, environment: &Environment) -> Result<Option<InstanceRow>, SessionError> {
    let own = environment
        .get(INSTANCE_VARIABLE)
        .and_then(|own| own.to_str())
        .and_then(|own| InstanceId::parse(own).ok());
    if let Some(own) = own {
        return Ok(store.catalog().instance(&own)?);
    }
    Ok(Covering::new(store, &settle(&environment.current))?.latest()?)
}

fn status_of(store: &Store, row: InstanceRow) -> Result<Option<SessionStatus>, StoreError> {
    let catalog = store.catalog();
    let is_recording = row.ended_at.is_none() && lives(store, &row);
    let (changed, is_exact) = changed(store, &row.id, is_recording)?;
    let restores = catalog.restores(&row.id)?;
    let restored = standing_restore(&restores);
    let snapshots = catalog.snapshots(&row.id)?;
    if !is_recording
        && snapshots
            .iter()
            .all(|snapshot| snapshot.kind != SnapshotKind::Baseline)
    {
        return Ok(None);
    }
    let unsettled = unsettled(store, &row.id)?;
    let is_of_operator = |intent: &&Intent| intent.kind == RestoreKind::Restore && !intent.inside;
    let mut intents = unsettled.iter().map(|found| &found.intent);
    let done = intents.find(is_of_operator).map(|intent| intent.at);
    let (standing, since) = match (restored, &row.ending) {
        _ if unsettled.iter().any(|found| found.stage == RestoreStage::Moving) => {
            (Standing::Interrupted, None)
        }
        _ if is_recording => (Standing::Recording, None),
        // Done by a process that died before it wrote the receipt.
        _ if done.is_some() => (Standing::Restored, done),
        (Some(last), _) => (Standing::Restored, Some(last.at)),
        (None, None | Some(Ending::Unseen)) => (Standing::Lost, None),
        (None, Some(_)) => (Standing::Ended, row.ended_at),
    };
    Ok(Some(SessionStatus {
        since: since.unwrap_or(row.started_at),
        row,
        standing,
        changed,
        is_exact,
    }))
}

/// Returns true if a session without an end is active. The look at its keeper alone spares reading the process table.
fn lives(store: &Store, row: &InstanceRow) -> bool {
    row.keeper.as_ref().is_some_and(is_alive) || is_active(store, row)
}

/// Returns the number of paths that the steps of a session changed, and true if no path can be counted twice. Of a session that is over it is
/// unknown without a closing snapshot.
fn changed(store: &Store, id: &InstanceId, is_recording: bool) -> Result<(Option<u64>, bool), StoreError> {
    let mut steps = 0;
    let mut sum = 0_u64;
    let captures = store.catalog().captures(id)?;
    if !is_recording && captures.iter().all(|one| one.kind != SnapshotKind::Closing) {
        return Ok((None, false));
    }
    for capture in captures {
        if matches!(capture.kind, SnapshotKind::Emergency | SnapshotKind::Baseline) {
            continue;
        }
        let Some(step) = capture.step else {
            return Ok((None, false));
        };
        let counts = step.counts;
        let paths = [
            counts.added,
            counts.changed,
            counts.deleted,
            counts.renamed,
            counts.unknown,
        ];
        let paths = paths.into_iter().fold(0, u64::saturating_add);
        steps += u64::from(paths > 0);
        sum = sum.saturating_add(paths);
    }
    Ok((Some(sum), steps <= 1))
}

/// Returns the restore that left a session's files as they are; `None` if there is none, or an undo took it back. `restores` are those of the
/// session, newest first.
///
/// Restores by the agent itself do not count: they are a part of what the session did, and its changes are counted after them.
pub(super) fn standing_restore(restores: &[RestoreRow]) -> Option<&RestoreRow> {
    let last = restores.iter().find(|restore| !restore.inside)?;
    is_restored(last, restores).then_some(last)
}

/// Returns true if after `last` the files are as a restore left them: it is a restore, or an undo of an undo.
fn is_restored(last: &RestoreRow, all: &[RestoreRow]) -> bool {
    let mut at = last;
    let mut restored = true;
    while let Some(before) = at.undoes {
        restored = !restored;
        let Some(undone) = all
            .iter()
            .find(|row| row.number == before && row.number < at.number)
        else {
            break;
        };
        at = undone;
    }
    restored
}

/// Returns the restores of a session that wait for `resume` or `abort`, or are done and not recorded.
fn unsettled(store: &Store, id: &InstanceId) -> Result<Vec<PendingRestore>, StoreError> {
    let mut found = store.pending_restores()?;
    found.retain(|found| found.stage.is_unsettled() && !found.alive && found.intent.instance == *id);
    Ok(found)
}
