//! One mount's share of a restore: staged before it begins, verified when it is done.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::apply::MoveExecutor;
use super::build_moves::{Move, prepare, unfold};
use super::flags;
use super::foreign::refuse_foreign;
use super::git_index::index_digests;
use super::git_parts::is_inseparable;
use super::holding_dir::{self, End, HoldingDir, as_move};
use super::journal::Draft;
use super::metadata::sync_last;
use super::move_state::Progress;
use super::plan::{Action, Step};
use super::problem::{Problem, concerns_all};
use super::proposal::{Proposal, ProposedMount};
use super::reflink::Twins;
use super::report::{Failed, LeftThere, MountReport};
use super::stage::{OwnedInodes, Stage};
use super::tree_writer::{Builder, Times};
use super::verify::{Verified, verify};
use super::{RestoreContext, RestoreError, left, unset};
use crate::capture::{Captured, is_gone};
use crate::git_directories::Repositories;
use crate::model::{
    AsideStep, BoundObject, Entry, Intent, JournalMount, Manifest, MoveKind, RelPath, StagePlace, Stamp,
    Time, add_sizes,
};
use crate::observer::{Observer, Phase};
use crate::store::Blobs;
use handle_fs::remote::Transports;
use handle_fs::{Dir, MountError, Root};

/// One mount under way: everything new is staged, and every move is known.
pub(super) struct MountTask<'a> {
    /// Its number in the proposal.
    pub(super) index: usize,
    /// Manifest of the emergency snapshot and the time at which its scan began; `None` if the root did not exist.
    pub(super) before: Option<(&'a Manifest, Time)>,
    /// The mount root on the host.
    pub(super) host: std::path::PathBuf,
    /// Connections to the machine of the mount.
    pub(super) transports: Transports,
    /// Open mount root; `None` if it does not exist.
    pub(super) root: Option<Root>,
    /// Staging directory, for new content and old objects.
    pub(super) stage: Stage,
    /// Holding directories of the excluded directories that are set aside.
    pub(super) berths: Vec<HoldingDir>,
    /// Its moves.
    pub(super) journal: JournalMount,
    /// Objects that the staging directory may hold in the end.
    pub(super) known: OwnedInodes,
    /// True if a process that died began the restore.
    pub(super) again: bool,
    /// Objects that were immutable or append-only.
    pub(super) bound: Vec<BoundObject>,
    /// Some path was missing for a moment, because the file system cannot exchange.
    pub(super) in_steps: bool,
    /// Number of staged files that share their blocks with another file.
    pub(super) shared: u64,
    /// Paths that could not be made or moved, or not exactly, with the reason.
    pub(super) problems: Vec<(RelPath, Problem)>,
}

impl MountTask<'_> {
    /// The moves, to be made or rolled back.
    pub(super) fn carry<'b>(&'b self, observer: &'b dyn Observer) -> MoveExecutor<'b> {
        MoveExecutor {
            root: self.root.as_ref(),
            stage: &self.stage,
            berths: &self.berths,
            mount: &self.journal,
            host: self.host.clone(),
            transports: &self.transports,
            before: self.before.map(|(manifest, _)| manifest),
            observer,
            again: self.again,
            known: &self.known,
            failed: Vec::new(),
            in_steps: false,
            repositories: OnceCell::new(),
        }
    }

    /// The directories whose entries changed. Asked before the staging directory is emptied, which shows what was not moved.
    ///
    /// A path with a problem may have been moved anyway, and not exactly be what it should.
    pub(super) fn touched(&self, observer: &dyn Observer) -> BTreeSet<RelPath> {
        let named: BTreeSet<&RelPath> = self.problems.iter().map(|(path, _)| path).collect();
        let carry = self.carry(observer);
        let moved = self.journal.moves.iter().filter(|step| {
            let is_unmoved =
                || named.contains(&step.path) && matches!(carry.progress(step), Ok(Progress::Before));
            !matches!(step.deed, MoveKind::Metadata { .. }) && !is_unmoved()
        });
        moved.filter_map(|step| Some(step.path.split()?.0)).collect()
    }

    /// Restores the flags that were in the way. What was staged may hold another name of what was immutable, and could not be
    /// removed then: so the staging directory goes first.
    pub(super) fn bind_again(&self) -> Vec<RestoreError> {
        let root = self.root.as_ref();
        root.map_or_else(Vec::new, |root| flags::put_back(root, &self.bound))
    }

    /// Returns true if the mount root is not the directory that the restore began in.
    pub(super) fn is_foreign(&self) -> bool {
        self.journal.root.is_some() && self.root.is_none()
    }

    /// [`sync_last`], unless the mount root is gone.
    pub(super) fn sync_last(&self) -> Result<(), RestoreError> {
        self.root.as_ref().map_or(Ok(()), sync_last)
    }

    /// Removes the directories that nothing lies aside in. Gives those that hold what they should not.
    pub(super) fn settle_berths(&self, end: End) -> Vec<RestoreError> {
        let settled = self.berths.iter().map(|berth| berth.settle(end));
        settled.filter_map(Result::err).collect()
    }

    /// Returns the steps that were done, and records each other step as a problem.
    pub(super) fn aside_done(&mut self, steps: &[AsideStep], observer: &dyn Observer) -> Vec<AsideStep> {
        let mut done = Vec::new();
        let mut undone = Vec::new();
        let carry = self.carry(observer);
        for step in steps {
            match carry.progress(&as_move(step)) {
                Ok(Progress::After) => done.push(step.clone()),
                _ => undone.push(&step.path),
            }
        }
        for path in undone {
            if !self.problems.iter().any(|(named, _)| named == path) {
                let why = Problem::new("it is not where it should be");
                self.problems.push((path.clone(), why));
            }
        }
        done
    }

    /// Removes the staging directory, and what the journal knows in it.
    pub(super) fn settle(&self) -> Result<(), RestoreError> {
        self.stage.settle(&self.known)
    }
}

/// Stages all mounts that have anything to do. When one fails, nothing is left of any but what is named.
pub(super) fn stage_all<'a>(
    proposal: &'a Proposal,
    intent: &Intent,
    emergency: &'a Captured,
    blobs: &Blobs,
    acting: &RestoreContext<'_>,
) -> Result<Vec<MountTask<'a>>, RestoreError> {
    let mut jobs = Vec::new();
    let captured = emergency.manifests.iter().zip(&emergency.record.mounts);
    let mounts = proposal.mounts.iter().zip(&intent.mounts).zip(captured);
    for (index, ((mount, meant), (manifest, record))) in mounts.enumerate() {
        let before = manifest.as_ref().map(|manifest| (manifest, record.started_at));
        let target = mount.target.as_ref().or(manifest.as_ref());
        let (Some(place), Some(target)) = (&meant.stage, target) else {
            continue;
        };
        acting.observer.begin(Phase::Stage);
        match stage(mount, (place, meant.root_mtime), target, before, blobs, acting) {
            Ok(mut job) => {
                job.index = index;
                jobs.push(job);
            }
            Err(cause) => return Err(discard(&jobs, cause)),
        }
        acting.observer.end();
    }
    Ok(jobs)
}

fn stage<'a>(
    mount: &'a ProposedMount,
    (place, found): (&StagePlace, Option<Stamp>),
    target: &'a Manifest,
    before: Option<(&'a Manifest, Time)>,
    blobs: &Blobs,
    acting: &RestoreContext<'_>,
) -> Result<MountTask<'a>, RestoreError> {
    let coverage = &mount.request.coverage;
    let host = coverage.root.to_path();
    // All moves of this mount start from this handle. If the path leads to another directory later, none of them is made
    // there.
    let root = match Root::open(&mount.transports, &host) {
        Ok(root) => Some(root),
        Err(MountError::Missing { .. }) if before.is_none() => None,
        Err(error) => return Err(error.into()),
    };
    let steps = &mount.plan.steps;
    let contents = steps.iter().filter_map(|step| {
        let is_written = matches!(step.action, Action::Create | Action::Replace);
        step.change.from.as_ref().filter(|_| is_written)?.content()
    });
    let (files, bytes) = contents.fold((0, 0), |(files, bytes), content| {
        (files + 1, add_sizes(bytes, content.size))
    });
    acting.observer.expect(files, bytes);
    let times = if acting.exact_mtimes {
        Times::Recorded
    } else {
        let recorded = steps.iter().filter_map(|step| step.change.from.as_ref());
        let now = root
            .as_ref()
            .map_or_else(|| Ok(handle_fs::fine_clock()), Root::fine_clock);
        // Git compares a file by its content if the index is not younger than the file: then the file may have been changed again within
        // the second in which its state was written down. With a new time of the index such a change would be hidden.
        Times::rank(now?, recorded.map(|entry| entry.mtime), index_digests(target))
    };
    let mut builder = Builder {
        blobs,
        observer: acting.observer,
        times,
        twins: Twins::of(root.as_ref(), before.map(|(manifest, _)| manifest), steps),
        problems: Vec::new(),
    };
    let stage = Stage::create(&mount.transports, place, found)?;
    acting.observer.reached("staging");
    if let Some(root) = &root
        && let Err(cause) = refuse_foreign(root, &stage, steps)
    {
        return Err(left(cause, stage.unmake(&OwnedInodes::default())));
    }
    let berths = match holding_dir::of_mount(mount, root.as_ref()) {
        Ok(berths) => berths,
        Err(cause) => return Err(left(cause, stage.unmake(&OwnedInodes::default()))),
    };
    acting.observer.reached("berths");
    let now = before.map(|(manifest, _)| manifest);
    if let Some(root) = &root {
        flags::lift_linked(root, steps);
    }
    let mut moves = prepare(root.as_ref(), &stage, steps, target, now, &mut builder);
    if let (Some(root), Some(before), Ok(some)) = (&root, now, &mut moves) {
        let stuck = flags::lift(root, before, steps, some);
        if let Some((path, problem)) = stuck_in_repository(before, &stuck, steps) {
            moves = Err(RestoreError::Apply {
                path: path.on_host(&host),
                source: io::Error::other(problem.words.clone()),
            });
        }
        builder.problems.extend(stuck);
    }
    stage.take_all();
    // All of it before the journal: what is staged, and also that no flag is in the way. Moves that a journal tells of must be
    // possible after a power loss.
    let moves = moves.and_then(|moves| stage.sync().map(|()| moves));
    let undo = |cause, settled: Result<(), RestoreError>| {
        let mut failed: Vec<RestoreError> = settled.err().into_iter().collect();
        failed.extend(holding_dir::forget(&mount.transports, &mount.aside));
        if let Some(root) = &root {
            failed.extend(flags::put_back(root, &flags::bound(steps)));
        }
        failed
            .into_iter()
            .fold(cause, |cause, error| left(cause, Err(error)))
    };
    // Also when staging stopped half way: all that lies there is ours.
    let known = match known(&stage, steps, now) {
        Ok(known) => known,
        Err(cause) => return Err(undo(cause, stage.forget())),
    };
    let written = moves.and_then(|moves| {
        let layered = root.as_ref().is_some_and(Root::is_layered);
        let moves: Vec<(RelPath, Move)> = match now.filter(|_| layered) {
            Some(before) => unfold(moves, before),
            None => moves.into_iter().collect(),
        };
        let draft = Draft {
            label: &coverage.label,
            root: root.as_ref(),
            stage: &stage,
            before: now,
            steps,
            moves: &moves,
            known: &known,
            aside: &mount.aside,
        };
        draft.write().map_err(|source| RestoreError::Stage {
            path: stage.path().to_path_buf(),
            source,
        })
    });
    let (shared, problems) = (builder.twins.shared(), builder.problems);
    match written {
        Ok(journal) => Ok(MountTask {
            index: 0,
            before,
            host,
            transports: mount.transports.clone(),
            root,
            stage,
            berths,
            journal,
            known,
            again: false,
            bound: flags::bound(steps),
            in_steps: false,
            shared,
            problems,
        }),
        Err(cause) => {
            let settled = stage.unmake(&known);
            Err(undo(cause, settled))
        }
    }
}

/// Returns the first path that cannot be moved and that a git repository cannot do without.
fn stuck_in_repository<'s>(
    before: &Manifest,
    stuck: &'s [(RelPath, Problem)],
    steps: &[Step],
) -> Option<&'s (RelPath, Problem)> {
    let repositories = stuck.first().map(|_| Repositories::of([before]))?;
    let actions: BTreeMap<&RelPath, Action> = steps
        .iter()
        .map(|step| (&step.change.path, step.action))
        .collect();
    let is_needed = |(path, _): &&(RelPath, Problem)| match actions.get(path) {
        Some(Action::Metadata) => false,
        action => is_inseparable(&repositories, path, action == Some(&Action::Delete)),
    };
    stuck.iter().find(is_needed)
}

/// Returns the objects that were staged and those that the steps will move aside.
fn known(stage: &Stage, steps: &[Step], before: Option<&Manifest>) -> Result<OwnedInodes, RestoreError> {
    let mut known = OwnedInodes::default();
    for step in steps {
        // As the emergency snapshot has it: an overlay may have copied the file since the plan was made.
        let is = before.and_then(|before| before.entry(&step.change.path));
        if let Some(is) = step.change.to.as_ref().map(|to| is.unwrap_or(to)) {
            known.held(is);
        }
    }
    known.staged(stage.dir()).map_err(|source| RestoreError::Stage {
        path: stage.path().to_path_buf(),
        source,
    })?;
    Ok(known)
}

/// Removes what was staged for a restore that stopped with `cause`, and names what stays.
pub(super) fn discard(jobs: &[MountTask<'_>], cause: RestoreError) -> RestoreError {
    jobs.iter().fold(cause, |cause, job| {
        let cause = left(cause, job.stage.unmake(&job.known));
        let failed = job
            .settle_berths(End::TakenBack)
            .into_iter()
            .chain(job.bind_again());
        failed.fold(cause, |cause, error| left(cause, Err(error)))
    })
}

/// Puts a time right that only our staging directory disturbed, and under `--mtimes exact` those of the directories whose
/// entries changed (`touched`). `true`: some were set, and are not on disk yet.
///
/// A directory that is not the one in `before` is another process's, and keeps its time. There is no `before` after a rollback,
/// which makes directories anew.
///
/// # Errors
/// [`RestoreError::Lasting`] when the file system fails. A time that may not be set harms nothing.
pub(super) fn settle_times(
    job: &MountTask<'_>,
    touched: &BTreeSet<RelPath>,
    before: Option<&Manifest>,
    (target, exact): (Option<&Manifest>, bool),
) -> Result<bool, RestoreError> {
    let Some(root) = &job.root else { return Ok(false) };
    let mut some = false;
    let mut failed = Ok(());
    // The root was compared when it was opened, and an overlay may have copied a directory.
    let before = before.filter(|_| !root.is_layered());
    let is_other = |path: &RelPath, dir: &Dir| -> io::Result<bool> {
        let was = before
            .filter(|_| !path.is_root())
            .and_then(|before| before.entry(path));
        Ok(match was {
            Some(was) => was.ino != dir.stat()?.ino,
            None => false,
        })
    };
    for parent in job.journal.parents.iter().rev() {
        let recorded = target.and_then(|target| target.entry(&parent.path));
        let time = match (touched.contains(&parent.path), recorded) {
            (false, _) => parent.mtime.into(),
            (true, Some(entry)) if exact => entry.mtime,
            (true, _) => continue,
        };
        let set = root
            .dir(&parent.path)
            .and_then(|dir| match is_other(&parent.path, &dir)? {
                true => Ok(false),
                false => handle_fs::set_mtime_handle(&dir, time).map(|()| true),
            });
        match set {
            Ok(set) => some |= set,
            Err(source) if is_gone(&source) || !concerns_all(&source) => {}
            Err(source) => {
                failed = Err(RestoreError::Lasting {
                    path: parent.path.on_host(&job.host),
                    source,
                });
            }
        }
    }
    failed.map(|()| some)
}

/// Looks at what was restored, and sorts the steps into done and failed. What was moved cannot be rolled back here any more, so
/// nothing stops this.
pub(super) fn report(
    job: &mut MountTask<'_>,
    mount: &ProposedMount,
    acting: &RestoreContext<'_>,
) -> MountReport {
    let steps = &mount.plan.steps;
    if job.is_foreign() {
        // Whatever lies at the root now is nothing that this restore knows.
        let failed = |step: &Step| Failed {
            path: step.change.path.clone(),
            problem: Problem::new("the mount root is another directory now"),
        };
        return MountReport {
            failed: steps.iter().map(failed).collect(),
            ..MountReport::default()
        };
    }
    let mut reasons: BTreeMap<RelPath, Vec<Problem>> = BTreeMap::new();
    for (path, reason) in std::mem::take(&mut job.problems) {
        reasons.entry(path).or_default().push(reason);
    }
    let mut report = MountReport::default();
    // A root that was missing is opened now that it is there.
    let verified = Root::open(&job.transports, &job.host)
        .map(|root| verify(&root, steps, mount.target.as_ref(), acting.observer));
    for step in steps {
        let path = &step.change.path;
        let mut said = reasons.remove(path).unwrap_or_default();
        let mut is_own = !said.is_empty();
        let left = match &verified {
            Ok(Verified { unread, .. }) if unread.contains_key(path) => {
                said.extend(unread.get(path).map(Problem::unread));
                Some(LeftThere::Unknown)
            }
            Ok(verified) if !verified.differ.contains(path) => continue,
            Ok(verified) => {
                let live = verified.changed.get(path).and_then(Option::as_ref);
                if let (false, Some((then, live))) = (is_own, step.change.from.as_ref().zip(live)) {
                    said.extend(unset::lacking(then, live).unwrap_or_default());
                    is_own = !said.is_empty();
                }
                if said.is_empty() {
                    said.push(Problem::new(match verified.apart.contains(path) {
                        true => {
                            "its content is restored, but it is not linked to the other names of its file"
                        }
                        false => "it is not what it should be",
                    }));
                }
                let is_like_target = |live: &&Entry| {
                    let then = step.change.from.as_ref();
                    then.is_some_and(|then| then.kind == live.kind)
                };
                verified.changed.get(path).map(|live| {
                    let then = step.change.from.as_ref();
                    let has_same = |live: &Entry| {
                        then.is_some_and(|then| live.xattrs.iter().all(|xattr| then.xattrs.contains(xattr)))
                    };
                    match live.as_ref().filter(|live| is_own && is_like_target(live)) {
                        None => LeftThere::Target,
                        // The receipt has names of attributes alone: the target has their values.
                        Some(live) if has_same(live) => {
                            LeftThere::Metadata(Box::new(live.without_content().without_attribute_values()))
                        }
                        Some(_) => LeftThere::Unknown,
                    }
                })
            }
            Err(error) => {
                said.push(Problem::unread(error));
                Some(LeftThere::Unknown)
            }
        };
        report.inexact.extend(left.map(|left| (step.clone(), left)));
        report.failed.push(Failed {
            path: path.clone(),
            problem: Problem::joined(said),
        });
    }
    let rest = reasons.into_iter().map(|(path, said)| Failed {
        path,
        problem: Problem::joined(said),
    });
    report.failed.extend(rest);
    report
}
