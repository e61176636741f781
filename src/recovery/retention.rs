//! The retention policy of the configuration, applied beside another command or as the operator asks.

use std::cell::RefCell;

use super::{Event, Recovery, RecoveryError};
use crate::config::{Config, ConfigError, Retention};
use crate::model::{FsSnapshotIntent, InstanceId, SnapshotId};
use crate::retention::{
    Acting, Care, PrunePlan, Pruned, Rules, Shortage, carry_out, plan, plan_if_due, steady_now,
};
use crate::session::{
    Allowed, ThawedEnd, ensure_outside_session, forget_frozen, forgettable, give_up_stuck, stuck,
};
use crate::store::{Store, StoreError};

/// Snapshots that exceed the retention policy.
pub struct PlannedPrune {
    /// Snapshots to delete and archives to repack.
    pub plan: PrunePlan,
    /// Snapshots whose baseline was frozen and does not fit.
    pub stuck: Vec<SnapshotId>,
    /// Faults of workspaces' files: nothing of such a workspace is deleted.
    pub faults: Vec<String>,
}

impl PlannedPrune {
    /// Returns true if there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plan.is_empty() && self.stuck.is_empty()
    }
}

/// Result of applying the retention policy beside another command.
#[derive(Default)]
pub struct AppliedRetention {
    /// Snapshots that were deleted, and the bytes that are free.
    pub pruned: Pruned,
    /// Number of bytes by which the store is still too large.
    pub lacking: u64,
    /// Lack of free disk space for which nothing was deleted; `None` if enough is free.
    pub shortage: Option<Shortage>,
    /// Disk space used by the store, in bytes.
    pub size: u64,
    /// True if other processes use the store, so nothing was done.
    pub is_busy: bool,
    /// Faults of workspaces' files: nothing of such a workspace is deleted.
    pub faults: Vec<String>,
}

impl Recovery<'_> {
    /// Opens the store to prune it; `None` if there is none. With `dry_run` it is opened for reading.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if the caller runs in a session; [`RecoveryError::Store`].
    pub fn store_for_care(&self, dry_run: bool) -> Result<Option<Store>, RecoveryError> {
        let store = match (self.has_store()?, dry_run) {
            (false, _) => None,
            (true, true) => self.store_for_reading()?,
            (true, false) => Some(self.store_for_writing()?),
        };
        if let Some(store) = &store {
            ensure_outside_session(store, self.environment, Allowed::Nothing)?;
            if !dry_run {
                store.remove_idle_contracts()?;
            }
        }
        Ok(store)
    }

    /// Plans which snapshots of all workspaces are deleted. Changes nothing.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let started = recovery.begin(&(&contract).into())?;
    /// assert!(recovery.plan_prune(&started.store)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Config`]; [`RecoveryError::Store`].
    pub fn plan_prune(&self, store: &Store) -> Result<PlannedPrune, RecoveryError> {
        let _shared = store.share()?;
        let (now, observer) = (self.services.clock.now(), self.services.observer);
        let (plan, faults) = self.with_rules(None, |rules| {
            Ok(plan(store, rules, Care::Thorough, now, observer)?)
        })?;
        Ok(PlannedPrune {
            plan,
            stuck: stuck(store)?,
            faults,
        })
    }

    /// Deletes snapshots and repacks archives as planned.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn prune(&self, store: &Store, plan: PrunePlan) -> Result<Pruned, RecoveryError> {
        Ok(carry_out(store, plan, &self.acting(false))?)
    }

    /// Stores frozen baselines now that there may be room, and deletes those of `stuck` that still do not fit. Returns these.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn prune_frozen(
        &self,
        store: &Store,
        stuck: &[SnapshotId],
    ) -> Result<Vec<SnapshotId>, RecoveryError> {
        let mut deleted = Vec::new();
        if stuck.is_empty() {
            return Ok(deleted);
        }
        for done in self.store_deferred(store, true) {
            let is_too_large = matches!(&done.end, ThawedEnd::NotStored(error) if error.is_lack_of_room());
            if !is_too_large || !stuck.contains(&done.id) {
                self.report(Event::Deferred(done));
            } else if give_up_stuck(store, self.services, &done.id)? {
                deleted.push(done.id);
            }
        }
        Ok(deleted)
    }

    /// Returns the frozen snapshots with this prefix that can be forgotten: no process works with them, and no record needs them.
    ///
    /// # Errors
    /// [`RecoveryError::Session`].
    pub fn forgettable(&self, store: &Store, prefix: &str) -> Result<Vec<FsSnapshotIntent>, RecoveryError> {
        Ok(forgettable(store, prefix)?)
    }

    /// Forgets what was frozen for a snapshot, and does not remove it. Returns false if it is in use or stored by now.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn forget_frozen(&self, store: &Store, id: &SnapshotId) -> Result<bool, RecoveryError> {
        Ok(forget_frozen(store, self.services, id)?)
    }

    /// Applies the policy to the workspace of the session `own`. A store that other processes use is left for another time.
    ///
    /// # Errors
    /// [`RecoveryError::Config`]; [`RecoveryError::Store`].
    pub fn apply_retention(
        &self,
        store: &Store,
        own: &InstanceId,
    ) -> Result<AppliedRetention, RecoveryError> {
        let observer = self.services.observer;
        let (mut applied, faults) = self.with_rules(Some(own), |rules| {
            let steady = steady_now(store, self.services.clock.now())?;
            let Some(plan) = plan_if_due(store, rules, steady, observer)? else {
                return Ok(AppliedRetention::default());
            };
            let mut applied = AppliedRetention {
                lacking: plan.lacking,
                shortage: plan.shortage,
                size: plan.size.all(),
                ..AppliedRetention::default()
            };
            if plan.chosen.is_empty() && !plan.repacks() {
                return Ok(applied);
            }
            match carry_out(store, plan, &self.acting(true)) {
                Err(StoreError::Locked { .. }) => applied.is_busy = true,
                Err(error) => return Err(error.into()),
                Ok(pruned) => applied.pruned = pruned,
            }
            Ok(applied)
        })?;
        applied.faults = faults;
        Ok(applied)
    }

    pub(super) fn acting(&self, automatic: bool) -> Acting<'_> {
        Acting {
            entropy: self.services.entropy,
            observer: self.services.observer,
            now: self.services.clock.now(),
            uid: self.services.uid,
            automatic,
        }
    }

    /// Calls `work` with the policy; `own` is the session beside which it is applied. Also returns the faults of workspaces' files.
    fn with_rules<T>(
        &self,
        own: Option<&InstanceId>,
        work: impl FnOnce(&Rules<'_>) -> Result<T, RecoveryError>,
    ) -> Result<(T, Vec<String>), RecoveryError> {
        let config = Config::load(self.environment)?;
        let faults: RefCell<Vec<ConfigError>> = RefCell::default();
        let of = |workspace: Option<&str>| {
            config.retention(workspace).unwrap_or_else(|error| {
                faults.borrow_mut().push(error);
                Retention::unlimited()
            })
        };
        let done = work(&Rules {
            of: &of,
            room: config.room(),
            own,
        })?;
        let mut faults: Vec<String> = faults.into_inner().iter().map(ToString::to_string).collect();
        faults.sort();
        faults.dedup();
        Ok((done, faults))
    }
}
