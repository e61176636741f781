//! A restore that is planned, and the locks that it needs.

use std::cell::RefCell;
use std::path::PathBuf;

use super::{Recovery, RecoveryError};
use crate::restore::{Proposal, Report, RestoreContext, RestoreError, execute, pending, refuse_in_use};
use crate::session::{SessionError, ensure_no_overlap, refuse_living};
use crate::store::encryption::Identities;
use crate::store::{InstanceRow, LockGuard, RestoreStage, Store};
use handle_fs::Locations;

/// Source of the private keys that open encrypted files; called once, after the session was found.
pub type Keys<'a> = &'a dyn Fn() -> Result<Option<Identities>, RecoveryError>;

/// Returns no keys: encrypted files stay as they are.
///
/// # Errors
/// Never.
pub fn no_keys() -> Result<Option<Identities>, RecoveryError> {
    Ok(None)
}

/// Origin of a restore request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The operator: nothing may be at work on the paths.
    Outside,
    /// The session itself: nothing else may be.
    Inside,
}

/// Planned restore, with its session, its store, and the locks that it holds until it is dropped.
pub struct RestorePlan {
    /// The store.
    pub store: Store,
    /// The session.
    pub row: InstanceRow,
    /// The plan of each mount.
    pub proposal: Proposal,
    /// Origin of the request.
    pub caller: Caller,
    /// True if the restore is refused as things are; such a plan is only shown.
    pub is_refused: bool,
    /// Puts recorded modification times back instead of new ones.
    pub exact_mtimes: bool,
    pub(super) locks: Locks,
}

/// Locks of a restore.
pub(super) struct Locks {
    held: RefCell<Option<(Option<LockGuard>, LockGuard)>>,
    /// Roots to lock again after the answer; `None` if the locks are held throughout.
    roots: Option<Vec<PathBuf>>,
}

impl Locks {
    /// Returns locks that are released while the operator is asked.
    pub(super) fn passing(held: (Option<LockGuard>, LockGuard), roots: Vec<PathBuf>) -> Self {
        Self {
            held: RefCell::new(Some(held)),
            roots: Some(roots),
        }
    }

    /// Returns locks that are held from the plan to the end: what is done with them lies half done.
    pub(super) fn lasting(held: (Option<LockGuard>, LockGuard)) -> Self {
        Self {
            held: RefCell::new(Some(held)),
            roots: None,
        }
    }
}

impl RestorePlan {
    /// Returns true if it changes nothing and keeps nothing that differs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let mut mounts = self.proposal.mounts.iter();
        self.proposal.is_empty()
            && mounts.all(|mount| {
                mount.plan.conflicts.is_empty() && mount.plan.kept.is_empty() && mount.encrypted.is_empty()
            })
    }

    /// Asks the operator with the locks released, so that no other process waits for the answer, and takes them again.
    ///
    /// # Errors
    /// [`RecoveryError::Outdated`] if the store learned of a change to these files meanwhile, for the plan may be another one then, and
    /// [`RecoveryError::Rewritten`] if archives that it reads may be gone; the error of `ask`. Changes to the files themselves are found when the restore begins.
    pub fn ask<E: From<RecoveryError>>(&self, ask: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let Some(roots) = &self.locks.roots else {
            return ask();
        };
        let seen = self
            .store
            .catalog()
            .newest_receipt()
            .map_err(RecoveryError::from)?;
        self.locks.held.replace(None);
        ask()?;
        Ok(self.lock_again(roots, seen)?)
    }

    fn lock_again(&self, roots: &[PathBuf], seen: u64) -> Result<(), RecoveryError> {
        let (store, row) = (&self.store, &self.row);
        self.locks
            .held
            .replace(Some((Some(store.lock_restore(roots)?), store.share()?)));
        refuse_torn(store, row)?;
        // The plan reads from archives that may be gone, and may bring back what was forgotten.
        if store.catalog().has_rewritten_since(seen)? {
            return Err(RecoveryError::Rewritten);
        }
        let locations = Locations::default();
        for id in store.catalog().concerned_since(seen)? {
            let other = store.catalog().instance(&id)?;
            if id == row.id || other.is_some_and(|other| row.is_reached_from(&other, &locations)) {
                return Err(RecoveryError::Outdated(id));
            }
        }
        // A prune may have deleted it.
        store.record(&self.proposal.target.id)?;
        Ok(())
    }
}

impl Recovery<'_> {
    /// Runs a plan: takes an emergency snapshot, moves every path, and reads everything back. An active session, or a process at
    /// work in a repository that would change, is refused.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery, RestoreRequest, UndoRequest};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// # let session = recovery.begin(&(&contract).into())?.into_id();
    /// # std::fs::write(project.join("new"), "")?;
    /// # drop(recovery.end(session.as_str())?);
    /// let plan = recovery.plan(&RestoreRequest::of(session.as_str()))?;
    /// let report = recovery.restore(&plan)?;
    /// assert!(report.emergency.is_some() && !project.join("new").exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the session is active; [`RecoveryError::Restore`], after which nothing has changed unless its text
    /// says otherwise.
    pub fn restore(&self, plan: &RestorePlan) -> Result<Report, RecoveryError> {
        refuse_in_use(&plan.proposal)?;
        if !plan.proposal.is_empty() {
            // The answer may have taken a while, and a session may have begun meanwhile.
            self.ensure_may_restore(plan.caller, &plan.store, &plan.row)?;
        }
        let context = RestoreContext {
            inside: plan.caller == Caller::Inside,
            exact_mtimes: plan.exact_mtimes,
            ..self.services.acting()
        };
        Ok(execute(&plan.store, &plan.proposal, &context)?)
    }

    /// Fails if a process may be at work on the session's files, other than the session that asks itself.
    pub(super) fn ensure_may_restore(
        &self,
        caller: Caller,
        store: &Store,
        row: &InstanceRow,
    ) -> Result<(), RecoveryError> {
        match caller {
            Caller::Outside => refuse_living(store, self.environment, row)?,
            Caller::Inside => ensure_no_overlap(store, row)?,
        }
        Ok(())
    }
}

/// Fails if an interrupted restore of the session's files waits.
pub(super) fn refuse_torn(store: &Store, row: &InstanceRow) -> Result<(), RecoveryError> {
    let mut found = pending(store, &row.mounts)?.into_iter();
    match found.find(|found| found.stage == RestoreStage::Moving) {
        Some(found) => Err(SessionError::Restore(RestoreError::Pending(Box::new(found.intent))).into()),
        None => Ok(()),
    }
}

/// Fails if a restore of the session's files is done but not recorded: who only reads cannot record it.
pub(super) fn refuse_unrecorded(store: &Store, row: &InstanceRow) -> Result<(), RecoveryError> {
    let mut found = pending(store, &row.mounts)?.into_iter();
    match found.find(|found| found.stage.is_unsettled()) {
        Some(found) => Err(SessionError::Restore(RestoreError::Unsettled(Box::new(found.intent))).into()),
        None => Ok(()),
    }
}
