//! A session that comes from a file: it is recorded as one that began and ended here, with one snapshot.

use std::path::Path;

use super::Services;
use crate::clock::random;
use crate::model::{
    ByteString, Coverage, Ending, InstanceId, Operation, SessionTitle, SnapshotId, SnapshotKind,
    SnapshotRecord,
};
use crate::store::{IMPORTED, InstanceRow, Store, Told};
use crate::transfer::{Incoming, StoredSnapshot, TransferError};

/// Why an import failed that was found without an end.
pub(super) const INTERRUPTED: &str = "the import was interrupted";

/// Returns true for an import that was interrupted. It may have a snapshot, which is whole.
#[must_use]
pub fn is_interrupted_import(row: &InstanceRow) -> bool {
    row.is_imported() && lacks_end(row.ending.as_ref())
}

/// Returns true for the ending of an import that did not end by itself. One that failed said so at once.
#[must_use]
pub fn lacks_end(ending: Option<&Ending>) -> bool {
    ending.is_none_or(|ending| matches!(ending, Ending::Failed(why) if why == INTERRUPTED))
}

/// Returns true if a later import of the same mounts succeeded, so that nothing has to be done about the interrupted one.
#[must_use]
pub fn is_imported_again(row: &InstanceRow, rows: &[InstanceRow]) -> bool {
    let is_later = |other: &&InstanceRow| other.is_imported() && other.started_at > row.started_at;
    let mut later = rows.iter().filter(is_later);
    later.any(|other| other.ending == Some(Ending::Ended) && other.mounts == row.mounts)
}

/// Snapshot file to import.
pub struct ImportRequest<'a> {
    /// The file as it was read.
    pub incoming: &'a Incoming,
    /// Its host path.
    pub file: &'a Path,
    /// Owners, set-user-id bits, devices and the like were kept.
    pub trusted: bool,
}

/// Stores it as a new session. Nothing of it stays when this fails, but receipts that say so.
///
/// # Errors
/// [`TransferError`].
pub fn import(
    store: &Store,
    world: Services<'_>,
    request: &ImportRequest<'_>,
) -> Result<SnapshotRecord, TransferError> {
    let incoming = request.incoming;
    let origin = &incoming.note().record;
    let snapshot = SnapshotId::new(random(world.entropy));
    let instance = InstanceId::new(random(world.entropy), origin.instance.label());
    let draft = store.draft(snapshot.clone())?;
    let landed = StoredSnapshot {
        instance: &instance,
        snapshot: &snapshot,
        // That of another machine: here a workspace of the same name is another one.
        workspace: None,
        kind: SnapshotKind::Baseline,
        late: false,
        name: None,
    };
    let record = incoming.store(store, &draft, &landed, world.observer)?;
    if record.mounts.iter().any(|mount| !mount.withheld.is_empty()) {
        // What is recorded of private files was digested by another store's key, so that nothing here is like it. One of our own must
        // be there all the same: without it nobody could tell, and `verify` says so.
        store.make_digest_key(world.entropy)?;
    }
    world.observer.reached("import-stored");
    // As long as it is held nobody takes the session for one whose end was not seen.
    let _lock = store.lock_instance(&instance)?;
    let tell = |act| store.append(world.clock.now(), world.uid, &instance, act);
    let mounts: Vec<Coverage> = record.mounts.iter().map(|mount| mount.coverage.clone()).collect();
    tell(Operation::Begin {
        workspace: None,
        mode: IMPORTED.to_owned(),
        mounts,
        keeper: None,
        scripts: Vec::new(),
        boot: String::new(),
        command: None,
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: SessionTitle::default(),
    })?;
    world.observer.reached("import-begun");
    if let Err(error) = store.publish(draft, &record, Told::default(), world.clock.now(), world.uid) {
        let ending = Ending::Failed(error.to_string());
        // What failed first is what the operator must hear of.
        let _ = tell(Operation::End {
            ending,
            survivors: Vec::new(),
        });
        return Err(error.into());
    }
    world.observer.reached("import-captured");
    let (_, digest) = incoming.whole();
    tell(Operation::Import {
        file: ByteString::from(request.file),
        digest,
        origin: (origin.id.clone(), origin.instance.clone()),
        trusted: request.trusted,
        dropped: incoming.dropped().total(),
    })?;
    world.observer.reached("import-told");
    tell(Operation::End {
        ending: Ending::Ended,
        survivors: Vec::new(),
    })?;
    Ok(record)
}
