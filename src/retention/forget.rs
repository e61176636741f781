//! Plans what `forget` deletes: whole sessions, or paths of all snapshots that have them. Refuses where it could not keep its
//! word, and names what keeps the same content.

mod error;
mod in_git;
mod paths;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

pub use error::ForgetError;
pub use paths::{HeldPath, KeptCopy};

use super::Acting;
use super::inventory::{Held, Inventory};
use crate::model::{InstanceId, PruneReason, PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;
use crate::session::{LivenessProbe, State, sessions_covering, state_by};
use crate::store::{AmendedRecord, ForgetPlan, Forgotten, InstanceRow, Patience, Store, StoreError};

use paths::Search;

/// Subject of a `forget`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetSubject {
    /// One session with all of its snapshots.
    Session(InstanceId),
    /// Every session that ended some time ago, is not pinned and has no interrupted restore.
    EndedBefore {
        /// Latest end.
        limit: Time,
        /// Only the sessions that cover this directory; `None` for all sessions.
        covering: Option<PathBuf>,
    },
    /// Paths, out of the snapshots of all sessions.
    Paths {
        /// Host paths.
        paths: Vec<PathBuf>,
        /// Only the snapshots of this session; `None` for all sessions.
        of: Option<InstanceId>,
        /// Also forget every other path with the same content.
        copies: bool,
    },
}

/// A session of which everything is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenSession {
    /// The session.
    pub instance: InstanceId,
    /// End of the session; `None` if none was recorded.
    pub ended_at: Option<Time>,
    /// Number of its snapshots.
    pub snapshots: u64,
    /// Roots of its mounts.
    pub roots: Vec<PathBuf>,
}

/// Proposal of what `forget` would delete.
pub struct ForgetProposal {
    /// The question that it answers.
    pub subject: ForgetSubject,
    /// Whole sessions, oldest first.
    pub sessions: Vec<ForgottenSession>,
    /// Sessions that are old enough and stay, by the reason.
    pub kept_sessions: BTreeMap<Held, u64>,
    /// Number of sessions that would be deleted, but do not cover the directory.
    pub elsewhere: u64,
    /// Paths with the snapshots that have them, oldest first.
    pub held: Vec<HeldPath>,
    /// Other paths that keep the same content.
    pub copies: Vec<KeptCopy>,
    /// Git directories that keep the same content as an object.
    pub in_git: Vec<KeptCopy>,
    /// Number of contents that were not looked for in git's objects: they are too large, or cannot be read.
    pub in_git_unknown: u64,
    /// Sessions whose last restore cannot be undone any more, sorted.
    pub ends_undo: Vec<InstanceId>,
    /// Changes to the store.
    pub plan: ForgetPlan,
}

impl ForgetProposal {
    /// Returns true if there is nothing to delete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.held.is_empty()
    }

    /// Returns true if both delete the same snapshots and paths.
    fn is_same(&self, other: &Self) -> bool {
        self.plan.snapshots() == other.plan.snapshots() && self.plan.amended() == other.plan.amended()
    }
}

/// Plans what to delete. Changes nothing.
///
/// # Errors
/// [`ForgetError`].
pub fn propose(
    store: &Store,
    subject: &ForgetSubject,
    observer: &dyn Observer,
) -> Result<ForgetProposal, ForgetError> {
    match subject {
        ForgetSubject::Session(instance) => {
            let row = store.catalog().instance(instance)?;
            let old = OldSessions {
                rows: row.into_iter().collect(),
                ..OldSessions::default()
            };
            sessions(store, subject, old, observer)
        }
        ForgetSubject::EndedBefore { limit, covering } => {
            let old = ended_before(store, *limit, covering.as_deref())?;
            sessions(store, subject, old, observer)
        }
        ForgetSubject::Paths { paths, of, copies } => {
            let frozen = frozen_with(store, paths, of.as_ref())?;
            check(store, &frozen.into_iter().collect())?;
            let mut search = Search::new(store, of.as_ref());
            search.look_for(paths)?;
            if *copies {
                search.add_copies();
            }
            check(store, &search.affected())?;
            search.check()?;
            let mut amended = AmendedRecord::of(store);
            for (record, paths) in search.to_amend() {
                amended.add(record, &paths)?;
            }
            let (contents, copies) = search.contents();
            let (in_git, in_git_unknown) = search.in_git()?;
            let plan = store.plan_forget(Vec::new(), amended, contents, observer)?;
            Ok(ForgetProposal {
                subject: subject.clone(),
                sessions: Vec::new(),
                kept_sessions: BTreeMap::new(),
                elsewhere: 0,
                held: search.held(),
                copies,
                in_git,
                in_git_unknown,
                ends_undo: Vec::new(),
                plan,
            })
        }
    }
}

/// Deletes what was proposed. The proposal is made again while nothing else uses the store, and must be the same.
///
/// # Errors
/// [`ForgetError`]; unless it is [`StoreError::Unfinished`], nothing was changed.
pub fn forget(
    store: &Store,
    proposal: &ForgetProposal,
    acting: &Acting<'_>,
) -> Result<Forgotten, ForgetError> {
    let sole = store.exclusive(Patience::Long)?;
    let now = propose(store, &proposal.subject, acting.observer)?;
    if !now.is_same(proposal) {
        return Err(ForgetError::Outdated);
    }
    acting.observer.reached("forget-planned");
    let mut done = sole.forget_planned(
        (acting.now, acting.uid),
        now.plan,
        acting.entropy,
        acting.observer,
    )?;
    drop(sole);
    let natives = store.drop_natives(acting.observer);
    done.swept.natives = natives.map_err(StoreError::behind(done.receipt))?;
    Ok(done)
}

/// Plans the deletion of whole sessions.
fn sessions(
    store: &Store,
    subject: &ForgetSubject,
    OldSessions {
        rows,
        kept,
        elsewhere,
    }: OldSessions,
    observer: &dyn Observer,
) -> Result<ForgetProposal, ForgetError> {
    let ids: BTreeSet<InstanceId> = rows.iter().map(|row| row.id.clone()).collect();
    check(store, &ids)?;
    let (mut gone, mut sessions) = (Vec::new(), Vec::new());
    for row in rows {
        let mut snapshots = store.catalog().snapshots(&row.id)?;
        if snapshots.is_empty() {
            continue;
        }
        snapshots.reverse();
        sessions.push(ForgottenSession {
            instance: row.id.clone(),
            ended_at: row.ended_at,
            snapshots: snapshots.len() as u64,
            roots: row.mounts.iter().map(|mount| mount.root.to_path()).collect(),
        });
        gone.extend(snapshots.into_iter().map(|snapshot| PrunedSnapshot {
            id: snapshot.id,
            instance: row.id.clone(),
            kind: snapshot.kind,
            name: snapshot.name,
            reason: PruneReason::Forgotten,
        }));
    }
    // One that is only named in a receipt, because its record is lost, goes as well.
    let lost: BTreeSet<SnapshotId> = store.catalog().unlisted()?.into_iter().collect();
    for instance in ids.iter().filter(|_| !lost.is_empty()) {
        let captures = store.catalog().captures(instance)?.into_iter();
        let captures = captures.filter(|capture| lost.contains(&capture.snapshot));
        gone.extend(captures.map(|capture| PrunedSnapshot {
            id: capture.snapshot,
            instance: instance.clone(),
            kind: capture.kind,
            name: capture.name,
            reason: PruneReason::Forgotten,
        }));
    }
    let ends_undo = ends_undo(store, &gone)?;
    let plan = store.plan_forget(gone, AmendedRecord::of(store), Vec::new(), observer)?;
    Ok(ForgetProposal {
        subject: subject.clone(),
        sessions,
        kept_sessions: kept,
        elsewhere,
        held: Vec::new(),
        copies: Vec::new(),
        in_git: Vec::new(),
        in_git_unknown: 0,
        ends_undo,
        plan,
    })
}

/// Returns the sessions of whose last restore the emergency snapshot or the target goes.
fn ends_undo(store: &Store, gone: &[PrunedSnapshot]) -> Result<Vec<InstanceId>, StoreError> {
    let ids: BTreeSet<&SnapshotId> = gone.iter().map(|pruned| &pruned.id).collect();
    let restores = store.catalog().last_restores()?;
    let is_gone = |id: &SnapshotId| ids.contains(id);
    let ended = restores
        .into_iter()
        .filter(|(_, restore)| is_gone(&restore.target) || is_gone(&restore.emergency));
    let mut ended: Vec<InstanceId> = ended.map(|(id, _)| id).collect();
    ended.sort();
    Ok(ended)
}

/// Sessions that ended before a time.
#[derive(Default)]
struct OldSessions {
    /// Those to delete, oldest first.
    rows: Vec<InstanceRow>,
    /// Number of those that stay, by the reason.
    kept: BTreeMap<Held, u64>,
    /// Number of those that would be deleted, but do not cover the directory.
    elsewhere: u64,
}

/// Returns the sessions that ended before `limit` and cover a directory, if there is one.
fn ended_before(store: &Store, limit: Time, covering: Option<&Path>) -> Result<OldSessions, ForgetError> {
    let mut old = OldSessions::default();
    let inventory = Inventory::look(store)?;
    let covering: Option<HashSet<InstanceId>> = match covering {
        Some(directory) => Some(ids(sessions_covering(store, directory)?)),
        None => None,
    };
    for session in inventory.sessions.iter().rev() {
        let shots = session.snapshots.iter().filter_map(|at| inventory.shots.get(*at));
        let shots: Vec<_> = shots.collect();
        let Some(first) = shots.first() else { continue };
        // An end that was not recorded is none; one that the clock dated ahead is as old as it says.
        let Some(row) = store.catalog().instance(&first.row.instance)? else {
            continue;
        };
        if row.ended_at.is_none_or(|ended| ended > limit) {
            continue;
        }
        let held = shots.iter().filter_map(|shot| shot.held);
        let blocks = |held: &Held| matches!(held, Held::Pinned | Held::Active | Held::Interrupted);
        let held = held.filter(blocks).min();
        let held = held.or_else(|| (!session.is_over).then_some(Held::Active));
        match held {
            _ if covering.as_ref().is_some_and(|ids| !ids.contains(&row.id)) => {
                old.elsewhere += u64::from(held.is_none());
            }
            Some(held) => *old.kept.entry(held).or_default() += 1,
            None => old.rows.push(row),
        }
    }
    Ok(old)
}

fn ids(rows: Vec<InstanceRow>) -> HashSet<InstanceId> {
    rows.into_iter().map(|row| row.id).collect()
}

/// Returns the sessions with a snapshot that is frozen, not stored yet, and covers one of the paths: it would bring them back.
fn frozen_with(
    store: &Store,
    paths: &[PathBuf],
    of: Option<&InstanceId>,
) -> Result<Vec<InstanceId>, ForgetError> {
    let mut found = Vec::new();
    for state in store.natives()? {
        let Ok(paper) = state.paper else { continue };
        if of.is_some_and(|of| *of != paper.instance)
            || !matches!(store.record(&state.id), Err(StoreError::NoSnapshot { .. }))
        {
            continue;
        }
        let row = store.catalog().instance(&paper.instance)?;
        let mut mounts = row.iter().flat_map(|row| &row.mounts);
        let covers = |path: &PathBuf, root: PathBuf| path.starts_with(&root) || root.starts_with(path);
        if mounts.any(|mount| paths.iter().any(|path| covers(path, mount.root.to_path()))) {
            found.push(paper.instance);
        }
    }
    Ok(found)
}

/// Refuses sessions that are active, pinned, or needed by an interrupted restore, and those with a snapshot that is not
/// stored yet.
fn check(store: &Store, ids: &BTreeSet<InstanceId>) -> Result<(), ForgetError> {
    let catalog = store.catalog();
    let sight = LivenessProbe::now(store);
    for id in ids {
        let Some(row) = catalog.instance(id)? else {
            continue;
        };
        if let State::Active(reasons) = state_by(&sight, store, &row) {
            return Err(ForgetError::Active {
                instance: id.clone(),
                reasons,
            });
        }
    }
    let pins: Vec<(InstanceId, Option<SnapshotId>)> = catalog
        .pins()?
        .into_iter()
        .filter(|(instance, _)| ids.contains(instance))
        .collect();
    if !pins.is_empty() {
        return Err(ForgetError::Pinned { pins });
    }
    for pending in store.pending_restores()? {
        if ids.contains(&pending.intent.instance) {
            return Err(ForgetError::Interrupted {
                instance: pending.intent.instance,
            });
        }
    }
    for state in store.natives()? {
        let Ok(paper) = state.paper else { continue };
        let is_stored = !matches!(store.record(&state.id), Err(StoreError::NoSnapshot { .. }));
        if !is_stored && ids.contains(&paper.instance) {
            return Err(ForgetError::NotStored {
                instance: paper.instance,
                kind: paper.kind,
            });
        }
    }
    Ok(())
}
