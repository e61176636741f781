//! Everything that the rules are asked about, and what holds it.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{InstanceId, SnapshotId, SnapshotKind, Time};
use crate::session::{LivenessProbe, awaited, state_by};
use crate::store::{InstanceRow, SnapshotRow, Store, StoreError};

/// Why a snapshot stays whatever the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// The operator pinned it.
    Pinned,
    /// Its session is active, or has no end yet.
    Active,
    /// Its session is the newest of its workspace.
    Newest,
    /// A restore that was interrupted needs it.
    Interrupted,
    /// The last restore of its workspace is undone with it.
    LastRestore,
}

/// Group of sessions: those of a workspace, or those of the same directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Group {
    Workspace(String),
    Directory(Vec<u8>),
    /// Sessions imported from a file. They must not displace local sessions, nor count as the newest.
    Imported(Vec<u8>),
}

impl Group {
    fn of(row: &InstanceRow) -> Self {
        let root = || {
            row.mounts
                .first()
                .map(|mount| mount.root.0.clone())
                .unwrap_or_default()
        };
        match &row.workspace {
            _ if row.is_imported() => Self::Imported(root()),
            Some(name) => Self::Workspace(name.clone()),
            None => Self::Directory(root()),
        }
    }

    pub(super) fn workspace(&self) -> Option<&str> {
        match self {
            Self::Workspace(name) => Some(name),
            Self::Directory(_) | Self::Imported(_) => None,
        }
    }
}

/// One session.
pub(super) struct Session {
    pub(super) group: usize,
    /// True if it ended and the end is recorded.
    pub(super) is_over: bool,
    /// True if something of it can be restored: it has, or awaits, a baseline or a checkpoint.
    pub(super) is_restorable: bool,
    /// True if it is the newest restorable session of its group.
    pub(super) is_newest: bool,
    /// True if the whole session is pinned.
    pub(super) is_pinned: bool,
    /// End of the session; never before the end of an earlier session in the chain, whatever the clock said.
    pub(super) ended_at: Time,
    /// Indexes of its snapshots, newest first.
    pub(super) snapshots: Vec<usize>,
}

/// One snapshot.
pub(super) struct Candidate {
    pub(super) row: SnapshotRow,
    /// Time of the capture; never before that of an earlier snapshot in the chain.
    pub(super) taken_at: Time,
    pub(super) session: usize,
    pub(super) held: Option<Held>,
}

/// All groups, sessions and snapshots. Sessions are in the order of their beginning and snapshots in that of the chain, newest first; sessions
/// may have gone on beside each other.
pub(super) struct Inventory {
    pub(super) groups: Vec<Group>,
    pub(super) sessions: Vec<Session>,
    pub(super) shots: Vec<Candidate>,
}

impl Inventory {
    pub(super) fn look(store: &Store) -> Result<Self, StoreError> {
        let catalog = store.catalog();
        let sight = LivenessProbe::now(store);
        let mut field = Self {
            groups: Vec::new(),
            sessions: Vec::new(),
            shots: Vec::new(),
        };
        let rows = catalog.instances_with_snapshots()?;
        let mut restores = catalog.last_restores()?;
        let shots = catalog.snapshots_as_stored()?;
        let mut newest: HashMap<InstanceId, Time> = HashMap::new();
        let mut with_target: HashSet<&InstanceId> = HashSet::new();
        for shot in &shots {
            if matches!(shot.kind, SnapshotKind::Baseline | SnapshotKind::Checkpoint) {
                with_target.insert(&shot.instance);
            }
            newest.entry(shot.instance.clone()).or_insert(shot.taken_at);
        }
        let mut of_instance: HashMap<InstanceId, usize> = HashMap::new();
        let pins: HashSet<(InstanceId, Option<SnapshotId>)> = catalog.pins()?.into_iter().collect();
        let mut numbers: HashMap<Group, usize> = HashMap::new();
        let mut last: HashMap<usize, (u64, [SnapshotId; 2])> = HashMap::new();
        let mut active: HashSet<usize> = HashSet::new();
        let mut begun: HashSet<usize> = HashSet::new();
        for row in rows {
            let group = Group::of(&row);
            let group = *numbers.entry(group.clone()).or_insert_with(|| {
                field.groups.push(group);
                field.groups.len() - 1
            });
            if let Some(restore) = restores.remove(&row.id)
                && last
                    .get(&group)
                    .is_none_or(|(number, _)| *number < restore.number)
            {
                last.insert(group, (restore.number, [restore.target, restore.emergency]));
            }
            let Some(newest) = newest.get(&row.id) else {
                continue;
            };
            let session = field.sessions.len();
            let is_active = row.ended_at.is_none() || state_by(&sight, store, &row).is_active();
            if is_active {
                active.insert(session);
            }
            let is_restorable = with_target.contains(&row.id) || !awaited(store, &row)?.is_empty();
            field.sessions.push(Session {
                group,
                is_over: !is_active,
                is_restorable,
                is_newest: is_restorable && begun.insert(group),
                is_pinned: pins.contains(&(row.id.clone(), None)),
                ended_at: row.ended_at.unwrap_or(*newest),
                snapshots: Vec::new(),
            });
            of_instance.insert(row.id, session);
        }
        for row in shots {
            let Some(session) = of_instance.get(&row.instance).copied() else {
                continue;
            };
            if let Some(session) = field.sessions.get_mut(session) {
                session.snapshots.push(field.shots.len());
            }
            field.shots.push(Candidate {
                taken_at: row.taken_at,
                row,
                session,
                held: None,
            });
        }
        field.hold(store, &pins, &last, &active)?;
        field.never_back();
        Ok(field)
    }

    /// Makes all times monotonic, so that a clock that was set back makes nothing old.
    pub(super) fn never_back(&mut self) {
        // A restore adds to a session that is over.
        let is_own = |number: &&usize| {
            let shot = self.shots.get(**number);
            shot.is_some_and(|shot| shot.row.kind != SnapshotKind::Emergency)
        };
        let end = |session: &Session| session.snapshots.iter().find(is_own).copied();
        let mut ends: Vec<(Option<usize>, usize)> = self.sessions.iter().map(end).zip(0..).collect();
        ends.sort_unstable();
        let mut latest = None;
        for (_, session) in ends.into_iter().rev() {
            let Some(session) = self.sessions.get_mut(session) else {
                continue;
            };
            latest = latest.max(Some(session.ended_at));
            session.ended_at = latest.unwrap_or(session.ended_at);
        }
        let mut latest = None;
        for shot in self.shots.iter_mut().rev() {
            latest = latest.max(Some(shot.taken_at));
            shot.taken_at = latest.unwrap_or(shot.taken_at);
        }
    }

    fn hold(
        &mut self,
        store: &Store,
        pins: &HashSet<(InstanceId, Option<SnapshotId>)>,
        last: &HashMap<usize, (u64, [SnapshotId; 2])>,
        active: &HashSet<usize>,
    ) -> Result<(), StoreError> {
        let waiting = store.pending_restores()?;
        let mut with_checkpoint: HashSet<usize> = HashSet::new();
        for shot in &mut self.shots {
            let Some(session) = self.sessions.get(shot.session) else {
                continue;
            };
            let row = &shot.row;
            let frames = matches!(row.kind, SnapshotKind::Baseline | SnapshotKind::Closing);
            // The newest comes first.
            let is_first = row.kind == SnapshotKind::Checkpoint && with_checkpoint.insert(shot.session);
            let is_waited_for = waiting.iter().any(|found| {
                let step = found.intent.only_changes_of.as_ref();
                found.intent.target == row.id
                    || step.is_some_and(|step| step.snapshot == row.id)
                    || (found.intent.instance == row.instance && row.kind == SnapshotKind::Emergency)
            });
            let is_last = last
                .get(&session.group)
                .is_some_and(|(_, ids)| ids.contains(&row.id));
            shot.held = if session.is_pinned || pins.contains(&(row.instance.clone(), Some(row.id.clone()))) {
                Some(Held::Pinned)
            } else if active.contains(&shot.session) && (frames || is_first) {
                Some(Held::Active)
            } else if session.is_newest && frames {
                Some(Held::Newest)
            } else if is_waited_for {
                Some(Held::Interrupted)
            } else {
                is_last.then_some(Held::LastRestore)
            };
        }
        Ok(())
    }

    /// The snapshots of a session.
    pub(super) fn ids_of<'f>(&'f self, instance: &'f InstanceId) -> impl Iterator<Item = &'f SnapshotId> {
        let own = self.shots.iter().filter(|shot| shot.row.instance == *instance);
        own.map(|shot| &shot.row.id)
    }

    /// The group that a session belongs to.
    pub(super) fn group_of(&self, row: &InstanceRow) -> Option<usize> {
        let group = Group::of(row);
        self.groups.iter().position(|known| *known == group)
    }

    pub(super) fn id(&self, number: usize) -> Option<&SnapshotId> {
        Some(&self.shots.get(number)?.row.id)
    }
}
