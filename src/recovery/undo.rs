//! The plan that takes a restore back, limited to what that restore touched. It is a restore itself.

use std::collections::BTreeSet;

use super::restore::{refuse_torn, refuse_unrecorded};
use super::{
    Caller, ChosenPaths, Keys, Locks, Recovery, RecoveryError, RestorePlan, no_keys, refuse_imported,
};
use crate::model::{Receipt, RelPath, Time};
use crate::restore::{
    Allow, MountRequest, Purpose, Report, Scope, bring_back, find_open_files, of_restore, propose,
};
use crate::session::{
    Allowed, ensure_outside_session, find_called, find_instance, refuse_forgotten, refuse_living, roots,
    without_forgotten,
};
use crate::store::{InstanceRow, RestoreRow, RestoreStage, Store};
use handle_fs::Locations;

/// Request to take a restore back.
#[derive(Clone)]
pub struct UndoRequest<'a> {
    /// The session; `None` for the one that was restored last.
    pub session: Option<&'a str>,
    /// Number of the restore's receipt; `None` for the last restore that changed something.
    pub receipt: Option<u64>,
    /// Only the paths that the operator chose in an earlier plan; `None` for all.
    pub chosen: Option<&'a ChosenPaths>,
    /// Later edits that may be lost.
    pub allow: Allow,
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
    /// True if the plan is only shown: nothing is locked or written.
    pub dry_run: bool,
}

/// Restore that a plan undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoneRestore {
    /// Number of its receipt.
    pub receipt: u64,
    /// Time of the restore.
    pub at: Time,
    /// Number of sessions that began on the same files since.
    pub sessions_since: u64,
}

impl Default for UndoRequest<'_> {
    fn default() -> Self {
        Self {
            session: None,
            receipt: None,
            chosen: None,
            allow: Allow::default(),
            keys: &no_keys,
            dry_run: false,
        }
    }
}

impl Recovery<'_> {
    /// Takes a restore back: plans it and carries the plan out.
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
    /// recovery.restore(&recovery.plan(&RestoreRequest::of(session.as_str()))?)?;
    /// assert!(!project.join("new").exists());
    /// recovery.undo(&UndoRequest::default())?;
    /// assert!(project.join("new").exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Self::plan_undo`] and [`Self::restore`].
    pub fn undo(&self, request: &UndoRequest<'_>) -> Result<Report, RecoveryError> {
        self.restore(&self.plan_undo(request)?)
    }

    /// Plans what takes a restore back. With `dry_run` nothing is locked or written.
    ///
    /// # Errors
    /// [`RecoveryError::NothingToUndo`]; [`RecoveryError::Session`] if no session goes by this name, or one is active;
    /// [`RecoveryError::Restore`].
    pub fn plan_undo(&self, request: &UndoRequest<'_>) -> Result<RestorePlan, RecoveryError> {
        let reading = self.store_for_reading()?;
        let reading = match (reading, request.session) {
            (Some(reading), _) => reading,
            (None, Some(wanted)) => return Err(RecoveryError::no_store(wanted)),
            (None, None) => {
                return Err(RecoveryError::NothingToUndo {
                    receipt: request.receipt,
                });
            }
        };
        let row = self.concerned(&reading, request)?;
        ensure_outside_session(&reading, self.environment, Allowed::Nothing)?;
        refuse_living(&reading, self.environment, &row)?;
        if request.dry_run {
            refuse_unrecorded(&reading, &row)?;
        }
        let roots = roots(&row.mounts);
        let keys = (request.keys)()?;
        let (store, locks) = self.store_for_plan(reading, &row, request.dry_run)?;
        let store = store.unlocked_by(keys);
        // What was cleared up may have been a restore that is the last one now.
        let (row, undone) = self.last_restore(&store, request)?;
        let target = store.record(&undone.emergency)?;
        let mut requests = Vec::new();
        for mount in &target.mounts {
            let coverage = mount.coverage.clone();
            let touched = undone
                .changed
                .iter()
                .filter(|change| change.mount == coverage.label);
            let paths: BTreeSet<RelPath> = touched.map(|change| change.path.clone()).collect();
            let witness = of_restore(&store, &row.id, &coverage)?;
            let touched = Scope::Exactly(paths);
            let scope = match request.chosen {
                Some(chosen) => chosen.within(&coverage, touched),
                None => touched,
            };
            requests.push(MountRequest {
                coverage,
                scope,
                witness,
            });
        }
        let (purpose, observer) = (Purpose::Undo(undone.number), self.services.observer);
        let mut proposal = propose(&store, target, purpose, requests, request.allow, false, observer)?;
        find_open_files(&mut proposal);
        bring_back(&mut proposal, &undone.aside, self.services.entropy);
        if let Some(chosen) = request.chosen {
            chosen.narrow_aside(&mut proposal);
        }
        Ok(RestorePlan {
            store,
            row,
            proposal,
            caller: Caller::Outside,
            is_refused: false,
            exact_mtimes: false,
            locks: Locks::passing(locks, roots),
        })
    }

    /// Returns the restore that a plan undoes; `None` if the plan is no undo.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn undone_by(&self, planned: &RestorePlan) -> Result<Option<UndoneRestore>, RecoveryError> {
        let Purpose::Undo(number) = planned.proposal.purpose else {
            return Ok(None);
        };
        let catalog = planned.store.catalog();
        let Some(Receipt { at, .. }) = catalog.receipt(number)? else {
            return Ok(None);
        };
        let mut rows = catalog.instances_begun_after(number)?;
        let locations = Locations::default();
        rows.retain(|row| planned.row.is_reached_from(row, &locations));
        Ok(Some(UndoneRestore {
            receipt: number,
            at,
            sessions_since: rows.len() as u64,
        }))
    }

    /// Returns the session that is meant. One whose restore waits, or was done without a receipt, comes before all others.
    fn concerned(&self, store: &Store, request: &UndoRequest<'_>) -> Result<InstanceRow, RecoveryError> {
        let named = match request.session {
            Some(name) => Some(find_called(store, self.environment, name)?),
            None => None,
        };
        if let Some(row) = &named {
            refuse_forgotten(store, &row.id)?;
        }
        let mut pending = store.pending_restores()?;
        pending.retain(|found| {
            let meant = named.as_ref().is_none_or(|row| row.id == found.intent.instance);
            meant && !found.alive && !matches!(found.stage, RestoreStage::Begun | RestoreStage::Recorded)
        });
        if let Some(row) = &named {
            refuse_torn(store, row)?;
        }
        match pending.pop() {
            Some(found) => {
                let row = find_instance(store, found.intent.instance.as_str())?;
                refuse_torn(store, &row)?;
                Ok(row)
            }
            None => Ok(self.last_restore(store, request)?.0),
        }
    }

    /// Returns the restore to undo, with its session: the last one, or the one with the given receipt.
    fn last_restore(
        &self,
        store: &Store,
        request: &UndoRequest<'_>,
    ) -> Result<(InstanceRow, RestoreRow), RecoveryError> {
        let rows = match (request.session, request.receipt) {
            (Some(name), _) => vec![find_called(store, self.environment, name)?],
            (None, Some(_)) => store.catalog().instances()?,
            (None, None) => without_forgotten(store, store.catalog().instances()?)?,
        };
        let named = request.session.and_then(|_| rows.first().cloned());
        let mut found: Option<(InstanceRow, RestoreRow)> = None;
        for row in rows {
            for restore in store.catalog().restores(&row.id)? {
                // A restore that changed nothing left nothing to take back.
                let wanted = match request.receipt {
                    Some(number) => number == restore.number,
                    None => !restore.changed.is_empty() || !restore.aside.is_empty(),
                };
                let newer = found
                    .as_ref()
                    .is_none_or(|(_, best)| best.number < restore.number);
                if wanted && newer {
                    found = Some((row.clone(), restore));
                }
            }
        }
        let receipt = request.receipt;
        let found = found.ok_or_else(|| match (named, receipt) {
            (Some(row), None) => match refuse_imported(&row) {
                Ok(()) => RecoveryError::NeverRestored {
                    keeps_files: !row.mounts.is_empty(),
                    id: row.id,
                },
                Err(error) => error,
            },
            _ => RecoveryError::NothingToUndo { receipt },
        })?;
        refuse_forgotten(store, &found.0.id)?;
        Ok(found)
    }
}
