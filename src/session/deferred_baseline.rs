//! Baselines that are stored while the session runs already, from what was frozen for them; and what processes left that died meanwhile.

use super::{Services, SessionError};
use crate::capture::{CaptureError, Captured, Frozen, Limits, Request, take_from};
use crate::model::{
    Coverage, Ending, FsSnapshotIntent, InstanceId, Operation, SnapshotId, SnapshotKind, Time,
};
use crate::store::{InstanceRow, NativeState, Store, StoreError};

/// Pause before another attempt to reach another machine (nanoseconds).
const REST: i128 = 300 * 1_000_000_000;
/// Time after which a cluster has created or refused what it was asked for (nanoseconds).
const UNDER_WAY: i128 = 60 * 1_000_000_000;

/// Result for something frozen that a dead process left.
#[derive(Debug)]
pub struct DeferredBaseline {
    /// The snapshot that was to become of it.
    pub id: SnapshotId,
    /// The instance, when it is known.
    pub instance: Option<InstanceId>,
    /// Outcome.
    pub end: ThawedEnd,
}

/// Outcome for something frozen.
#[derive(Debug)]
pub enum ThawedEnd {
    /// The baseline is stored.
    Stored,
    /// The frozen mounts cannot be read yet: their cluster still works on them.
    NotYet,
    /// The frozen mounts were of no further use and have been removed.
    Removed,
    /// The baseline cannot be stored now; what was frozen stays.
    NotStored(CaptureError),
    /// The frozen mounts cannot be removed or read.
    Stays(StoreError),
}

/// Lookup of the limits that a session has by the current configuration; `None`: the limits agreed at its start.
pub type LimitsOf<'a> = &'a dyn Fn(&InstanceId) -> Option<Limits>;

/// Stores the baseline from what was frozen for it, and lets that go. When it cannot be stored everything stays, for another time.
///
/// # Errors
/// [`CaptureError`].
pub fn store_baseline(
    store: &Store,
    world: Services<'_>,
    frozen: Frozen,
    limits: Option<Limits>,
) -> Result<Captured, CaptureError> {
    let paper = frozen.paper();
    let agreed = Limits {
        max_entries: paper.max_entries,
        max_bytes: paper.max_bytes,
    };
    let coverages: Vec<Coverage> = paper.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    let request = Request {
        workspace: paper.workspace.as_deref(),
        limits: limits.unwrap_or(agreed),
        enforce_limits: true,
        told_at: Some(world.clock.now()),
        ..Request::of(
            &paper.instance,
            SnapshotKind::Baseline,
            &coverages,
            (paper.taken_at, paper.uid),
        )
    };
    let mut captured = take_from(store, &request, Some(&frozen), world.observer, world.entropy)?;
    world.observer.reached("behind-stored");
    let left = frozen.release_unless_kept(&captured.record).err();
    captured.notes.extend(left.map(|error| error.to_string()));
    Ok(captured)
}

/// Takes over file-system snapshots of dead processes: the baseline of a session is stored, everything else
/// removed. A user who raised a limit since means that, too. Without `limits` nothing is stored now, which
/// takes a while. `again`: also what was just asked for in vain on another machine, which may take a minute
/// each time.
///
/// # Errors
/// [`SessionError::Store`] when nothing can be told of it.
pub fn store_deferred_baselines(
    store: &Store,
    world: Services<'_>,
    limits: Option<LimitsOf<'_>>,
    again: bool,
) -> Result<Vec<DeferredBaseline>, SessionError> {
    let mut done = Vec::new();
    // What root does in another user's store it does with that user's rights: that user's own next command takes it up.
    if !store.may_freeze() {
        return Ok(done);
    }
    for state in store.natives()?.into_iter().filter(|state| !state.is_alive) {
        let instance = state.paper.as_ref().ok().map(|paper| paper.instance.clone());
        let id = state.id.clone();
        let is_slow = state.paper.as_ref().is_ok_and(FsSnapshotIntent::is_slow);
        if is_slow && !again && rests(store, &id, world.clock.now()) {
            continue;
        }
        let end = match settle(store, world, state, limits) {
            Ok(None) => continue,
            Ok(Some(end)) => end,
            Err(error) => ThawedEnd::Stays(error),
        };
        if is_slow && matches!(end, ThawedEnd::Stays(_) | ThawedEnd::NotStored(_)) {
            store.note_natives_tried(&id, world.clock.now());
        }
        done.push(DeferredBaseline { id, instance, end });
    }
    Ok(done)
}

/// Returns true if the last attempt failed less than [`REST`] ago.
fn rests(store: &Store, id: &SnapshotId, now: Time) -> bool {
    let tried = store.natives_tried(id);
    tried.is_some_and(|at| (0..REST).contains(&(now.nanos() - at.nanos())))
}

/// Returns true if a cluster may still be creating what a dead process asked it for, so that its absence proves nothing.
fn may_come(paper: &FsSnapshotIntent, now: Time) -> bool {
    paper.is_slow() && (0..UNDER_WAY).contains(&(now.nanos() - paper.taken_at.nanos()))
}

fn settle(
    store: &Store,
    world: Services<'_>,
    state: NativeState,
    limits: Option<LimitsOf<'_>>,
) -> Result<Option<ThawedEnd>, StoreError> {
    state.paper?;
    let Some(natives) = store.take_up_natives(&state.id)? else {
        return Ok(None);
    };
    // The record of one that is lost may be put back, and needs it then.
    let is_stored = !matches!(store.record(&state.id), Err(StoreError::NoSnapshot { .. }));
    if is_stored && store.keeps_natives(&state.id) {
        return Ok(None);
    }
    let is_given_up = store.is_given_up(&state.id)?;
    // Not what was seen before it was ours.
    let is_whole = natives.is_made()? && !is_stored && !is_given_up && natives.are_there()?;
    let wanted = is_whole && is_awaited(store, natives.paper())?;
    if !natives.is_made()? && may_come(natives.paper(), world.clock.now()) && !natives.are_there()? {
        return Ok(None);
    }
    let frozen = Frozen::left(natives);
    if wanted {
        let Some(limits) = limits else { return Ok(None) };
        // A cluster takes its time, which nobody has to wait for: another command stores it.
        if !frozen.are_readable()? {
            return Ok(Some(ThawedEnd::NotYet));
        }
        let limits = limits(&frozen.paper().instance);
        return Ok(Some(match store_baseline(store, world, frozen, limits) {
            Ok(_) => ThawedEnd::Stored,
            Err(error) => ThawedEnd::NotStored(error),
        }));
    }
    frozen.release()?;
    // That it went with the snapshot in the archive is nothing to tell.
    Ok((!is_stored).then_some(ThawedEnd::Removed))
}

/// Returns true if a session waits for this baseline: it began, its caller knows of it, and it has no baseline yet.
///
/// A baseline whose record was lost had been stored. It is not awaited, but needs its frozen mounts when the record is restored.
///
/// # Errors
/// [`StoreError`].
pub fn is_awaited(store: &Store, paper: &FsSnapshotIntent) -> Result<bool, StoreError> {
    if paper.kind != SnapshotKind::Baseline || !paper.whole {
        return Ok(false);
    }
    let is_new = matches!(store.record(&paper.id), Err(StoreError::NoSnapshot { .. }));
    if !is_new || store.is_given_up(&paper.id)? {
        return Ok(false);
    }
    let Some(row) = store.catalog().instance(&paper.instance)? else {
        return Ok(false);
    };
    // A `begin` that died told nobody of its session.
    if row.keeper.is_none() && row.command.is_none() {
        return Ok(false);
    }
    let has_failed = matches!(row.ending, Some(Ending::Failed(_)));
    let mut snapshots = store.catalog().snapshots(&row.id)?.into_iter();
    Ok(!has_failed && !snapshots.any(|snapshot| snapshot.kind == SnapshotKind::Baseline))
}

/// The baselines of a session that are not stored yet, and whether a process is storing them.
///
/// # Errors
/// [`StoreError`].
pub fn awaited(store: &Store, row: &InstanceRow) -> Result<Vec<(SnapshotId, bool)>, StoreError> {
    let mut found = Vec::new();
    for state in store.natives()? {
        if let Ok(paper) = &state.paper
            && paper.instance == row.id
            && (state.is_alive || state.is_made)
            && is_awaited(store, paper)?
        {
            found.push((state.id, state.is_alive));
        }
    }
    Ok(found)
}

/// Returns the snapshots frozen for baselines that are not stored and on which no process works.
///
/// # Errors
/// [`StoreError`].
pub fn stuck(store: &Store) -> Result<Vec<SnapshotId>, StoreError> {
    let mut found = Vec::new();
    if store.acts_for_another() {
        return Ok(found);
    }
    for state in store.natives()?.into_iter().filter(|state| !state.is_alive) {
        if let Ok(paper) = &state.paper
            && state.is_made
            && is_awaited(store, paper)?
        {
            found.push(state.id);
        }
    }
    Ok(found)
}

/// Drops the file-system snapshot of a baseline that could not be stored, unless it was stored meanwhile.
/// True if it timed out.
///
/// # Errors
/// [`StoreError::Native`] with a snapshot of a file system that cannot be removed.
pub fn give_up_stuck(store: &Store, world: Services<'_>, id: &SnapshotId) -> Result<bool, StoreError> {
    let Some(natives) = store.take_up_natives(id)? else {
        return Ok(false);
    };
    if !is_awaited(store, natives.paper())? {
        return Ok(false);
    }
    let instance = natives.paper().instance.clone();
    Frozen::left(natives).release()?;
    let act = Operation::CaptureFailed {
        kind: SnapshotKind::Baseline,
        error: format!("{id} could not be stored, and its file-system snapshot was dropped"),
    };
    store.append(world.clock.now(), world.uid, &instance, act)?;
    Ok(true)
}

/// Returns the intents of frozen snapshots whose ids begin with `prefix`, if no process works on them and no record needs them.
///
/// # Errors
/// [`SessionError::Store`].
pub fn forgettable(store: &Store, prefix: &str) -> Result<Vec<FsSnapshotIntent>, SessionError> {
    let states = store.natives()?.into_iter();
    let prefix = prefix.strip_prefix("sn-").unwrap_or(prefix);
    let is_meant = |id: &SnapshotId| id.as_str().trim_start_matches("sn-").starts_with(prefix);
    let meant = states.filter(|state| is_meant(&state.id) && !state.is_alive);
    let papers = meant.filter_map(|state| state.paper.ok());
    let is_free =
        |paper: &FsSnapshotIntent| matches!(store.record(&paper.id), Err(StoreError::NoSnapshot { .. }));
    Ok(papers.filter(is_free).collect())
}

/// Forgets what was frozen for a snapshot that has no record, without removing it: what it lies in is gone for
/// good. `false`: a process took it up meanwhile.
///
/// # Errors
/// [`StoreError`].
pub fn forget_frozen(store: &Store, world: Services<'_>, id: &SnapshotId) -> Result<bool, StoreError> {
    let Some(natives) = store.take_up_natives(id)? else {
        return Ok(false);
    };
    if !matches!(store.record(id), Err(StoreError::NoSnapshot { .. })) {
        return Ok(false);
    }
    let (instance, kind) = (natives.paper().instance.clone(), natives.paper().kind);
    let places: Vec<String> = natives
        .paper()
        .natives
        .iter()
        .map(|native| native.directory().display().to_string())
        .collect();
    let act = Operation::CaptureFailed {
        kind,
        error: format!(
            "the file-system snapshot of {id} was forgotten, and may still exist: {}",
            places.join(", ")
        ),
    };
    // Who dies here has it forgotten twice; where it lies is told in any case.
    store.append(world.clock.now(), world.uid, &instance, act)?;
    natives.forget()?;
    Ok(true)
}

/// Waits until no process is storing a baseline of the session: later events must come later in the log.
///
/// # Errors
/// [`StoreError`].
pub(super) fn wait_for_baseline(
    store: &Store,
    world: Services<'_>,
    row: &InstanceRow,
) -> Result<(), StoreError> {
    // What takes long is not waited for: the end of a session is what it is now, and a baseline is the first wherever it comes.
    for (id, is_alive) in awaited(store, row)?
        .into_iter()
        .filter(|(id, _)| !is_slow(store, id))
    {
        if is_alive && !store.wait_for_natives(&id, || !world.observer.cancelled())? {
            break;
        }
    }
    Ok(())
}

/// Returns true if the snapshot lies in a cluster, where it may take long until it can be read.
fn is_slow(store: &Store, id: &SnapshotId) -> bool {
    let states = store.natives().unwrap_or_default();
    let mut papers = states
        .iter()
        .filter(|state| state.id == *id)
        .flat_map(|state| &state.paper);
    papers.any(FsSnapshotIntent::is_slow)
}
