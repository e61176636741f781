//! Carries a proposal out: emergency snapshot, the plan made again from it, staging, moves, verification, receipt.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::RestoreError;
use super::commit::Commit;
use super::intent::intent;
use super::mount_task::{discard, stage_all};
use super::plan::{Action, Plan, Step};
use super::planner::plan;
use super::proposal::{Proposal, ProposedMount};
use super::repositories::refuse_locked;
use crate::capture::{CaptureError, Captured, Request, read_back, take};
use crate::clock::Entropy;
use crate::contract::PrivateFiles;
use crate::diff::Side;
use crate::model::{
    AsideStep, Content, Entry, JournalParts, MountRecord, RelPath, SnapshotId, SnapshotKind, SnapshotRecord,
    Time,
};
use crate::observer::Observer;
use crate::platform;
use crate::store::{Blobs, RestoreJournal, Store};

/// Observer, user, time and options of a restore.
pub struct RestoreContext<'a> {
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// For names and ids.
    pub entropy: &'a dyn Entropy,
    /// Wall clock now.
    pub now: Time,
    /// Numeric user.
    pub uid: u32,
    /// The session itself asks, from within.
    pub inside: bool,
    /// Put recorded modification times back instead of new ones.
    pub exact_mtimes: bool,
}

/// Outcome of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was planned was done, and nothing stood against it.
    Done,
    /// There was no difference that the restore may change, and nothing stood against it.
    Nothing,
    /// A conflict was kept, a path could not be changed, or a staging directory stays.
    Partial,
}

/// A path that could not be made what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Below the mount root.
    pub path: RelPath,
    /// Reason, in words.
    pub reason: String,
}

/// Result for one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountReport {
    /// Paths that could not be changed, or not exactly.
    pub failed: Vec<Failed>,
    /// Steps of failed paths that do not have their old state either.
    pub inexact: Vec<Step>,
    /// Excluded directories that went aside or came back.
    pub aside: Vec<AsideStep>,
}

impl MountReport {
    /// Returns the steps that were done: all steps of the plan except the failed ones.
    #[must_use]
    pub fn applied<'a>(&self, plan: &'a Plan) -> Cow<'a, [Step]> {
        if self.failed.is_empty() {
            return Cow::Borrowed(&plan.steps);
        }
        let failed: BTreeSet<&RelPath> = self.failed.iter().map(|failed| &failed.path).collect();
        let done = plan
            .steps
            .iter()
            .filter(|step| !failed.contains(&step.change.path));
        done.cloned().collect()
    }
}

/// Result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// In one word.
    pub outcome: Outcome,
    /// The snapshot of what was there before, when anything was changed.
    pub emergency: Option<SnapshotId>,
    /// Number of the receipt, when anything was changed.
    pub receipt: Option<u64>,
    /// The mounts, in the proposal's order.
    pub mounts: Vec<MountReport>,
    /// A staging directory that could not be removed, with the reason.
    pub left: Vec<String>,
    /// True if a later command may still clean up some of that. The journal is kept for it.
    pub unsettled: bool,
    /// Mount roots whose file system cannot exchange names: each path that was replaced was missing for a moment.
    pub in_steps: Vec<std::path::PathBuf>,
    /// Number of restored files that share their blocks with another file.
    pub shared: u64,
}

/// Carries `proposal` out.
///
/// # Errors
/// [`RestoreError`]; nothing is changed then, or the text says what is.
pub fn execute(
    store: &Store,
    proposal: &Proposal,
    acting: &RestoreContext<'_>,
) -> Result<Report, RestoreError> {
    if proposal.is_empty() {
        let outcome = if proposal.is_in_part() {
            Outcome::Partial
        } else {
            Outcome::Nothing
        };
        return Ok(Report {
            outcome,
            emergency: None,
            receipt: None,
            mounts: proposal.mounts.iter().map(|_| MountReport::default()).collect(),
            left: Vec::new(),
            unsettled: false,
            in_steps: Vec::new(),
            shared: 0,
        });
    }
    let private = proposal.mounts.iter().map(|mount| mount.reveal.lent());
    let blobs = private.fold(store.contents(&proposal.target), Blobs::lending);
    for mount in &proposal.mounts {
        check_space(mount, &blobs)?;
    }
    let papers = store.run_transaction(intent(proposal, acting))?;
    acting.observer.reached("intent");
    let result = run_transaction(store, proposal, &blobs, &papers, acting);
    match result {
        // What could not be cleared up now may be cleared up by the next command: the papers that name it stay.
        Err(error) if error.is_pending() || error.has_left_some() => Err(error),
        Ok(report) if report.unsettled => Ok(report),
        other => {
            // When the papers cannot be thrown away now, the next command that writes does it: they say that nothing is left to do.
            let _ = papers.close();
            acting.observer.reached("closed");
            other
        }
    }
}

/// Everything from the emergency snapshot to the receipt.
fn run_transaction(
    store: &Store,
    proposal: &Proposal,
    blobs: &Blobs,
    papers: &RestoreJournal,
    acting: &RestoreContext<'_>,
) -> Result<Report, RestoreError> {
    let mut emergency = emergency(store, proposal, acting).map_err(RestoreError::Emergency)?;
    reveal(proposal, &mut emergency);
    same_plan(proposal, &emergency)?;
    let needed = needed(proposal, &emergency.record);
    read_back(store, &emergency.record, needed, acting.observer).map_err(RestoreError::Emergency)?;
    acting.observer.reached("emergency");
    // Git may have begun since somebody was asked.
    refuse_locked(proposal)?;
    let mut jobs = stage_all(proposal, papers.intent(), &emergency, blobs, acting)?;
    acting.observer.reached("staged");
    let journal = JournalParts {
        emergency: &emergency.record.id,
        mounts: jobs.iter().map(|job| &job.journal).collect(),
    };
    if let Err(error) = papers.write_journal(&journal) {
        // It may be on disk all the same. As long as it is not certainly gone, what it tells of must stay.
        return Err(match papers.withdraw_journal() {
            Ok(()) => discard(&jobs, error.into()),
            Err(_) => RestoreError::Waits {
                why: error.to_string(),
                instance: proposal.target.instance.clone(),
            },
        });
    }
    acting.observer.reached("journaled");
    let work = Commit {
        store,
        papers,
        emergency: &emergency.record.id,
        acting,
    };
    work.run(proposal, &mut jobs)
}

/// Holes take no room, and neither does a second name; what is found missing later is taken back.
fn check_space(mount: &ProposedMount, blobs: &Blobs) -> Result<(), RestoreError> {
    let written = mount
        .plan
        .steps
        .iter()
        .filter(|step| step.action != Action::Metadata);
    let need: u64 = written
        .filter_map(|step| step.change.from.as_ref().filter(|entry| entry.link.is_none()))
        .filter_map(Entry::content)
        .map(|content| blobs.stored_bytes(&content.digest).unwrap_or(content.size))
        .sum();
    let path = mount.location.directory();
    let free = crate::mount::Dir::open(path)
        .and_then(platform::free_bytes)
        .unwrap_or(u64::MAX);
    if need > free {
        Err(RestoreError::Space {
            path: path.to_path_buf(),
            need,
            free,
        })
    } else {
        Ok(())
    }
}

fn emergency(
    store: &Store,
    proposal: &Proposal,
    acting: &RestoreContext<'_>,
) -> Result<Captured, CaptureError> {
    let coverages: Vec<_> = proposal
        .mounts
        .iter()
        .map(|mount| mount.request.coverage.clone())
        .collect();
    let request = Request {
        workspace: proposal.target.workspace.as_deref(),
        ..Request::of(
            &proposal.target.instance,
            SnapshotKind::Emergency,
            &coverages,
            (acting.now, acting.uid),
        )
    };
    take(store, &request, acting.observer, acting.entropy)
}

/// The plan is made once more, from what the emergency snapshot holds. If it is another one, the tree changed since it
/// was shown.
fn same_plan(proposal: &Proposal, emergency: &Captured) -> Result<(), RestoreError> {
    let captured = emergency.manifests.iter().zip(&emergency.skipped);
    for (mount, (manifest, skipped)) in proposal.mounts.iter().zip(captured) {
        let side = Side {
            manifest: manifest.as_ref(),
            skipped,
        };
        let (target, request) = (mount.target.as_ref(), &mount.request);
        let again = plan(target, &side, &request.witness, &request.scope, proposal.allow);
        if let Some(path) = first_difference(&mount.plan, &again) {
            return Err(RestoreError::Drift {
                path: path.on_host(&request.coverage.root.to_path()),
            });
        }
    }
    Ok(())
}

/// The first path that two plans treat differently: by what is done and by the state that it is done to.
fn first_difference(shown: &Plan, again: &Plan) -> Option<RelPath> {
    let same = |a: &Step, b: &Step| {
        let state = match (&a.change.to, &b.change.to) {
            (Some(a), Some(b)) => a.same_state(b) && a.ino == b.ino,
            (None, None) => true,
            _ => false,
        };
        a.action == b.action && a.change.path == b.change.path && state
    };
    let mut pairs = shown.steps.iter().zip(&again.steps);
    if let Some((a, _)) = pairs.find(|(a, b)| !same(a, b)) {
        return Some(a.change.path.clone());
    }
    let longer = if shown.steps.len() > again.steps.len() {
        &shown.steps
    } else {
        &again.steps
    };
    let shorter = shown.steps.len().min(again.steps.len());
    longer.get(shorter).map(|step| step.change.path.clone())
}

/// The content that is about to be replaced or removed, and what there is of private files.
fn needed(proposal: &Proposal, emergency: &SnapshotRecord) -> Vec<Content> {
    let steps = proposal.mounts.iter().flat_map(|mount| {
        // What is private is looked at as it is stored.
        let private = PrivateFiles::of(&mount.request.coverage);
        let steps = mount.plan.steps.iter();
        let steps = steps.filter(move |step| !private.holds(&step.change.path));
        steps.filter_map(|step| step.change.to.as_ref()?.content().copied())
    });
    steps
        .chain(emergency.mounts.iter().flat_map(MountRecord::private))
        .collect()
}

/// Puts the private files that the emergency snapshot saw into its manifests.
fn reveal(proposal: &Proposal, emergency: &mut Captured) {
    let mounts = emergency.manifests.iter_mut().zip(&emergency.private);
    for (mount, (manifest, files)) in proposal.mounts.iter().zip(mounts) {
        let coverage = &mount.request.coverage;
        let mut targets = proposal.target.mounts.iter();
        let target = targets.find(|target| target.coverage.label == coverage.label);
        if let (Some(manifest), Some(target)) = (manifest, target) {
            mount.reveal.captured(manifest, target, files);
        }
    }
}
