//! From the journal to the receipt: all mounts forward and one decision, or all of them back. Recovery of an
//! interrupted restore starts here as well.

use std::collections::BTreeSet;
use std::io;

use super::flags;
use super::holding_dir::End;
use super::late_refs::refuse_late_refs;
use super::mount_task::{MountTask, report, settle_times};
use super::plan::Step;
use super::proposal::Proposal;
use super::report::{LeftThere, MountReport, Outcome, Report};
use super::rollback::Away;

use super::{RestoreContext, RestoreError};
use crate::diff::{Change, renames};
use crate::model::{AsideChange, Decision, Operation, PathChange, Recorded, SnapshotId};
use crate::observer::Phase;
use crate::store::{RestoreJournal, Store};
use handle_fs::MountError;

/// Context for the end of a restore.
pub(super) struct Commit<'a> {
    pub(super) store: &'a Store,
    pub(super) papers: &'a RestoreJournal,
    pub(super) emergency: &'a SnapshotId,
    pub(super) acting: &'a RestoreContext<'a>,
}

impl Commit<'_> {
    /// Moves everything into place on all mounts, or nothing on any.
    ///
    /// # Errors
    /// Reason that it was rolled back, or that it waits ([`RestoreError::is_pending`]).
    pub(super) fn run(
        &self,
        proposal: &Proposal,
        jobs: &mut [MountTask<'_>],
    ) -> Result<Report, RestoreError> {
        self.acting.observer.begin(Phase::Apply);
        let moved = self.forward(proposal, jobs);
        self.acting.observer.end();
        if let Err(cause) = moved {
            return Err(self.take_back(jobs, cause));
        }
        self.reached("compared");
        if let Err(cause) = self.papers.decide(Decision::Commit) {
            // It may be on disk all the same, and then nothing may go back.
            return Err(match self.papers.withdraw_decision() {
                Ok(()) => self.take_back(jobs, cause.into()),
                Err(_) => self.waits(cause.into()),
            });
        }
        self.reached("decided");
        self.finish(proposal, jobs)
    }

    fn reached(&self, point: &'static str) {
        self.acting.observer.reached(point);
    }

    fn forward(&self, proposal: &Proposal, jobs: &mut [MountTask<'_>]) -> Result<(), RestoreError> {
        // Staging took its time, and so do the moves: what git has written since then may name an object that goes.
        refuse_late(proposal, jobs)?;
        for job in &*jobs {
            job.stage.begin_moves()?;
        }
        for job in &mut *jobs {
            let mut carry = job.carry(self.acting.observer);
            carry.forward()?;
            let (failed, in_steps) = (carry.failed, carry.in_steps);
            job.problems.extend(failed);
            job.in_steps = in_steps;
        }
        self.reached("moved");
        // Every mount is synced before the decision is written. A decision on disk beside moves that are not would have the
        // next command clear up after a restore that a power loss has taken apart.
        for job in &*jobs {
            job.carry(self.acting.observer).sync()?;
        }
        self.reached("synced");
        // Compared last. A program that has an old object open may have written to it after it was moved aside, and clearing
        // up would delete that write.
        jobs.iter()
            .try_for_each(|job| job.carry(self.acting.observer).compare())?;
        refuse_late(proposal, jobs)
    }

    /// Finishes an interrupted restore, like [`Self::run`]. If that fails, what was moved stays moved, and the operator decides.
    ///
    /// # Errors
    /// The reason why the restore still waits.
    pub(super) fn resume(
        &self,
        proposal: &Proposal,
        jobs: &mut [MountTask<'_>],
    ) -> Result<Report, RestoreError> {
        if self.papers.decision()?.is_none() {
            self.acting.observer.begin(Phase::Apply);
            let moved = self.forward(proposal, jobs);
            self.acting.observer.end();
            moved.map_err(|cause| self.waits(cause))?;
            self.reached("compared");
            // If this fails, the decision is not withdrawn: every move is made and nothing goes back from here, so both
            // answers are right.
            let decided = self.papers.decide(Decision::Commit);
            decided.map_err(|cause| self.waits(cause.into()))?;
            self.reached("decided");
        }
        self.finish(proposal, jobs)
    }

    fn waits(&self, cause: RestoreError) -> RestoreError {
        let instance = self.papers.intent().instance.clone();
        match self.unless_lost(cause) {
            RestoreError::Drift { path } => RestoreError::Changed { path, instance },
            cause => cause.halfway(&instance),
        }
    }

    /// Returns the error of an interrupted restore whose places cannot be opened: it still waits.
    pub(super) fn unopened(&self, cause: RestoreError) -> RestoreError {
        match cause {
            cause @ (RestoreError::Stage { .. } | RestoreError::Apply { .. } | RestoreError::Mount(_)) => {
                self.waits(cause)
            }
            cause => cause,
        }
    }

    /// Replaces a change that was found where the connection is lost: what cannot be looked at any more did not change.
    fn unless_lost(&self, cause: RestoreError) -> RestoreError {
        match cause {
            RestoreError::Drift { path } | RestoreError::Apply { path, .. }
                if self.store.transports().lost_near(&path) =>
            {
                MountError::Lost { path }.into()
            }
            cause => cause,
        }
    }

    /// Rolls everything back and returns the cause. If that fails, the restore stays interrupted.
    pub(super) fn take_back(&self, jobs: &[MountTask<'_>], cause: RestoreError) -> RestoreError {
        match self.give_back(jobs) {
            Ok(left) => left.into_iter().fold(cause, |cause, left| RestoreError::Left {
                cause: Box::new(cause),
                left: Box::new(left),
            }),
            Err(RestoreError::RollBack {
                path, aside, source, ..
            }) => RestoreError::RollBack {
                cause: Some(self.unless_lost(cause).bare()),
                path,
                aside,
                source,
            },
            Err(_) => self.unless_lost(cause).halfway(&self.papers.intent().instance),
        }
    }

    /// Takes an interrupted restore back, as [`Self::give_back`] does.
    ///
    /// # Errors
    /// The reason why the restore still waits.
    pub(super) fn abort(&self, jobs: &[MountTask<'_>]) -> Result<Vec<RestoreError>, RestoreError> {
        self.give_back(jobs).map_err(|cause| match cause {
            cause @ RestoreError::RollBack { .. } => cause,
            cause => self.waits(cause),
        })
    }

    /// Takes everything back, and calls the restore off. Gives what stays in the staging directories, and the paths whose old
    /// objects are nowhere any more.
    ///
    /// # Errors
    /// [`RestoreError::RollBack`] for a path that cannot be brought back now; the restore waits then.
    pub(super) fn give_back(&self, jobs: &[MountTask<'_>]) -> Result<Vec<RestoreError>, RestoreError> {
        let mut gone = Vec::new();
        let mut first = None;
        for job in jobs.iter().rev() {
            for (path, source) in job.carry(self.acting.observer).back() {
                let path = path.on_host(&job.host);
                if source.kind() == io::ErrorKind::NotFound {
                    gone.push(RestoreError::Gone { path });
                } else if source.kind() == io::ErrorKind::ResourceBusy {
                    gone.push(RestoreError::Kept { path });
                } else if source.get_ref().is_some_and(|why| why.is::<Away>()) {
                    gone.push(RestoreError::Away { path });
                } else if first.is_none() {
                    let aside = job.stage.path().to_path_buf();
                    first = Some(RestoreError::RollBack {
                        cause: None,
                        path,
                        aside,
                        source,
                    });
                }
            }
        }
        self.reached("taken-back");
        // The old tree has to be on disk on every mount before `Abort` is decided: after that no command moves anything back.
        let synced = jobs
            .iter()
            .try_for_each(|job| job.carry(self.acting.observer).sync());
        if let Some(error) = first {
            return Err(error);
        }
        synced?;
        self.reached("back-synced");
        gone.extend(self.call_off(jobs)?);
        Ok(gone)
    }

    /// The old tree is back: decides so, clears up, writes the receipt. Gives what stays in the staging directories.
    pub(super) fn call_off(&self, jobs: &[MountTask<'_>]) -> Result<Vec<RestoreError>, RestoreError> {
        // Decided before anything is removed: clearing up deletes the new objects, and `resume` could not go forward any
        // more.
        if self.papers.decision()?.is_none() {
            self.papers.decide(Decision::Abort)?;
        }
        self.reached("abort-decided");
        let mut left = Vec::new();
        for job in jobs {
            left.extend(job.settle().err());
            left.extend(job.settle_berths(End::TakenBack));
            left.extend(settle_times(job, &BTreeSet::new(), None, (None, false)).err());
            left.extend(job.bind_again());
            left.extend(job.sync_last().err());
        }
        self.reached("abort-settled");
        // A process that was killed behind this receipt comes here once more. A restore has one receipt.
        let intent = self.papers.intent();
        if self
            .store
            .catalog()
            .end_of_restore(&intent.instance, self.emergency)?
            .is_none()
        {
            let act = Operation::Abort {
                kind: intent.kind,
                target: intent.target.clone(),
                emergency: Some(self.emergency.clone()),
                as_is: false,
                inside: intent.inside,
            };
            self.store
                .append(self.acting.now, self.acting.uid, &intent.instance, act)?;
        }
        self.reached("abort-receipt");
        Ok(left)
    }

    /// The new tree stays: verifies it, clears up, writes the receipt.
    ///
    /// # Errors
    /// [`RestoreError::Unrecorded`]: it waits for a command that can write the receipt.
    pub(super) fn finish(
        &self,
        proposal: &Proposal,
        jobs: &mut [MountTask<'_>],
    ) -> Result<Report, RestoreError> {
        let mut mounts: Vec<MountReport> = proposal.mounts.iter().map(|_| MountReport::default()).collect();
        let (mut left, mut in_steps, mut unsettled) = (Vec::new(), Vec::new(), false);
        let mut shared = 0;
        for job in &mut *jobs {
            let Some((mount, place)) = proposal.mounts.get(job.index).zip(mounts.get_mut(job.index)) else {
                continue;
            };
            shared += job.shared;
            in_steps.extend(job.in_steps.then(|| job.host.clone()));
            let inherits = flags::inherits(&job.stage);
            let aside = job.aside_done(&mount.aside, self.acting.observer);
            let touched = job.touched(self.acting.observer);
            let settled = job.settle().err().into_iter();
            let settled = settled.chain(job.settle_berths(End::Kept));
            for error in settled {
                unsettled |= error.may_settle_later();
                left.push(error.to_string());
            }
            self.reached("settled");
            let exact = self.papers.intent().exact_mtimes;
            let before = job.before.map(|(manifest, _)| manifest);
            let target = (mount.target.as_ref(), exact);
            let timed = settle_times(job, &touched, before, target).unwrap_or_else(|error| {
                unsettled |= error.may_settle_later();
                left.push(error.to_string());
                false
            });
            // After everything else: what is immutable takes no time, and a name of it that lies aside could not be removed.
            if !job.is_foreign() {
                let placed = flags::Placed::of(&job.journal.moves, &job.known);
                let unset = flags::set((&job.transports, &job.host), inherits, &mount.plan.steps, &placed);
                job.problems.extend(unset);
            }
            if (timed || flags::concern(inherits, &mount.plan.steps))
                && let Err(error) = job.sync_last()
            {
                unsettled |= error.may_settle_later();
                left.push(error.to_string());
            }
            self.reached("flags");
            *place = report(job, mount, self.acting);
            place.aside = aside;
            self.reached("verified");
        }
        // Before the restore's files are removed: if both were gone, no `undo` and no later restore would know what this one
        // changed.
        let receipt = match self.receipt(proposal, &mounts) {
            Ok(receipt) => receipt,
            Err(source) => {
                return Err(RestoreError::Unrecorded {
                    emergency: self.emergency.clone(),
                    source,
                });
            }
        };
        self.reached("receipt");
        let failed = mounts.iter().any(|mount| !mount.failed.is_empty());
        let meant = self.papers.intent().mounts.iter();
        let untouched: u64 = meant.map(|mount| mount.conflicts + mount.hidden).sum();
        let named = proposal.mounts.iter();
        let named: u64 = named
            .map(|mount| mount.conflicts() + proposal.untouched(mount))
            .sum();
        // After an interruption the plan has its steps alone.
        left.extend((untouched > named).then(|| {
            "as planned, something stayed: a conflict, or what is out of reach; to see it: `jackin recovery restore`"
                .to_owned()
        }));
        Ok(Report {
            outcome: if untouched > 0 || failed || !left.is_empty() {
                Outcome::Partial
            } else {
                Outcome::Done
            },
            emergency: Some(self.emergency.clone()),
            receipt: Some(receipt),
            mounts,
            left,
            unsettled,
            in_steps,
            shared,
        })
    }

    /// Writes the receipt, unless it was written before a crash.
    fn receipt(&self, proposal: &Proposal, mounts: &[MountReport]) -> Result<u64, crate::store::StoreError> {
        let intent = self.papers.intent();
        let catalog = self.store.catalog();
        if let Some(number) = catalog.end_of_restore(&intent.instance, self.emergency)? {
            return Ok(number);
        }
        let (mut changed, mut aside) = (Vec::new(), Vec::new());
        for (mount, report) in proposal.mounts.iter().zip(mounts) {
            let label = &mount.request.coverage.label;
            let applied = report.applied(&mount.plan);
            let changes: Vec<&Change> = applied.iter().map(|step| &step.change).collect();
            let partner = renames(&changes);
            let change = |step: &Step, left: &LeftThere| {
                let composed = mount.request.witness.composed.get(&step.change.path);
                PathChange {
                    composed: composed
                        .map(|file| Recorded(Box::new(file.entry.clone().without_attribute_values()))),
                    ..change(label, step, left)
                }
            };
            changed.extend(applied.iter().enumerate().map(|(at, step)| {
                PathChange {
                    counted_with: partner
                        .get(&at)
                        .and_then(|old| Some(changes.get(*old)?.path.clone())),
                    ..change(step, &LeftThere::Target)
                }
            }));
            changed.extend(report.inexact.iter().map(|(step, left)| change(step, left)));
            aside.extend(report.aside.iter().map(|step| AsideChange::of(label, step)));
        }
        let act = Operation::Restore {
            kind: intent.kind,
            target: intent.target.clone(),
            emergency: self.emergency.clone(),
            undoes: intent.undoes,
            only_changes_of: intent.only_changes_of.clone(),
            inside: intent.inside,
            plan: intent.plan,
            unlocked: intent.unlocked,
            changed,
            conflicts: intent.mounts.iter().map(|mount| mount.conflicts).sum(),
            failed: mounts.iter().map(|mount| mount.failed.len() as u64).sum(),
            aside,
        };
        let receipt = self
            .store
            .append(self.acting.now, self.acting.uid, &intent.instance, act)?;
        Ok(receipt.number)
    }
}

fn change(label: &str, step: &Step, left: &LeftThere) -> PathChange {
    PathChange {
        mount: label.to_owned(),
        path: step.change.path.clone(),
        act: step.action.into(),
        overrode: step.overrode,
        inexact: *left != LeftThere::Target,
        counted_with: None,
        composed: None,
        left: match left {
            LeftThere::Metadata(entry) => Some(Recorded(entry.clone())),
            LeftThere::Target | LeftThere::Unknown => None,
        },
    }
}

/// Refuses to go on if git has written a ref since the emergency snapshot that may name an object which goes.
fn refuse_late(proposal: &Proposal, jobs: &[MountTask<'_>]) -> Result<(), RestoreError> {
    jobs.iter()
        .try_for_each(|job| match proposal.mounts.get(job.index) {
            Some(mount) => refuse_late_refs(mount, job),
            None => Ok(()),
        })
}
