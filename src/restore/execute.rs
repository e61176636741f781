//! Carries a proposal out: emergency snapshot, the plan made again from it, staging, moves, verification, receipt.

use super::commit::Commit;
use super::intent::intent;
use super::layers::{Parted, part};
use super::mount_task::{discard, stage_all};
use super::plan::{Action, Plan, Step};
use super::planner::plan;
use super::proposal::{Proposal, ProposedMount};
use super::report::{MountReport, Outcome, Report};
use super::repositories::refuse_in_use;
use super::{RestoreContext, RestoreError};
use crate::capture::{CaptureError, Captured, Request, read_back, take};
use crate::contract::PrivateFiles;
use crate::diff::Side;
use crate::model::{
    Content, Entry, JournalParts, Listing, MountRecord, RelPath, SnapshotKind, SnapshotRecord,
};
use crate::store::{Blobs, RestoreJournal, Store};

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
    let blobs = proposal.contents(store);
    for mount in &proposal.mounts {
        check_space(mount, &blobs)?;
    }
    // Before anything is made: the intent names the staging directory and the flags that may be lifted, so a kill leaves
    // nothing that the next command does not know.
    let papers = store.run_transaction(intent(proposal, acting))?;
    acting.observer.reached("intent");
    let result = run_transaction(store, proposal, &blobs, &papers, acting);
    match result {
        // What could not be cleared up now may be cleared up by the next command: the papers that name it stay.
        Err(error) if error.is_pending() || error.has_left_some() => Err(error),
        Ok(report) if report.unsettled => Ok(report),
        other => {
            // When the papers cannot be thrown away now, the next command that writes does it: they say that nothing is left to do.
            let _ = papers.close(acting.observer);
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
    let parted: Vec<Parted> = proposal.mounts.iter().map(part).collect();
    let mut emergency = emergency(store, proposal, acting).map_err(RestoreError::Emergency)?;
    reveal(proposal, &mut emergency);
    same_plan(proposal, &emergency, &parted)?;
    let needed = needed(proposal, &emergency.record);
    // In the end the old objects are deleted and the archive is their only copy. It is read from disk while the tree still
    // has them.
    read_back(store, &emergency.record, needed, acting.observer).map_err(RestoreError::Emergency)?;
    acting.observer.reached("emergency");
    // Git may have begun since somebody was asked.
    refuse_in_use(proposal)?;
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
            Err(_) => RestoreError::from(error).halfway(&proposal.target.instance),
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

/// Holes take no room, and neither does a second name; what is found missing later is rolled back.
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
    let free = handle_fs::Dir::open(&mount.transports, path)
        .and_then(handle_fs::free_bytes)
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
        since: Some(store.newest_known_receipt()?),
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
fn same_plan(proposal: &Proposal, emergency: &Captured, parted: &[Parted]) -> Result<(), RestoreError> {
    let captured = emergency.manifests.iter().zip(&emergency.skipped);
    let mounts = proposal.mounts.iter().zip(parted);
    for ((mount, parted), (manifest, skipped)) in mounts.zip(captured) {
        let side = Side {
            manifest: manifest.as_ref(),
            skipped,
        };
        let (target, request) = (mount.target.as_ref(), &mount.request);
        let again = plan(target, &side, &request.witness, &request.scope, proposal.allow);
        if let Some(path) = first_difference(&mount.plan, &again, parted) {
            // Where the directory changed while it was listed, nothing is known of the path itself.
            let unsettled = |dir: &RelPath| {
                let dir = manifest.as_ref().and_then(|manifest| manifest.directory(dir));
                dir.is_some_and(|dir| dir.listing == Listing::Unsettled)
            };
            let changed = path.ancestors().filter(unsettled).last().unwrap_or(path);
            return Err(RestoreError::Drift {
                path: changed.on_host(&request.coverage.root.to_path()),
            });
        }
    }
    Ok(())
}

/// The first path that two plans treat differently: by what is done and by the state that it is done to.
fn first_difference(shown: &Plan, again: &Plan, parted: &Parted) -> Option<RelPath> {
    let same = |a: &Step, b: &Step| {
        let path = &a.change.path;
        let state = match (&a.change.to, &b.change.to) {
            (Some(a), Some(b)) => parted.is_same(path, a, b),
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
