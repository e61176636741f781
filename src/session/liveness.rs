//! Liveness of sessions. A session whose liveness cannot be determined counts as active.

use std::collections::BTreeSet;

use crate::config::Mode;
use crate::model::{Ending, ProcessRef};
use crate::process::{self, Member, ProbeError};
use crate::store::{InstanceRow, Store, StoreError};

/// Reason why a session counts as active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its launcher holds its lock.
    Launcher(Option<ProcessRef>),
    /// Another command holds its lock: it begins or ends the session. No launcher does, for there is none, or it is dead.
    OtherCommand,
    /// One of its processes lives.
    Process(Member),
    /// The session was begun without a process, in this boot, and `end` has not been called.
    UntilEnd,
    /// Its liveness cannot be determined, for this reason.
    Unknown(String),
}

/// Liveness of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The session is active, for these reasons.
    Active(Vec<Reason>),
    /// Its end was seen.
    Ended,
    /// The session is dead, and jackin did not observe its end.
    Lost,
    /// The session never began: its baseline or its command failed.
    Failed,
}

impl State {
    /// The word used in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Active(_) => "active",
            Self::Ended => "ended",
            Self::Lost => "lost",
            Self::Failed => "failed",
        }
    }

    /// Returns true if the session is active.
    #[must_use]
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }
}

/// One look at who carries an instance's id, for judging many instances.
pub struct LivenessProbe(Option<BTreeSet<String>>);

impl LivenessProbe {
    /// Looks at the processes that the command of a store sees.
    #[must_use]
    pub fn now(store: &Store) -> Self {
        Self(process::carried(store.processes()).ok())
    }

    /// Returns the instances that [`state_by`] may find active, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when the catalog cannot be read.
    pub fn may_live_in(&self, store: &Store) -> Result<Vec<InstanceRow>, StoreError> {
        match &self.0 {
            Some(carried) => store.catalog().instances_that_may_live(carried),
            None => store.catalog().instances(),
        }
    }

    fn may_live(&self, row: &InstanceRow) -> bool {
        self.0
            .as_ref()
            .is_none_or(|carried| carried.contains(row.id.as_str()))
    }
}

/// Looks whether an instance lives: its launcher's lock first, then its processes.
#[must_use]
pub fn state(store: &Store, row: &InstanceRow) -> State {
    state_by(&LivenessProbe::now(store), store, row)
}

/// Returns the state of a session like [`state`], with a probe that serves for many sessions.
#[must_use]
pub fn state_by(sight: &LivenessProbe, store: &Store, row: &InstanceRow) -> State {
    let mut reasons = Vec::new();
    if row.ended_at.is_none() {
        match store.instance_locked(&row.id) {
            Ok(true) if may_have_launcher(row) => reasons.push(Reason::Launcher(row.keeper.clone())),
            Ok(true) => reasons.push(Reason::OtherCommand),
            Ok(false) => {}
            Err(error) => reasons.push(Reason::Unknown(error.to_string())),
        }
    }
    match members(sight, store, row) {
        Ok(members) => reasons.extend(members.into_iter().map(Reason::Process)),
        Err(error) => reasons.push(Reason::Unknown(error.to_string())),
    }
    if lives_until_end(store, row) {
        reasons.push(Reason::UntilEnd);
    }
    if !reasons.is_empty() {
        return State::Active(reasons);
    }
    match (&row.ended_at, &row.ending) {
        (_, Some(Ending::Failed(_))) => State::Failed,
        (Some(_), Some(Ending::Unseen)) | (None, _) => State::Lost,
        (Some(_), _) => State::Ended,
    }
}

/// Returns true if a launcher may hold the lock of a session: `launch` began the session, and its process is not certainly dead.
pub(crate) fn may_have_launcher(row: &InstanceRow) -> bool {
    row.command.is_some() && row.keeper.as_ref().is_none_or(process::is_alive)
}

/// Returns true if a session is active. Checks that read no process table come first.
#[must_use]
pub fn is_active(store: &Store, row: &InstanceRow) -> bool {
    let goes_on = row.ended_at.is_none();
    let own = std::process::id();
    let is_kept = || {
        let keeper = row.keeper.as_ref().filter(|keeper| keeper.pid != own);
        keeper.is_some_and(process::is_alive)
    };
    let is_locked = || store.instance_locked(&row.id).is_ok_and(|locked| locked);
    goes_on && (is_kept() || is_locked()) || lives_until_end(store, row) || state(store, row).is_active()
}

/// Returns true if the session was begun here without a process, in this boot or an unknown one, and `end` has not been called.
fn lives_until_end(store: &Store, row: &InstanceRow) -> bool {
    row.ended_at.is_none()
        && row.keeper.is_none()
        && row.command.is_none()
        && Mode::parse(&row.mode).is_some()
        && process::may_be_same_boot(&row.boot, &process::current_boot())
        && has_begun(store, row)
}

/// The instance's processes; a launcher that only waits for the closing snapshot is no process of the session, but its
/// lock says enough.
fn members(sight: &LivenessProbe, store: &Store, row: &InstanceRow) -> Result<Vec<Member>, ProbeError> {
    // When it ended, everything that lived on was recorded. Only who carries its id can still belong to it, and a list
    // of a thousand old sessions does not read the process table a thousand times.
    if row.ended_at.is_some() && row.survivors.is_empty() && !sight.may_live(row) {
        return Ok(Vec::new());
    }
    // Once it ended, its keeper's further life is no work of the session: `end` may be called by the keeper itself.
    let keeper = row.keeper.iter().filter(|_| row.ended_at.is_none());
    let known: Vec<ProcessRef> = keeper.chain(&row.survivors).cloned().collect();
    Ok(process::members(store.processes(), &row.id, &known)?.members)
}

/// Returns true if `begin` completed, or if that is unknown. A killed `begin` reported no id, so `end` will not be called for its
/// session.
fn has_begun(store: &Store, row: &InstanceRow) -> bool {
    row.mounts.is_empty() || store.catalog().was_captured(&row.id).unwrap_or(true)
}

/// Returns the reasons without the launcher's own process, which a reason of its own names already.
#[must_use]
pub fn distinct(reasons: &[Reason]) -> Vec<&Reason> {
    let launcher = reasons.iter().find_map(|reason| match reason {
        Reason::Launcher(process) => process.as_ref().map(|process| process.pid),
        _ => None,
    });
    let again = |reason: &Reason| matches!(reason, Reason::Process(member) if Some(member.pid) == launcher);
    reasons.iter().filter(|reason| !again(reason)).collect()
}
