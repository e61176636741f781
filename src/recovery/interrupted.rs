//! Interrupted restores: found, taken up under locks, and finished, rolled back or left as they are.

use std::path::PathBuf;

use super::{Caller, Event, Locks, Recovery, RecoveryError, RestorePlan};
use crate::model::{Coverage, Intent, SnapshotRecord};
use crate::restore::{
    Allow, Cleared, MountRequest, Proposal, Purpose, Report, Scope, TakenBack, abort, composed_again, leave,
    of_instance, of_restore, of_step, proposal, propose, resume, settle,
};
use crate::session::{Allowed, ensure_outside_session, find_called, find_instance, refuse_living, roots};
use crate::store::encryption::Identities;
use crate::store::{InstanceRow, LockGuard, PendingRestore, RestoreJournal, RestoreStage, Store};

/// Interrupted restore that waits.
pub struct InterruptedRestore {
    /// Its session.
    pub row: InstanceRow,
    /// Its intent and its progress.
    pub waiting: PendingRestore,
}

/// Interrupted restore that this process has taken up, with the store and the locks that it needs.
pub struct HeldRestore {
    /// The store, open for writing.
    pub store: Store,
    /// Its session.
    pub row: InstanceRow,
    /// Its progress when it was found.
    pub stage: RestoreStage,
    journal: RestoreJournal,
    locks: (LockGuard, LockGuard),
}

impl HeldRestore {
    /// Returns the intent that was confirmed.
    #[must_use]
    pub fn intent(&self) -> &Intent {
        self.journal.intent()
    }

    /// Returns the plan; `None` if the restore had not begun to move anything.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`].
    pub fn proposal(&self) -> Result<Option<Proposal>, RecoveryError> {
        Ok(proposal(&self.store, self.journal.intent())?)
    }
}

impl Recovery<'_> {
    /// Returns the interrupted restore of a session, or the only one that waits.
    ///
    /// # Errors
    /// [`RecoveryError::NoneInterrupted`]; [`RecoveryError::SeveralInterrupted`]; [`RecoveryError::RestoreRuns`];
    /// [`RecoveryError::Session`].
    pub fn interrupted(&self, session: Option<&str>) -> Result<InterruptedRestore, RecoveryError> {
        let none = |instance| RecoveryError::NoneInterrupted { instance };
        let store = match (self.store_for_reading()?, session) {
            (Some(store), _) => store,
            (None, Some(wanted)) => return Err(RecoveryError::no_store(wanted)),
            (None, None) => return Err(none(None)),
        };
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        let mut waiting = store.pending_restores()?;
        let row = match session {
            Some(wanted) => {
                let row = find_called(&store, self.environment, wanted)?;
                waiting.retain(|found| found.intent.instance == row.id);
                row
            }
            None => match waiting.first() {
                Some(first) => find_instance(&store, first.intent.instance.as_str())?,
                None => return Err(none(None)),
            },
        };
        let mut waiting = waiting.into_iter();
        match (waiting.next(), waiting.next(), session) {
            (Some(_), Some(other), None) => Err(RecoveryError::SeveralInterrupted {
                first: row.id,
                other: other.intent.instance,
            }),
            (Some(found), ..) if found.alive => Err(RecoveryError::RestoreRuns {
                holders: store.restore_holders(&found.intent.id),
                instance: row.id,
            }),
            (Some(waiting), ..) => Ok(InterruptedRestore { row, waiting }),
            (None, ..) => Err(none(Some(row.id))),
        }
    }

    /// Returns the plan of an interrupted restore without taking it up; `None` if it had not begun to move anything.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`]; [`RecoveryError::Session`] if the store is gone.
    pub fn interrupted_plan(&self, found: &InterruptedRestore) -> Result<Option<Proposal>, RecoveryError> {
        let store = self.store_for_reading()?;
        let store = store.ok_or_else(|| RecoveryError::no_store(found.row.id.as_str()))?;
        Ok(proposal(&store, &found.waiting.intent)?)
    }

    /// Takes an interrupted restore up: locks its paths and its journal. With `untouched` everything in the mounts stays as it is, and
    /// they need not be reachable.
    ///
    /// # Errors
    /// [`RecoveryError::TakenUp`]; [`RecoveryError::Session`] if the session is active; [`RecoveryError::Store`].
    pub fn take_up(
        &self,
        found: InterruptedRestore,
        untouched: bool,
        keys: Option<Identities>,
    ) -> Result<HeldRestore, RecoveryError> {
        let InterruptedRestore { row, waiting } = found;
        let store = self.store_for_writing()?;
        let mounts = waiting.intent.mounts.iter();
        let coverages: Vec<Coverage> = mounts.map(|mount| mount.coverage.clone()).collect();
        let roots = roots(&coverages);
        let paths = match untouched {
            true => store.lock_restore_here(&roots)?,
            false => store.lock_restore(&roots)?,
        };
        let locks = (paths, store.share()?);
        let journal = store.take_up(&waiting.intent.id)?;
        let journal = journal.ok_or_else(|| RecoveryError::TakenUp(row.id.clone()))?;
        refuse_living(&store, self.environment, &row)?;
        Ok(HeldRestore {
            store: store.unlocked_by(keys),
            row,
            stage: waiting.stage,
            journal,
            locks,
        })
    }

    /// Finishes an interrupted restore that had begun to move paths.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`]; the restore still waits then.
    pub fn resume(&self, held: HeldRestore) -> Result<(Proposal, Report), RecoveryError> {
        let HeldRestore {
            store,
            journal,
            locks: _locks,
            ..
        } = held;
        Ok(resume(&store, journal, &self.services.acting())?)
    }

    /// Takes an interrupted restore back: afterwards the tree is the old one.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`] if a path cannot be brought back now: it still waits then.
    pub fn abort(&self, held: HeldRestore) -> Result<TakenBack, RecoveryError> {
        let HeldRestore {
            store,
            journal,
            locks: _locks,
            ..
        } = held;
        Ok(abort(&store, journal, &self.services.acting())?)
    }

    /// Forgets an interrupted restore, and leaves everything as it is. Returns the directories with what was moved aside.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`].
    pub fn leave(&self, held: HeldRestore) -> Result<Vec<PathBuf>, RecoveryError> {
        let HeldRestore {
            store,
            journal,
            locks: _locks,
            ..
        } = held;
        Ok(leave(&store, journal, &self.services.acting())?)
    }

    /// Clears up an interrupted restore that was decided or had not begun to move anything.
    ///
    /// # Errors
    /// [`RecoveryError::Restore`].
    pub fn settle(&self, held: HeldRestore) -> Result<Cleared, RecoveryError> {
        let HeldRestore {
            store,
            journal,
            locks: _locks,
            ..
        } = held;
        Ok(settle(&store, journal, &self.services.acting())?)
    }

    /// Forgets an interrupted restore that had not begun to move anything, and plans it again, as it was confirmed then.
    ///
    /// # Errors
    /// [`RecoveryError::KeyWanted`]; as [`Self::plan`].
    pub fn plan_again(&self, held: HeldRestore) -> Result<RestorePlan, RecoveryError> {
        let HeldRestore {
            store,
            row,
            journal,
            locks,
            ..
        } = held;
        let intent = journal.intent().clone();
        if intent.unlocked && !store.is_unlocked() {
            return Err(RecoveryError::KeyWanted);
        }
        // Read before the journal is thrown away: what cannot be read now may be put back, and the restore is not forgotten until then.
        let target = store.record(&intent.target)?;
        let purpose = Purpose::of(&intent);
        let step = match &purpose {
            Purpose::Step(step) => Some(store.record(&step.snapshot)?),
            Purpose::Restore | Purpose::Undo(_) => None,
        };
        let done = settle(&store, journal, &self.services.acting())?;
        self.report(Event::StagingStays(&done.left));
        let requests = requests_again((&store, &row), &intent, (&target, step.as_ref()))?;
        let allow = Allow::of(&intent);
        let observer = self.services.observer;
        let mut proposal = propose(&store, target, purpose, requests, allow, false, observer)?;
        self.set_aside_again(&store, &mut proposal, &intent)?;
        let (paths, needed) = locks;
        Ok(RestorePlan {
            store,
            row,
            proposal,
            caller: Caller::Outside,
            is_refused: false,
            exact_mtimes: intent.exact_mtimes,
            locks: Locks::lasting((Some(paths), needed)),
        })
    }
}

/// Collects the requests of an intent again, with the evidence of now.
fn requests_again(
    (store, row): (&Store, &InstanceRow),
    intent: &Intent,
    (target, step): (&SnapshotRecord, Option<&SnapshotRecord>),
) -> Result<Vec<MountRequest>, RecoveryError> {
    let is_undo = matches!(Purpose::of(intent), Purpose::Undo(_));
    let mut requests = Vec::new();
    for mount in &intent.mounts {
        let coverage = mount.coverage.clone();
        let mut witness = match step {
            _ if is_undo => of_restore(store, &row.id, &coverage)?,
            // The paths are those of then: what the step changed, as far as it was asked for.
            Some(step) => of_step(store, row, &coverage, (target, step), &Scope::All)?.0,
            None => of_instance(store, row, &coverage, &target.id)?,
        };
        witness.composed = composed_again(&mount.composed);
        requests.push(MountRequest {
            coverage,
            scope: Scope::from(&mount.scope),
            witness,
        });
    }
    Ok(requests)
}
