//! Takes up what an interrupted restore left: opens its roots and staging directories by identity, and finishes it, takes it back, or
//! clears up after it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::commit::Commit;
use super::composed::{amend, composed_again};
use super::file_identity::{identity, is_birth};
use super::hard_links::name_others;
use super::mount_task::MountTask;
use super::open_files::{Phase, refuse_served_in};
use super::plan::{Others, Plan, Step};
use super::proposal::{MountRequest, Proposal, ProposedMount, Purpose};
use super::report::Report;
use super::scope::{Allow, Scope};
use super::stage::{Location, Maker, OwnedInodes, Stage};
use super::states::manifest;
use super::{ChangeHistory, RestoreContext, RestoreError, flags, holding_dir};
use crate::capture::{PrivateOverlay, ScannedTree};
use crate::diff::{Side, compare};
use crate::model::{
    Coverage, Decision, Identity, Intent, IntentMount, Journal, JournalMount, Manifest, MoveKind, Operation,
    RelPath, SnapshotId, StagePlace,
};
use crate::store::{DamagedJournal, PendingRestore, RestoreJournal, RestoreStage, Store, StoreError};
use handle_fs::remote::Transports;
use handle_fs::remote::is_elsewhere;
use handle_fs::{Dir, Locations, MountError, Root};

/// Restore that was cleaned up so that another command could begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The restore.
    pub intent: Intent,
    /// Decision of the restore; `None` if it had not touched anything yet.
    pub decision: Option<Decision>,
    /// True if its receipt was written now.
    pub is_recorded_now: bool,
    /// Messages about what stays in staging directories.
    pub left: Vec<String>,
}

/// The restores below or above what one of `coverages` holds, by whatever address or path it is reached.
///
/// # Errors
/// [`RestoreError::Store`].
pub fn pending(store: &Store, coverages: &[Coverage]) -> Result<Vec<PendingRestore>, RestoreError> {
    let locations = Locations::default();
    let meets = |mount: &IntentMount| {
        coverages
            .iter()
            .any(|ours| ours.common(&mount.coverage, &locations).is_some())
    };
    let mut found = store.pending_restores()?;
    found.retain(|pending| pending.intent.mounts.iter().any(meets));
    Ok(found)
}

/// Makes way for a command that works on what `coverages` hold: what was decided is finished, what was not begun is forgotten.
///
/// # Errors
/// [`RestoreError::Pending`] when a restore waits for `resume` or `abort`; [`StoreError::Locked`] when one is under way.
pub fn clear_up(
    store: &Store,
    coverages: &[Coverage],
    acting: &RestoreContext<'_>,
) -> Result<Vec<Cleared>, RestoreError> {
    let mut cleared = Vec::new();
    for found in pending(store, coverages)? {
        let root = coverages.first().map(|mount| mount.root.to_path());
        let root = root.unwrap_or_default();
        let busy = || StoreError::Locked {
            object: crate::store::LockedObject::Root(root.clone(), store.restore_holders(&found.intent.id)),
        };
        if found.alive {
            return Err(busy().into());
        }
        if found.stage == RestoreStage::Moving {
            return Err(RestoreError::Pending(Box::new(found.intent)));
        }
        // The look above was taken without this lock. Another process may have gone on with the restore since, so `settle`
        // reads its files again.
        let papers = store.take_up(&found.intent.id)?.ok_or_else(busy)?;
        cleared.push(settle(store, papers, acting)?);
    }
    Ok(cleared)
}

/// Finishes a restore that was decided, or forgets one that never began to move anything.
///
/// # Errors
/// [`RestoreError::Pending`] when it may have moved something and nothing is decided; others. The journal stays
/// then.
pub fn settle(
    store: &Store,
    papers: RestoreJournal,
    acting: &RestoreContext<'_>,
) -> Result<Cleared, RestoreError> {
    let intent = papers.intent().clone();
    let decision = papers.decision()?;
    let told = |errors: Vec<RestoreError>| {
        let unsettled = errors.iter().any(RestoreError::may_settle_later);
        (errors.iter().map(ToString::to_string).collect(), unsettled)
    };
    let mut is_recorded_now = false;
    let (left, unsettled) = match (decision, papers.journal()?) {
        (Some(Decision::Commit), Some(journal)) => {
            is_recorded_now = !store.has_receipt(&intent, &journal)?;
            let proposal = again(store, &intent, &journal)?;
            let mut jobs = jobs(
                store.transports(),
                &intent,
                &journal,
                Some(&proposal),
                Missing::Settled,
            )?;
            let report = conclusion(store, &papers, &journal, acting).finish(&proposal, &mut jobs)?;
            (report.left, report.unsettled)
        }
        (Some(Decision::Abort), Some(journal)) => {
            let jobs = jobs(store.transports(), &intent, &journal, None, Missing::Settled)?;
            told(conclusion(store, &papers, &journal, acting).call_off(&jobs)?)
        }
        // The papers were being thrown away: everything is done.
        (Some(_), None) | (Some(Decision::Left), _) => (Vec::new(), false),
        (None, None) => told(forget(store, &papers)?),
        // Written since the caller looked: it waits for `resume` or `abort`.
        (None, Some(_)) => return Err(RestoreError::Pending(Box::new(intent))),
    };
    if !unsettled {
        papers.close(acting.observer)?;
    }
    Ok(Cleared {
        intent,
        decision,
        is_recorded_now,
        left,
    })
}

/// Removes the staging directories of a restore that moved nothing. What is older than they are was never staged there.
///
/// # Errors
/// [`StoreError::DamagedJournal`] when something was moved there after all, so there was a journal: nothing is touched then.
fn forget(store: &Store, papers: &RestoreJournal) -> Result<Vec<RestoreError>, RestoreError> {
    let (mut left, intent) = (Vec::new(), papers.intent());
    // All mounts before the first one is emptied. One moved object shows that a journal existed, and then the staging
    // directories may hold the only copy of old objects.
    if let Some(moved) = moved(store, intent.uid, &intent.mounts)? {
        return Err(papers.journal_is_gone(&moved).into());
    }
    let maker = Maker::User(intent.uid);
    for mount in &intent.mounts {
        let Some(place) = &mount.stage else { continue };
        let emptied = Stage::reopen(store.transports(), place, maker).and_then(|stage| match stage {
            Some(stage) => stage.since(mount.root_mtime).forget(),
            None => Ok(()),
        });
        left.extend(emptied.err());
        left.extend(holding_dir::forget(store.transports(), &mount.aside));
        if !mount.bound.is_empty()
            && let Ok(root) = Root::open(store.transports(), &mount.coverage.root.to_path())
        {
            left.extend(flags::put_back(&root, &mount.bound));
        }
    }
    Ok(left)
}

/// Something in a staging directory that only a move can have put there.
fn moved<'m>(
    store: &Store,
    user: u32,
    mounts: impl IntoIterator<Item = &'m IntentMount>,
) -> Result<Option<PathBuf>, RestoreError> {
    for place in mounts.into_iter().filter_map(|mount| mount.stage.as_ref()) {
        // One that cannot be opened is told by whoever empties it.
        if let Ok(Some(stage)) = Stage::reopen(store.transports(), place, Maker::User(user))
            && let Some(name) = stage.moved()?
        {
            return Ok(Some(place.path().join(name.as_os_str())));
        }
    }
    Ok(None)
}

/// The damaged journals of interrupted restores, also journals that are missing although something was moved.
/// Changes nothing, and asks no other machine.
///
/// # Errors
/// [`StoreError::Io`].
pub fn damaged_journals(store: &Store) -> Result<Vec<DamagedJournal>, StoreError> {
    let mut damaged = store.damaged_journals()?;
    // Of a restore whose intent nobody can read, nobody knows where it moved something: that it is hurt is told already.
    for found in store.pending_restores().unwrap_or_default() {
        let here = |mount: &&IntentMount| !is_elsewhere(&mount.coverage.root.to_path());
        // What lies in a staging directory that cannot be looked into is told by whoever empties it.
        if found.stage == RestoreStage::Begun
            && !found.alive
            && let Ok(Some(moved)) = moved(store, found.intent.uid, found.intent.mounts.iter().filter(here))
        {
            damaged.push(DamagedJournal {
                error: store.lost_journal(&found.intent, &moved),
                is_spare: false,
            });
        }
    }
    Ok(damaged)
}

/// Finishes an interrupted restore: afterwards the tree is the new one.
///
/// # Errors
/// [`RestoreError::Drift`] and others: it still waits then, and can be rolled back.
pub fn resume(
    store: &Store,
    papers: RestoreJournal,
    acting: &RestoreContext<'_>,
) -> Result<(Proposal, Report), RestoreError> {
    let intent = papers.intent().clone();
    let Some(journal) = papers.journal()? else {
        return Err(RestoreError::NotBegun(Box::new(intent)));
    };
    if papers.decision()?.is_none()
        && let Some((_, path)) = replaced(store, &journal).into_iter().next()
    {
        return Err(other_container(&intent, path));
    }
    let proposal = again(store, &intent, &journal)?;
    if papers.decision()?.is_none() {
        refuse_served_in(&proposal, Phase::Begun)?;
    }
    let report = {
        let missing = match papers.decision()? {
            Some(_) => Missing::Settled,
            None => Missing::Stops,
        };
        let work = conclusion(store, &papers, &journal, acting);
        let jobs = jobs(store.transports(), &intent, &journal, Some(&proposal), missing);
        let mut jobs = jobs.map_err(|cause| work.unopened(cause))?;
        work.resume(&proposal, &mut jobs)?
    };
    if !report.unsettled {
        papers.close(acting.observer)?;
    }
    Ok((proposal, report))
}

/// Returns the labels and roots of the mounts in a container that took the place of the one in which the restore moved files. Nothing was
/// moved in this one.
fn replaced(store: &Store, journal: &Journal) -> Vec<(String, PathBuf)> {
    // Without the emergency snapshot nothing says which container it was.
    let Ok(before) = store.record(&journal.emergency) else {
        return Vec::new();
    };
    let was_moved = |label: &str| journal.mounts.iter().any(|mount| mount.label == label);
    let mut found = Vec::new();
    for mount in before.mounts.iter().filter(|mount| mount.manifest.is_some()) {
        let (label, root) = (&mount.coverage.label, mount.coverage.root.to_path());
        let checked = Root::check_container(store.transports(), &root, mount.file_system.as_ref());
        if was_moved(label) && matches!(checked, Err(MountError::Replaced { .. })) {
            found.push((label.clone(), root));
        }
    }
    found
}

fn other_container(intent: &Intent, path: PathBuf) -> RestoreError {
    RestoreError::OtherContainer {
        path,
        instance: intent.instance.clone(),
    }
}

/// Result of rolling back an interrupted restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Messages about what stays in staging directories.
    pub left: Vec<String>,
    /// Paths whose old objects are nowhere any more.
    pub gone: Vec<PathBuf>,
    /// True if some path may not be as before.
    pub is_partial: bool,
    /// The snapshot that has them; none when nothing had been moved yet.
    pub emergency: Option<SnapshotId>,
}

/// Takes an interrupted restore back: afterwards the tree is the old one.
///
/// # Errors
/// [`RestoreError::RollBack`] when a path cannot be brought back now: it still waits then.
pub fn abort(
    store: &Store,
    papers: RestoreJournal,
    acting: &RestoreContext<'_>,
) -> Result<TakenBack, RestoreError> {
    let intent = papers.intent().clone();
    let mut back = TakenBack::default();
    let mut left;
    if papers.decision()? == Some(Decision::Commit) {
        return Err(RestoreError::Finished(Box::new(intent)));
    }
    match papers.journal()? {
        Some(mut journal) => {
            let replaced = replaced(store, &journal);
            if papers.decision()?.is_none()
                && replaced.len() == journal.mounts.len()
                && let Some((_, path)) = replaced.first()
            {
                return Err(other_container(&intent, path.clone()));
            }
            // The moved files went with their container. Those of the other mounts go back.
            let is_replaced = |label: &String| replaced.iter().any(|(replaced, _)| replaced == label);
            journal.mounts.retain(|mount| !is_replaced(&mount.label));
            // What cannot be planned again is rolled back all the same.
            if papers.decision()?.is_none()
                && let Ok(proposal) = again(store, &intent, &journal)
            {
                refuse_served_in(&proposal, Phase::Begun)?;
            }
            let work = conclusion(store, &papers, &journal, acting);
            let jobs = jobs(store.transports(), &intent, &journal, None, Missing::Made);
            let mut jobs = jobs.map_err(|cause| work.unopened(cause))?;
            // What was cleared up after that is nowhere any more, and is not missed.
            left = match papers.decision()? {
                Some(Decision::Abort) => work.call_off(&jobs)?,
                _ => {
                    for job in &mut jobs {
                        job.spare_changed(acting.observer);
                    }
                    work.abort(&jobs)?
                }
            };
            let replaced = replaced.into_iter();
            left.extend(replaced.map(|(_, path)| other_container(&intent, path)));
            back.emergency = Some(journal.emergency);
        }
        None => left = forget(store, &papers)?,
    }
    if !left.iter().any(RestoreError::may_settle_later) {
        papers.close(acting.observer)?;
    }
    for error in left {
        back.is_partial |= matches!(
            error,
            RestoreError::Gone { .. } | RestoreError::Away { .. } | RestoreError::OtherContainer { .. }
        );
        match error {
            RestoreError::Gone { path } => back.gone.push(path),
            other => back.left.push(other.to_string()),
        }
    }
    Ok(back)
}

/// Forgets an interrupted restore and leaves everything as it is now, the staging directories too. Gives those that are there.
///
/// # Errors
/// [`RestoreError::Store`].
pub fn leave(
    store: &Store,
    papers: RestoreJournal,
    acting: &RestoreContext<'_>,
) -> Result<Vec<PathBuf>, RestoreError> {
    let intent = papers.intent().clone();
    // A journal that cannot be read must not keep anybody from leaving.
    let journal = papers.journal();
    let untouched = matches!((&journal, papers.decision()), (Ok(None), Ok(None)));
    if !untouched || !matches!(moved(store, intent.uid, &intent.mounts), Ok(None)) {
        // Whoever comes after a crash in the next lines must not clear up what is left.
        papers.decide(Decision::Left)?;
        let act = Operation::Abort {
            kind: intent.kind,
            target: intent.target.clone(),
            emergency: journal.ok().flatten().map(|journal| journal.emergency),
            as_is: true,
            inside: intent.inside,
        };
        store.append(acting.now, acting.uid, &intent.instance, act)?;
    }
    papers.close(acting.observer)?;
    let staged = intent.mounts.iter().filter_map(|mount| mount.stage.as_ref());
    let aside = intent.mounts.iter().flat_map(|mount| &mount.aside);
    Ok(staged
        .chain(aside.map(|step| &step.place))
        .map(StagePlace::path)
        .filter(|path| !matches!(store.transports().stat_path(path), Ok(None)))
        .collect())
}

/// The proposal that was confirmed, as the journal and the snapshots tell of it.
///
/// # Errors
/// [`RestoreError::Store`].
pub fn proposal(store: &Store, intent: &Intent) -> Result<Option<Proposal>, RestoreError> {
    match store.journal_of(&intent.id)? {
        Some(journal) => again(store, intent, &journal).map(Some),
        None => Ok(None),
    }
}

fn conclusion<'a>(
    store: &'a Store,
    papers: &'a RestoreJournal,
    journal: &'a Journal,
    acting: &'a RestoreContext<'a>,
) -> Commit<'a> {
    Commit {
        store,
        papers,
        emergency: &journal.emergency,
        acting,
    }
}

fn again(store: &Store, intent: &Intent, journal: &Journal) -> Result<Proposal, RestoreError> {
    let target = store.record(&intent.target)?;
    let emergency = store.record(&journal.emergency)?;
    let mut mounts = Vec::new();
    for meant in &intent.mounts {
        let coverage = &meant.coverage;
        let steps = journal.mounts.iter().find(|mount| mount.label == coverage.label);
        let mut reveal = PrivateOverlay::again(store, coverage)?;
        if let (Some(place), Some(steps)) = (&meant.stage, steps) {
            also_staged(store, &mut reveal, place, steps);
        }
        let mut then = manifest(store, &target, &coverage.label, &mut reveal)?;
        let composed = composed_again(&meant.composed);
        amend(then.as_mut(), &composed, &mut reveal);
        let mut reveal = reveal.before();
        let now = manifest(store, &emergency, &coverage.label, &mut reveal)?;
        let root = coverage.root.to_path();
        let plan = Plan {
            steps: steps
                .map(|mount| steps_of(mount, then.as_ref(), now.as_ref()))
                .unwrap_or_default(),
            ..Plan::default()
        };
        mounts.push(ProposedMount {
            withheld: Vec::new(),
            notes: Vec::new(),
            encrypted: BTreeSet::new(),
            named: Vec::new(),
            reveal,
            request: MountRequest {
                coverage: coverage.clone(),
                scope: Scope::from(&meant.scope),
                witness: ChangeHistory {
                    composed,
                    ..ChangeHistory::default()
                },
            },
            target: then,
            now: ScannedTree {
                manifest: now,
                skipped: Vec::new(),
                layered: false,
            },
            plan,
            location: Location::Beside(root),
            is_recreated: false,
            transports: store.transports().clone(),
            not_checked: Vec::new(),
            open_files: Vec::new(),
            lost_edits: Vec::new(),
            parted: Vec::new(),
            aside: meant.aside.clone(),
            also: Vec::new(),
            heads: Vec::new(),
            may_merge: false,
            unmerged: BTreeMap::new(),
        });
    }
    Ok(Proposal {
        target,
        purpose: Purpose::of(intent),
        allow: Allow::of(intent),
        requires_key: false,
        mounts,
    })
}

/// Lets the overlay search the staging directory as well, for old objects moved there and new ones not yet in place.
fn also_staged(store: &Store, reveal: &mut PrivateOverlay, place: &StagePlace, mount: &JournalMount) {
    let Ok(dir) = Dir::open(store.transports(), &place.path()) else {
        return;
    };
    for step in &mount.moves {
        if let MoveKind::Install(name) | MoveKind::Exchange(name) | MoveKind::StageOut(name) = &step.deed {
            reveal.also(&step.path, &dir, name.to_path().as_os_str());
        }
    }
}

/// The steps as the plan had them: the same comparison gives the same changes.
fn steps_of(mount: &JournalMount, then: Option<&Manifest>, now: Option<&Manifest>) -> Vec<Step> {
    let side = |manifest| Side {
        manifest,
        skipped: &[],
    };
    let changes = compare(&side(then), &side(now)).changes;
    let mut steps = Vec::new();
    let mut wanted = mount.steps.iter().peekable();
    // Both are sorted by path.
    for change in changes {
        while wanted.next_if(|step| step.path < change.path).is_some() {}
        if let Some(step) = wanted.next_if(|step| step.path == change.path) {
            steps.push(Step {
                action: step.act.into(),
                change,
                overrode: step.overrode,
                others: Others::default(),
            });
        }
    }
    let mut steps: BTreeMap<RelPath, Step> = steps.into_iter().map(by_path).collect();
    name_others((then, now), &mut steps);
    steps.into_values().collect()
}

fn by_path(step: Step) -> (RelPath, Step) {
    (step.change.path.clone(), step)
}

/// Treatment of a missing staging directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// An error: the objects to move are gone.
    Stops,
    /// A new, empty directory: a rollback moves the new objects into it.
    Made,
    /// A new, empty directory: the restore was decided and removed the old one.
    Settled,
}

/// The jobs of a restore that died, with their staging directories opened again.
pub(super) fn jobs<'a>(
    transports: &Transports,
    intent: &Intent,
    journal: &Journal,
    proposal: Option<&'a Proposal>,
    missing: Missing,
) -> Result<Vec<MountTask<'a>>, RestoreError> {
    let mut jobs = Vec::new();
    for mount in &journal.mounts {
        let mut meant = intent.mounts.iter().enumerate();
        let meant = meant.find(|(_, meant)| meant.coverage.label == mount.label);
        let Some((index, meant)) = meant else { continue };
        let Some(place) = &meant.stage else { continue };
        let host = meant.coverage.root.to_path();
        let root = match mount.root.as_ref().map(|then| root(transports, &host, then)) {
            // Nothing is moved there any more, whatever it is now.
            Some(Err(RestoreError::OtherRoot { .. })) if missing == Missing::Settled => None,
            Some(root) => Some(root?),
            None => None,
        };
        let stage = match (
            Stage::reopen(transports, place, Maker::Known(&mount.stage))?,
            missing,
        ) {
            (Some(stage), _) => stage,
            (None, Missing::Made | Missing::Settled) => Stage::create_anew(transports, place)?,
            (None, Missing::Stops) => return Err(RestoreError::StageGone { path: place.path() }),
        };
        let berths = holding_dir::open_all(transports, &meant.aside, missing == Missing::Stops)?;
        let before = proposal.and_then(|proposal| proposal.mounts.get(index));
        jobs.push(MountTask {
            index,
            before: before.and_then(|before| Some((before.now.manifest.as_ref()?, intent.at))),
            host,
            transports: transports.clone(),
            root,
            stage,
            berths,
            journal: mount.clone(),
            known: OwnedInodes::of(&mount.known),
            again: true,
            bound: meant.bound.clone(),
            in_steps: false,
            shared: 0,
            problems: Vec::new(),
        });
    }
    Ok(jobs)
}

/// The mount root, if it still is the directory that the restore began in.
fn root(transports: &Transports, host: &Path, then: &Identity) -> Result<Root, RestoreError> {
    let other = || RestoreError::OtherRoot {
        path: host.to_path_buf(),
    };
    let root = match Root::open(transports, host) {
        Err(MountError::Missing { .. } | MountError::NotADirectory { .. }) => return Err(other()),
        opened => opened?,
    };
    // Another directory may have taken the path, and no move may be made in it. A freed inode number is used again, so the
    // birth time counts too wherever both are known.
    let now = identity(&root.stat());
    let born = then.born.zip(now.born);
    if then.ino == now.ino && born.is_none_or(|(then, now)| is_birth(then, now)) {
        Ok(root)
    } else {
        Err(other())
    }
}
