//! One mount's share of a restore: staged, moved, verified, settled.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::RestoreError;
use super::apply::Apply;
use super::aside::Known;
use super::build::{Builder, Times};
use super::execute::{Acting, Failed, MountReport};
use super::names::only_link_differs;
use super::plan::{Action, Step};
use super::prepare::{Move, Moves, prepare};
use super::propose::{Proposal, ProposedMount};
use super::stage::Stage;
use crate::capture::{Captured, Earlier, Look, Seen, look};
use crate::clock::random;
use crate::diff::{Change, Side, compare};
use crate::mount::{MountError, Root};
use crate::observer::{Observer, Phase};
use crate::platform;
use crate::snapshot::{Manifest, RelPath, Time, add_sizes};
use crate::store::Blobs;

/// One mount under way.
pub(super) struct Work<'a> {
    /// Its number in the proposal.
    pub(super) index: usize,
    mount: &'a ProposedMount,
    /// What the emergency snapshot holds, and when it began to look; `None`: the root did not exist.
    before: Option<(&'a Manifest, Time)>,
    root: Option<Root>,
    /// Where new content waits and old content goes.
    pub(super) stage: Stage,
    moves: Moves,
    problems: Vec<(RelPath, String)>,
    touched: BTreeSet<RelPath>,
    /// What the staging directory may hold in the end.
    known: Known,
}

/// Stages all mounts that have anything to do.
pub(super) fn stage_all<'a>(
    proposal: &'a Proposal,
    emergency: &'a Captured,
    blobs: &Blobs,
    acting: &Acting<'_>,
    works: &mut Vec<Work<'a>>,
) -> Result<(), RestoreError> {
    let captured = emergency.manifests.iter().zip(&emergency.record.mounts);
    for ((index, mount), (manifest, record)) in proposal.mounts.iter().enumerate().zip(captured) {
        let Some(target) = mount.target.as_ref().or(manifest.as_ref()) else {
            continue;
        };
        if mount.plan.steps.is_empty() {
            continue;
        }
        let path = mount.request.coverage.root.to_path();
        let root = match Root::open(&path) {
            Ok(root) => Some(root),
            Err(MountError::Missing { .. }) if manifest.is_none() => None,
            Err(error) => return Err(error.into()),
        };
        let contents = mount.plan.steps.iter().filter_map(|step| {
            let is_written = matches!(step.action, Action::Create | Action::Replace);
            step.change.from.as_ref().filter(|_| is_written)?.content()
        });
        let (files, bytes) = contents.fold((0, 0), |(files, bytes), content| {
            (files + 1, add_sizes(bytes, content.size))
        });
        acting.observer.begin(Phase::Stage);
        acting.observer.expect(files, bytes);
        works.push(Work {
            index,
            mount,
            before: manifest.as_ref().map(|manifest| (manifest, record.started_at)),
            root,
            stage: Stage::create(&mount.location, &path, random(acting.entropy))?,
            moves: Moves::new(),
            problems: Vec::new(),
            touched: BTreeSet::new(),
            known: Known::default(),
        });
        let Some(work) = works.last_mut() else { continue };
        let steps = &mount.plan.steps;
        let times = if acting.exact_mtimes {
            Times::Recorded
        } else {
            let recorded = steps.iter().filter_map(|step| step.change.from.as_ref());
            Times::rank(platform::fine_clock(), recorded.map(|entry| entry.mtime))
        };
        let mut builder = Builder {
            blobs,
            observer: acting.observer,
            times,
            problems: Vec::new(),
        };
        let root = work.root.as_ref();
        let moves = prepare(root, &work.stage, steps, target, manifest.as_ref(), &mut builder);
        work.problems = builder.problems;
        // Also when staging stopped half way: all that lies there is ours.
        work.known = known(&work.stage, steps)?;
        work.moves = moves?;
        acting.observer.end();
    }
    Ok(())
}

/// What was staged, and what the steps will move aside.
fn known(stage: &Stage, steps: &[Step]) -> Result<Known, RestoreError> {
    let mut known = Known::default();
    for was in steps.iter().filter_map(|step| step.change.to.as_ref()) {
        known.held(was);
    }
    known.staged(stage.dir()).map_err(|source| RestoreError::Stage {
        path: stage.path().to_path_buf(),
        source,
    })?;
    Ok(known)
}

/// Removes what was staged for a restore that stopped with `cause`, and names what stays.
pub(super) fn discard(works: Vec<Work<'_>>, cause: RestoreError) -> RestoreError {
    let mut cause = cause;
    for work in works {
        if let Err(left) = work.stage.settle(&work.known) {
            cause = RestoreError::Left {
                cause: Box::new(cause),
                left: Box::new(left),
            };
        }
    }
    cause
}

/// Moves everything into place on all mounts, or nothing on any.
pub(super) fn apply_all(works: &mut [Work<'_>], acting: &Acting<'_>) -> Result<(), RestoreError> {
    acting.observer.begin(Phase::Apply);
    let mut applies: Vec<(usize, Apply<'_>)> = Vec::new();
    let mut made: Vec<&Work<'_>> = Vec::new();
    for (at, work) in works.iter().enumerate() {
        let result = match (&work.root, work.before) {
            (Some(root), Some((before, _))) => {
                let mut apply = Apply::new(root, &work.stage, before, acting.observer);
                let result = apply.run(&work.moves);
                applies.push((at, apply));
                result
            }
            _ => make_root(work, true)
                .map(|()| made.push(work))
                .map_err(|source| RestoreError::Apply {
                    path: work.mount.request.coverage.root.to_path(),
                    source,
                }),
        };
        if let Err(error) = result {
            // The mount that failed has taken its own moves back.
            let mut error = error;
            for (_, apply) in applies.iter_mut().rev() {
                error = apply.take_back(error)?;
            }
            for work in made {
                let _ = make_root(work, false);
            }
            return Err(error);
        }
    }
    let outcomes: Vec<_> = applies
        .into_iter()
        .map(|(at, apply)| (at, apply.into_outcome()))
        .collect();
    for (at, (touched, failed)) in outcomes {
        if let Some(work) = works.get_mut(at) {
            work.touched = touched;
            work.problems.extend(failed);
        }
    }
    acting.observer.end();
    Ok(())
}

/// A root that is gone comes back as a whole (`true`), or goes again when another mount failed.
fn make_root(work: &Work<'_>, come: bool) -> io::Result<()> {
    let path = work.mount.request.coverage.root.to_path();
    let (Some(Move::In(place)), Some(name)) = (work.moves.get(&RelPath::root()), path.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let (stage, parent) = (work.stage.dir(), work.stage.parent());
    if come {
        platform::rename_new(stage, place, parent, name)?;
    } else {
        platform::rename_new(parent, name, stage, place)?;
    }
    platform::sync_directory(parent)
}

/// Looks at what is there now, sorts the steps into done and failed, and removes the staging directory. What was moved
/// cannot be taken back here any more, so nothing stops this, and the receipt follows in any case.
pub(super) fn finish(work: Work<'_>, acting: &Acting<'_>) -> (MountReport, Result<(), RestoreError>) {
    let mount = work.mount;
    // What was not touched is as the emergency snapshot found it; only what was restored is read.
    let request = Look {
        coverage: &mount.request.coverage,
        reference: work.before.map(|(manifest, started_at)| Earlier {
            manifest,
            started_at,
            same_rules: true,
        }),
        check_content: false,
    };
    let seen = look(&request, &Unstoppable(acting.observer));
    let mut reasons: BTreeMap<RelPath, Vec<String>> = BTreeMap::new();
    for (path, reason) in work.problems {
        reasons.entry(path).or_default().push(reason);
    }
    let mut report = MountReport::default();
    let verified = seen.as_ref().map(|seen| Verified::new(mount, work.before, seen));
    for step in &mount.plan.steps {
        let path = &step.change.path;
        let mut said = reasons.remove(path).unwrap_or_default();
        let changed = match &verified {
            Ok(verified) if !verified.differ.contains(path) => {
                report.applied.push(step.clone());
                continue;
            }
            Ok(verified) => {
                if said.is_empty() {
                    said.push("it is not what it should be".to_owned());
                }
                verified.changed.contains(path)
            }
            Err(error) => {
                said.push(format!("it could not be verified: {error}"));
                true
            }
        };
        if changed {
            report.inexact.push(step.clone());
        }
        report.failed.push(Failed {
            path: path.clone(),
            reason: said.join("; "),
        });
    }
    let rest = reasons.into_iter().map(|(path, said)| Failed {
        path,
        reason: said.join("; "),
    });
    report.failed.extend(rest);
    let inside = work.root.as_ref().filter(|root| work.stage.is_inside(root));
    let quiet = inside.filter(|_| !work.touched.contains(&RelPath::root()));
    let kept_time = quiet.zip(work.before.map(|(before, _)| before.root.mtime));
    let settled = work.stage.settle(&work.known);
    if let (Some(root), Some(target)) = (&work.root, &mount.target) {
        if acting.exact_mtimes {
            exact_times(root, target, &work.touched);
        }
        if let Some((root, mtime)) = kept_time {
            // Staging inside a root that nothing else touched must not show in its time.
            let _ = root
                .dir(&RelPath::root())
                .and_then(|dir| platform::set_mtime(&dir, ".".as_ref(), mtime));
        }
    }
    (report, settled)
}

/// What a look afterwards shows.
struct Verified {
    /// Paths that are not what they should be.
    differ: BTreeSet<RelPath>,
    /// Paths that are not what they were before either.
    changed: BTreeSet<RelPath>,
}

impl Verified {
    fn new(mount: &ProposedMount, before: Option<(&Manifest, Time)>, seen: &Seen) -> Self {
        let now = Side {
            manifest: seen.manifest.as_ref(),
            skipped: &seen.skipped,
        };
        let from = |manifest| -> BTreeSet<RelPath> {
            let then = Side {
                manifest,
                skipped: &[],
            };
            let changes = compare(&then, &now).changes;
            let paths: BTreeSet<RelPath> = changes.iter().map(|change| change.path.clone()).collect();
            // A file whose other name was not to be restored is what it should be.
            let apart =
                |change: &&Change| only_link_differs(change).is_some_and(|first| paths.contains(first));
            let alone: Vec<RelPath> = changes
                .iter()
                .filter(apart)
                .map(|change| change.path.clone())
                .collect();
            paths.into_iter().filter(|path| !alone.contains(path)).collect()
        };
        let differ = from(mount.target.as_ref());
        // Most restores are exact, and then nobody asks.
        let changed = if differ.is_empty() {
            BTreeSet::new()
        } else {
            from(before.map(|(manifest, _)| manifest))
        };
        Self { differ, changed }
    }
}

/// Passes progress on and lets nobody stop the work.
struct Unstoppable<'a>(&'a dyn Observer);

impl Observer for Unstoppable<'_> {
    fn begin(&self, phase: Phase) {
        self.0.begin(phase);
    }

    fn expect(&self, entries: u64, bytes: u64) {
        self.0.expect(entries, bytes);
    }

    fn advance(&self, entries: u64, bytes: u64) {
        self.0.advance(entries, bytes);
    }

    fn end(&self) {
        self.0.end();
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// `--mtimes exact` also holds for directories whose entries changed. A time that cannot be set harms nothing.
fn exact_times(root: &Root, target: &Manifest, touched: &BTreeSet<RelPath>) {
    for path in touched.iter().rev() {
        let Some(entry) = target.entry(path) else { continue };
        let _ = root
            .dir(path)
            .and_then(|dir| platform::set_mtime(&dir, ".".as_ref(), entry.mtime));
    }
}
