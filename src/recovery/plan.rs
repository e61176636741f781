//! The plan of a restore in place.

use std::ffi::OsString;

use super::paths::{Known, in_snapshots, scopes};
use super::restore::refuse_torn;
use super::{
    Caller, ChosenPaths, Event, Keys, Locks, Recovery, RecoveryError, RestorePlan, no_files, no_keys,
    refuse_imported,
};
use crate::model::{Coverage, RelPath, SnapshotId, SnapshotKind, SnapshotRecord, StepRef};
use crate::restore::{
    Allow, MountRequest, Proposal, Purpose, RestoreError, Scope, find_open_files, of_instance, of_step,
    propose,
};
use crate::session::{
    Allowed, SessionError, State, ensure_outside_session, find_before, find_before_event, find_instance,
    find_snapshot, is_inside, recover_interrupted_restores, roots, state,
};
use crate::store::{InstanceRow, LockGuard, Store};

/// Request to plan a restore.
#[derive(Clone)]
pub struct RestoreRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// Only these paths and everything below them; empty for all.
    pub paths: &'a [OsString],
    /// Globs in gitignore syntax, relative to the current directory: what they match stays as it is.
    pub excluded: &'a [String],
    /// Of these only the paths that the operator chose in an earlier plan; `None` for all.
    pub chosen: Option<&'a ChosenPaths>,
    /// The snapshot to go back to; `None` for the baseline.
    pub from: Option<&'a str>,
    /// Reverts only what changed between this snapshot and the one before it.
    pub only_changes_of: Option<&'a str>,
    /// Later edits that may be lost, and repositories that stay out.
    pub allow: Allow,
    /// Excluded directories to set aside.
    pub set_aside: &'a [OsString],
    /// Fails if the snapshot is incomplete. A restore that leaves an encrypted file for lack of its key is incomplete, too.
    pub require_complete: bool,
    /// Puts recorded modification times back instead of new ones.
    pub exact_mtimes: bool,
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
    /// True if the plan is only shown: nothing is locked or written.
    pub dry_run: bool,
    /// Plans a restore also if an active session refuses it, to show it.
    pub shows_refused: bool,
}

impl<'a> RestoreRequest<'a> {
    /// Returns the request to restored all files of a session as its baseline has them, but later edits.
    #[must_use]
    pub fn of(session: &'a str) -> Self {
        Self {
            session,
            paths: &[],
            excluded: &[],
            chosen: None,
            from: None,
            only_changes_of: None,
            allow: Allow::default(),
            set_aside: &[],
            require_complete: false,
            exact_mtimes: false,
            keys: &no_keys,
            dry_run: false,
            shows_refused: false,
        }
    }
}

/// Session to restore, found in the store that was opened for reading.
pub struct RestoreSubject {
    /// The store.
    pub reading: Store,
    /// The session.
    pub row: InstanceRow,
    caller: Caller,
}

impl Recovery<'_> {
    /// Plans a restore in place. With `dry_run` nothing is locked or written.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery, RestoreRequest};
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
    /// let request = RestoreRequest { dry_run: true, ..RestoreRequest::of(session.as_str()) };
    /// let plan = recovery.plan(&request)?;
    /// assert_eq!(plan.proposal.mounts[0].plan.steps.len(), 1);
    /// assert!(project.join("new").exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if a session or a snapshot is not found, or a session is active; [`RecoveryError::Imported`];
    /// [`RecoveryError::NoFiles`]; [`RecoveryError::Nowhere`] and its like for a path; [`RecoveryError::Restore`].
    pub fn plan(&self, request: &RestoreRequest<'_>) -> Result<RestorePlan, RecoveryError> {
        let subject = self.restore_subject(request, false)?;
        self.plan_of(subject, request)
    }

    /// Finds the session that a restore is about. With `elsewhere` its files go into another directory, which a session must not ask
    /// for itself.
    ///
    /// # Errors
    /// [`RecoveryError::Session`].
    pub fn restore_subject(
        &self,
        request: &RestoreRequest<'_>,
        elsewhere: bool,
    ) -> Result<RestoreSubject, RecoveryError> {
        let (reading, row) = self.recorded(request.session)?;
        ensure_outside_session(&reading, self.environment, Allowed::Checkpoint(&row.id))?;
        let caller = match is_inside(&reading, self.environment, &row) {
            true => Caller::Inside,
            false => Caller::Outside,
        };
        if caller == Caller::Inside {
            refuse_all_but_checkpoints(&reading, &row, request, elsewhere)?;
            if request.allow.overwrite_later || request.allow.delete_later {
                return Err(SessionError::DiscardsEdits(row.id).into());
            }
        }
        Ok(RestoreSubject { reading, row, caller })
    }

    /// Finds the snapshot right before a prompt or tool call of a session, by a part of its text.
    ///
    /// # Errors
    /// [`RecoveryError::Session`].
    pub fn snapshot_before(&self, session: &str, text: &str) -> Result<SnapshotId, RecoveryError> {
        let (reading, row) = self.recorded(session)?;
        Ok(find_before_event(&reading, &row, text)?)
    }

    /// Plans a restore of a session that was found, as [`Self::plan`] does.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn plan_of(
        &self,
        subject: RestoreSubject,
        request: &RestoreRequest<'_>,
    ) -> Result<RestorePlan, RecoveryError> {
        let RestoreSubject { reading, row, caller } = subject;
        let keys = (request.keys)()?;
        refuse_imported(&row)?;
        let is_refused = match self.ensure_may_restore(caller, &reading, &row) {
            // A look changes nothing. Who else may be at work there is refused with what ends that.
            Err(refused) if request.shows_refused && refused.is_refused_active() => {
                self.report(Event::WouldBeRefused(refused));
                true
            }
            living => living.map(|()| false)?,
        };
        let is_own_work = is_refused && state(&reading, &row).is_active();
        let roots = roots(&row.mounts);
        let (store, locks) = self.store_for_plan(reading, &row, request.dry_run)?;
        if !request.dry_run {
            self.close_if_orphaned(&store, &row)?;
        }
        let store = store.unlocked_by(keys);
        let row = find_instance(&store, row.id.as_str())?;
        if state(&store, &row) == State::Lost {
            self.report(Event::NeverEnded(&row.id));
        }
        let (target, step) = restore_target(&store, &row, request)?;
        let is_step = step.is_some();
        let (requests, also) = self.mount_requests(
            (&store, &row),
            (&target, step.as_ref()),
            request,
            (caller == Caller::Inside || is_own_work) && !is_step,
        )?;
        let purpose = step.map_or(Purpose::Restore, |step| {
            Purpose::Step(StepRef {
                snapshot: step.id,
                kind: step.kind,
                name: step.name,
            })
        });
        let observer = self.services.observer;
        let mut proposal = propose(&store, target, purpose, requests, request.allow, false, observer)?;
        proposal.requires_key = request.require_complete;
        for (mount, also) in proposal.mounts.iter_mut().zip(also) {
            mount.also.extend(also);
        }
        if !is_step {
            self.check_paths(&store, &proposal, &row, request)?;
        }
        find_open_files(&mut proposal);
        self.set_aside(&mut proposal, request.set_aside)?;
        if let Some(chosen) = request.chosen {
            chosen.narrow_aside(&mut proposal);
        }
        Ok(RestorePlan {
            store,
            row,
            proposal,
            caller,
            is_refused,
            exact_mtimes: request.exact_mtimes,
            locks: Locks::passing(locks, roots),
        })
    }

    /// Collects for each mount which paths are meant, and the evidence about who changed them. `owned`: what came after a checkpoint is
    /// what a session wants gone that goes back to it, and what an active one left so far is its work. Of a step also returns for each mount
    /// the other sides of renames that were not asked for.
    fn mount_requests(
        &self,
        (store, row): (&Store, &InstanceRow),
        (target, step): (&SnapshotRecord, Option<&SnapshotRecord>),
        asked: &RestoreRequest<'_>,
        owned: bool,
    ) -> Result<(Vec<MountRequest>, Vec<Vec<RelPath>>), RecoveryError> {
        let coverages: Vec<Coverage> = target.mounts.iter().map(|mount| mount.coverage.clone()).collect();
        let meant = [Some(target), step].into_iter().flatten();
        let recorded = in_snapshots(store, meant.map(|record| record.id.clone()).collect());
        let scopes = scopes(
            self.environment,
            &coverages,
            asked.paths,
            asked.excluded,
            &recorded,
        )?;
        let (mut requests, mut beyond) = (Vec::new(), Vec::new());
        for (coverage, scope) in coverages.into_iter().zip(scopes) {
            let (mut witness, scope) = match step {
                Some(step) => {
                    let (witness, changed, also) = of_step(store, row, &coverage, (target, step), &scope)?;
                    beyond.push(also);
                    (witness, Scope::Exactly(changed))
                }
                None => (of_instance(store, row, &coverage, &target.id)?, scope),
            };
            let scope = match asked.chosen {
                Some(chosen) => chosen.within(&coverage, scope),
                None => scope,
            };
            witness.owned = owned;
            witness.composed = asked
                .chosen
                .map(|chosen| chosen.composed(&coverage))
                .unwrap_or_default();
            for (id, why) in &witness.unreadable {
                self.report(Event::UnreadableHistory(id, why));
            }
            requests.push(MountRequest {
                coverage,
                scope,
                witness,
            });
        }
        Ok((requests, beyond))
    }

    /// Opens the store for a plan, with the lock of the session's mounts and the one that keeps archives. A dry run writes nothing and
    /// blocks no other command: it takes the second lock alone.
    pub(super) fn store_for_plan(
        &self,
        reading: Store,
        row: &InstanceRow,
        dry_run: bool,
    ) -> Result<(Store, (Option<LockGuard>, LockGuard)), RecoveryError> {
        if dry_run {
            refuse_torn(&reading, row)?;
            let needed = reading.share()?;
            return Ok((reading, (None, needed)));
        }
        drop(reading);
        let store = self.store_for_writing()?;
        let locks = (Some(store.lock_restore(&roots(&row.mounts))?), store.share()?);
        self.clear_up(&store, row)?;
        Ok((store, locks))
    }

    /// Fails for a path that is neither in the snapshot nor there now: a mistake must not look like success.
    fn check_paths(
        &self,
        store: &Store,
        proposal: &Proposal,
        row: &InstanceRow,
        request: &RestoreRequest<'_>,
    ) -> Result<(), RecoveryError> {
        let from = request.from.unwrap_or("baseline");
        let described = format!("is not in the {from} snapshot and does not exist now");
        let mounts = &proposal.mounts;
        let coverages: Vec<Coverage> = mounts
            .iter()
            .map(|mount| mount.request.coverage.clone())
            .collect();
        let recorded = in_snapshots(store, vec![proposal.target.id.clone()]);
        let scopes = scopes(
            self.environment,
            &coverages,
            request.paths,
            request.excluded,
            &recorded,
        )?;
        for (mount, scope) in mounts.iter().zip(&scopes) {
            let gaps = mount.plan.not_covered.iter().map(|gap| &gap.path);
            let skipped = mount.now.skipped.iter().map(|skipped| &skipped.path);
            let lost = mount.lost_edits.iter().map(|edit| &edit.path);
            let elsewhere: Vec<&RelPath> = gaps.chain(skipped).chain(lost).collect();
            let known = Known {
                sides: &[mount.target.as_ref(), mount.now.manifest.as_ref()],
                elsewhere: &elsewhere,
                described: &described,
            };
            known.check(&mount.request.coverage, scope, &row.id)?;
        }
        Ok(())
    }

    /// Finishes or forgets interrupted restores of the session's files, and reports each.
    fn clear_up(&self, store: &Store, row: &InstanceRow) -> Result<(), RecoveryError> {
        for done in recover_interrupted_restores(store, self.services, &row.mounts)? {
            self.report(Event::Cleared(&done));
        }
        Ok(())
    }
}

/// Returns the snapshot to go back to; for a single step that is reverted, also the one that it led to.
pub(crate) fn restore_target(
    store: &Store,
    row: &InstanceRow,
    request: &RestoreRequest<'_>,
) -> Result<(SnapshotRecord, Option<SnapshotRecord>), RecoveryError> {
    let wanted = request.only_changes_of.or(request.from);
    let found =
        find_snapshot(store, row, wanted.unwrap_or("baseline")).map_err(|error| no_files(row, error))?;
    let (record, step) = match request.only_changes_of {
        Some(_) => {
            let before = find_before(store, row, &found)?;
            (store.record(&before.id)?, Some(store.record(&found.id)?))
        }
        None => (store.record(&found.id)?, None),
    };
    if request.require_complete && !record.complete {
        return Err(RestoreError::Incomplete(record.id).into());
    }
    Ok((record, step))
}

/// Fails unless a session goes back to its own checkpoints, in its own mounts.
fn refuse_all_but_checkpoints(
    store: &Store,
    row: &InstanceRow,
    request: &RestoreRequest<'_>,
    elsewhere: bool,
) -> Result<(), RecoveryError> {
    let refused = || SessionError::OnlyCheckpoints(row.id.clone());
    let wanted = request.only_changes_of.or(request.from).ok_or_else(refused)?;
    let found = find_snapshot(store, row, wanted)?;
    match found.kind {
        SnapshotKind::Checkpoint if !elsewhere && request.set_aside.is_empty() => Ok(()),
        _ => Err(refused().into()),
    }
}
