//! A whole capture: freezes the mounts as agreed, captures them in at most three attempts, and releases the frozen state.

use super::{Capture, Captured, Outcome, Request, has_changed};
use crate::capture::CaptureError;
use crate::capture::fs_snapshot::{Frozen, SnapshotAttempt, freeze};
use crate::capture::parent::ParentSnapshot;
use crate::clock::{Entropy, random};
use crate::model::{Coverage, NativeUse, SnapshotId, SnapshotKind, SnapshotRecord};
use crate::observer::{Observer, Phase};
use crate::store::Store;
use crate::store::archive::ArchiveError;

/// Takes a snapshot. It is visible when this returns, and leaves nothing if it fails. Mounts are first frozen as agreed, and
/// released at the end.
///
/// # Errors
/// [`CaptureError`].
pub fn take(
    store: &Store,
    request: &Request<'_>,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Captured, CaptureError> {
    let freezing = freeze(store, request, observer, entropy)?;
    take_with(store, request, freezing, observer, entropy)
}

/// Does the same as [`take`]. Returns `None`, and leaves nothing, if no path differs from `last`, an earlier snapshot of the session.
///
/// # Errors
/// [`CaptureError`].
pub fn take_unless_same(
    store: &Store,
    request: &Request<'_>,
    last: &SnapshotRecord,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Option<Captured>, CaptureError> {
    // What would be frozen for nothing is looked at first; and an earlier coverage decides which paths count.
    let coverages = last.mounts.iter().map(|mount| &mount.coverage);
    let is_direct =
        coverages.eq(request.coverages) && request.coverages.iter().all(|one| one.native.is_none());
    if !is_direct {
        return match has_changed(store, last, request.count, observer) {
            true => take(store, request, observer, entropy).map(Some),
            false => Ok(None),
        };
    }
    match read_from(store, request, (None, Some(last)), observer, entropy) {
        // Where nothing changed nothing was to be stored, so what prevents that is no failure.
        Err(_) if !has_changed(store, last, request.count, observer) => Ok(None),
        result => result,
    }
}

/// Does the same as [`take`] with mounts that are frozen already.
///
/// # Errors
/// [`CaptureError`].
pub fn take_with(
    store: &Store,
    request: &Request<'_>,
    freezing: SnapshotAttempt,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Captured, CaptureError> {
    let SnapshotAttempt { frozen, notes } = freezing;
    let mut notes = notes;
    let mut result = take_from(store, request, frozen.as_ref(), observer, entropy);
    // What a cluster does not come to show is no reason for no snapshot at all: nothing has begun that it would be too late for.
    if let (Err(error @ (CaptureError::Store(_) | CaptureError::Mount(_))), Some(frozen)) = (&result, &frozen)
        && frozen.paper().is_slow()
        && request
            .coverages
            .iter()
            .all(|coverage| coverage.native != Some(NativeUse::Itself))
    {
        notes.push(format!(
            "a VolumeSnapshot could not be read, and the claim was read as it is: {error}"
        ));
        result = take_from(store, request, None, observer, entropy);
    }
    // Only now: until the record is visible, the frozen state is the only copy of its moment.
    let left = frozen.and_then(|frozen| match &result {
        Ok(captured) => frozen.release_unless_kept(&captured.record).err(),
        Err(_) => frozen.release().err(),
    });
    let mut captured = result?;
    captured.notes.extend(notes);
    captured.notes.extend(left.map(|error| error.to_string()));
    Ok(captured)
}

/// Does the same from the state that was frozen for it, which stays. No helper that showed the state is left.
///
/// # Errors
/// [`CaptureError`].
pub fn take_from(
    store: &Store,
    request: &Request<'_>,
    frozen: Option<&Frozen>,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Captured, CaptureError> {
    let result = read_from(store, request, (frozen, None), observer, entropy);
    if let Some(frozen) = frozen {
        frozen.disconnect(store.transports());
    }
    result?.ok_or_else(incomplete)
}

fn incomplete() -> CaptureError {
    CaptureError::Write(std::io::Error::other("the archive is incomplete"))
}

/// Takes a snapshot; `None` if no path differs from `last`.
fn read_from(
    store: &Store,
    request: &Request<'_>,
    (frozen, last): (Option<&Frozen>, Option<&SnapshotRecord>),
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Option<Captured>, CaptureError> {
    // Wait before the store is locked, so that other processes need not.
    frozen.map_or(Ok(()), |frozen| frozen.ready(observer))?;
    // Held until the record is visible. Before that, no record says that this snapshot needs the archives of its parents, and
    // a prune could remove them.
    let _shared = store.share()?;
    observer.begin(Phase::Capture);
    let has_state = request.coverages.iter().any(|coverage| coverage.state);
    let key = has_state.then(|| store.make_digest_key(entropy)).transpose()?;
    let attempt = |known, by_commit| {
        // What was frozen is known by the snapshot that it becomes.
        let id = frozen.map_or_else(|| SnapshotId::new(random(entropy)), |frozen| frozen.id().clone());
        let capture = Capture {
            store,
            request,
            frozen,
            last,
            observer,
            known,
            by_commit,
            key,
        };
        capture.run(id)
    };
    let is_asked = |coverage: &Coverage| coverage.by_commit;
    // An emergency snapshot is there to be gone back to, whatever became of the repository.
    let by_commit = request.kind != SnapshotKind::Emergency && request.coverages.iter().any(is_asked);
    let find = || ParentSnapshot::find(store, request.coverages);
    let mut result = attempt(find(), by_commit);
    if by_commit && matches!(result, Ok(Outcome::Again)) {
        result = attempt(find(), false);
    }
    if matches!(result, Ok(Outcome::Again)) {
        result = attempt(ParentSnapshot::nothing(store), false);
    }
    let result = result.and_then(|outcome| match outcome {
        Outcome::Taken(captured) => Ok(Some(*captured)),
        Outcome::Same => Ok(None),
        Outcome::Again => Err(incomplete()),
    });
    observer.end();
    result.map_err(|error| match error {
        // The error must name the disk that failed.
        CaptureError::Archive(ArchiveError::Write { source }) => CaptureError::Unwritten {
            store: store.layout().root().to_path_buf(),
            source,
        },
        other => other,
    })
}
