//! Sessions and snapshots with the words that name them, as the catalog has them at one moment.

use std::collections::HashSet;
use std::path::Path;

use super::BrowseError;
use crate::model::{InstanceId, SnapshotId, SnapshotKind, Time};
use crate::session::{
    check_name, check_session_name, sessions_covering, those_that_began, without_forgotten,
};
use crate::store::{ChangeMark, SnapshotRow, Store};

/// Name of the link to the latest session that covers the current directory.
pub(super) const HERE: &str = "here";
/// Name of the link to the newest snapshot of a session that is no emergency snapshot.
pub(super) const LATEST: &str = "latest";

/// All sessions that have snapshots, newest first.
pub(super) struct Index {
    /// State of the store at that moment.
    pub(super) mark: ChangeMark,
    /// Number of the look at the store.
    pub(super) generation: u64,
    pub(super) sessions: Vec<SessionEntry>,
    here: Option<InstanceId>,
}

/// A session.
pub(super) struct SessionEntry {
    pub(super) id: InstanceId,
    name: Option<String>,
    started_at: Time,
    /// Newest first.
    pub(super) snapshots: Vec<SnapshotEntry>,
}

/// A snapshot.
#[derive(Clone)]
pub(super) struct SnapshotEntry {
    pub(super) id: SnapshotId,
    /// The shortest word for it in its session: its name, its kind if it is the newest of that, or its id.
    pub(super) word: String,
    kind: SnapshotKind,
    pub(super) taken_at: Time,
}

impl Index {
    /// Reads the catalog. `current` is the directory that `here` is about, `only` the only session.
    pub(super) fn read(
        store: &Store,
        mark: ChangeMark,
        generation: u64,
        current: &Path,
        only: Option<&InstanceId>,
    ) -> Result<Self, BrowseError> {
        let catalog = store.catalog();
        let mut snapshots = catalog.snapshots_by_instance()?;
        let rows = without_forgotten(store, catalog.instances()?)?;
        let mut sessions = Vec::new();
        for row in rows {
            if only.is_some_and(|only| row.id != *only) {
                continue;
            }
            let Some(found) = snapshots.remove(&row.id) else {
                continue;
            };
            sessions.push(SessionEntry {
                name: row.title.name.filter(|name| check_session_name(name).is_ok()),
                started_at: row.started_at,
                snapshots: entries(&found),
                id: row.id,
            });
        }
        let covering = those_that_began(store, sessions_covering(store, current)?);
        let is_listed = |id: &InstanceId| sessions.iter().any(|session| session.id == *id);
        let here = covering.into_iter().map(|row| row.id).find(is_listed);
        Ok(Self {
            mark,
            generation,
            sessions,
            here,
        })
    }

    pub(super) fn session(&self, id: &InstanceId) -> Result<&SessionEntry, BrowseError> {
        let mut sessions = self.sessions.iter();
        sessions
            .find(|session| session.id == *id)
            .ok_or(BrowseError::Stale)
    }

    /// Returns the names that lead to a session: of several with one name the newest has it.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &SessionEntry)> {
        let here = self.here.as_ref().and_then(|id| self.session(id).ok());
        let here = here.map(|session| (HERE, session));
        let mut used = HashSet::from([HERE]);
        let named = self
            .sessions
            .iter()
            .filter_map(|session| Some((session.name.as_deref()?, session)));
        here.into_iter()
            .chain(named.filter(move |(name, _)| used.insert(name)))
    }

    /// Time of the newest snapshot.
    pub(super) fn changed_at(&self) -> Time {
        let all = self.sessions.iter().map(SessionEntry::changed_at);
        all.max().unwrap_or_default()
    }
}

impl SessionEntry {
    pub(super) fn snapshot(&self, id: &SnapshotId) -> Result<&SnapshotEntry, BrowseError> {
        let mut snapshots = self.snapshots.iter();
        snapshots
            .find(|snapshot| snapshot.id == *id)
            .ok_or(BrowseError::Stale)
    }

    /// Returns the newest snapshot that is no emergency snapshot.
    pub(super) fn latest(&self) -> Option<&SnapshotEntry> {
        let mut snapshots = self.snapshots.iter();
        snapshots.find(|snapshot| snapshot.kind != SnapshotKind::Emergency)
    }

    /// Time of the newest snapshot.
    pub(super) fn changed_at(&self) -> Time {
        let times = self.snapshots.iter().map(|snapshot| snapshot.taken_at);
        times.max().unwrap_or(self.started_at)
    }
}

/// Gives each snapshot of a session its word. Names from another store are checked: one that cannot be a name is not used.
fn entries(rows: &[SnapshotRow]) -> Vec<SnapshotEntry> {
    let mut used: HashSet<String> = HashSet::new();
    let entry = |row: &SnapshotRow| {
        let is_newest = used.insert(row.kind.word().to_owned());
        let name = row.name.as_ref().filter(|name| check_name(name).is_ok());
        let word = match name {
            Some(name) if used.insert(name.clone()) => name.clone(),
            None if is_newest => row.kind.word().to_owned(),
            _ => row.id.to_string(),
        };
        SnapshotEntry {
            id: row.id.clone(),
            word,
            kind: row.kind,
            taken_at: row.taken_at,
        }
    };
    rows.iter().map(entry).collect()
}
