//! Sessions that come from the copy of a store: each with all of its snapshots, their ids, kinds, names and times, in archives of our
//! own. What was cut short goes on where it was; what is here already is left alone.

mod history;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::Services;
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::model::{
    ArchiveId, ArchiveRef, Coverage, Ending, InstanceId, Operation, Receipt, SnapshotId, SnapshotRecord, Time,
};
use crate::replica::{Chain, Index, Remote, ReplicaError, by_instance};
use crate::store::archive::{Archive, ArchiveError};
use crate::store::{Blobs, IMPORTED, InstanceRow, LockGuard, Standing, Store, StoreError, Told};
use crate::transfer::{Dropped, IncomingSnapshot, StoredContents, StoredSnapshot, TransferError};
use history::{Captures, Incoming, Life, Step, in_order, lives};

/// Source and options of an import from a replica.
pub struct AdoptRequest<'a> {
    /// The address, for the receipts.
    pub place: &'a str,
    /// The store there.
    pub remote: &'a Remote<'a>,
    /// Index of the replica.
    pub index: &'a Index,
    /// Its chain.
    pub chain: &'a Chain,
    /// The sessions are this machine's own from now on, with their workspaces and modes, and nothing is dropped.
    pub trusted: bool,
    /// User and group that own everything if the import is not trusted.
    pub owner: (u32, u32),
}

/// Result of an import from a replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Sessions that were not known here.
    pub sessions: Vec<InstanceId>,
    /// Snapshots that are here now.
    pub snapshots: Vec<SnapshotId>,
    /// Snapshots that were here before.
    pub there: u64,
    /// Sessions that came without trust before: they stay so, although they are trusted now.
    pub untrusted: u64,
    /// Snapshots that were here and have been pruned: they are not imported again.
    pub given_up: u64,
    /// Number of paths that lost something, of all snapshots together.
    pub dropped: u64,
    /// Paths that became the importing user's and lost nothing else, of all snapshots together.
    pub owners: u64,
    /// The first of the dropped.
    pub named: Vec<(SnapshotId, crate::transfer::DroppedWhat)>,
    /// Snapshots that could not be brought back, and why.
    pub failed: Vec<(SnapshotId, String)>,
}

/// Error that ends an import from a replica.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// The bucket.
    #[error(transparent)]
    Replica(#[from] ReplicaError),
    /// The archives.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The store here.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Diagnostic for AdoptError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Replica(error) => error.kind(),
            Self::Transfer(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let mut hints = match self {
            Self::Replica(error) => error.hints(),
            Self::Transfer(TransferError::Room { .. }) => vec![Hint::text(
                "make room, or name a jackin home elsewhere in JACKIN_HOME_DIR",
            )],
            Self::Transfer(error) => error.hints(),
            Self::Store(error) => error.hints(),
        };
        hints.push(Hint::text(
            "imported snapshots stay; repeat the command to import the rest",
        ));
        hints
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        Some(match self {
            Self::Replica(error) => error,
            Self::Transfer(error) => error,
            Self::Store(error) => error,
        })
    }
}

/// Brings back what `records` name.
///
/// # Errors
/// [`AdoptError`]; what came until then stays, and the next attempt goes on with the rest.
pub fn adopt(
    store: &Store,
    world: Services<'_>,
    request: &AdoptRequest<'_>,
    records: Vec<SnapshotRecord>,
) -> Result<Adopted, AdoptError> {
    let from = request.remote.store();
    let _alone = store.lock_incoming(from)?;
    let (lives, captures) = lives(request.chain, request.trusted);
    // Before the first receipt of this import.
    let is_own_copy = is_own_copy(store, request)?;
    let mut landing = Landing {
        store,
        world,
        request,
        is_own_copy,
        captures,
        open: HashMap::new(),
        landed: 0,
        known: StoredContents::default(),
        checked: HashSet::new(),
        sound: HashSet::new(),
        uses: uses(request, &records),
        adopted: Adopted::default(),
    };
    let mut sessions = Vec::new();
    for (instance, records) in by_instance(records) {
        let life = lives.get(&instance).cloned().unwrap_or_default();
        if let Some(records) = landing.new_ones(&instance, records)? {
            sessions.push(Incoming {
                instance,
                life,
                records,
            });
        }
    }
    for (session, step) in in_order(&sessions, &landing.captures) {
        if let Some(session) = sessions.get(session) {
            landing.step(session, step)?;
        }
    }
    store.forget_incoming(from)?;
    Ok(landing.adopted)
}

/// Returns true if the replica is a copy of this store that it goes on from, or that goes on from it: they have the same name and key, and
/// behind their common receipts this store has at most those of an earlier import of the same snapshots.
fn is_own_copy(store: &Store, request: &AdoptRequest<'_>) -> Result<bool, AdoptError> {
    let identity = store.replica_identity()?;
    if !identity.is_some_and(|identity| request.remote.is_of(&identity)) {
        return Ok(false);
    }
    let (here, there) = (store.receipts()?, &request.chain.receipts);
    let pairs = here.iter().zip(there);
    let common = pairs.take_while(|(here, there)| here == there).count();
    if common == there.len() {
        return Ok(true);
    }
    let told = request.chain.told();
    let behind: Vec<&Receipt> = here.iter().skip(common).collect();
    let adopted: HashSet<&InstanceId> = behind
        .iter()
        .filter(|receipt| matches!(receipt.act, Operation::Adopt { .. }))
        .filter_map(|receipt| receipt.instance.as_ref())
        .collect();
    let is_imported = |receipt: &&Receipt| match &receipt.act {
        Operation::Capture { snapshot, .. } => told.contains_key(snapshot),
        Operation::Adopt { .. } => true,
        Operation::Pin { .. } | Operation::End { .. } => {
            let instance = receipt.instance.as_ref();
            instance.is_some_and(|instance| adopted.contains(instance))
        }
        _ => false,
    };
    Ok(behind.iter().all(is_imported))
}

/// Counts how often each archive is still needed.
fn uses(request: &AdoptRequest<'_>, records: &[SnapshotRecord]) -> HashMap<ArchiveId, u64> {
    let mut uses = HashMap::new();
    for archive in records.iter().flat_map(|record| &record.archives) {
        if let Ok(found) = request.remote.resolve(request.index, archive) {
            *uses.entry(found.id).or_default() += 1;
        }
    }
    uses
}

/// A session whose steps are under way.
struct Open {
    /// Held until its last snapshot is here, so that no other process works on it.
    lock: Option<LockGuard>,
    /// Number of its snapshots that are still to come.
    left: usize,
    /// Reason why the session takes nothing from this replica.
    refused: Option<String>,
    /// Value of `landed` before it began.
    landed_before: u64,
}

struct Landing<'a> {
    store: &'a Store,
    world: Services<'a>,
    request: &'a AdoptRequest<'a>,
    /// True if the replica is this store's own.
    is_own_copy: bool,
    captures: Captures,
    /// Sessions of which the first step is done.
    open: HashMap<InstanceId, Open>,
    /// Number of adoptions and snapshots that were appended.
    landed: u64,
    /// Contents that are already stored, and need not be stored again.
    known: StoredContents,
    /// Content that was read and had its digest.
    checked: HashSet<crate::model::Content>,
    /// Archives that were compared as a whole.
    sound: HashSet<ArchiveId>,
    uses: HashMap<ArchiveId, u64>,
    adopted: Adopted,
}

impl Landing<'_> {
    /// Returns the snapshots of a session that the store does not know; `None` if there is nothing to do for it.
    fn new_ones(
        &mut self,
        instance: &InstanceId,
        records: Vec<SnapshotRecord>,
    ) -> Result<Option<Vec<SnapshotRecord>>, AdoptError> {
        let mut new = Vec::new();
        for record in records {
            match self.store.standing(&record.id)? {
                Standing::Unknown => new.push(record),
                Standing::GivenUp => {
                    self.adopted.given_up += 1;
                    self.done_with(&record.archives)?;
                }
                Standing::Here => {
                    self.adopted.there += 1;
                    // What it holds need not be stored again; when it cannot be read, it is.
                    if let Ok(here) = self.store.record(&record.id) {
                        self.known.add(self.store, &here.archives);
                    }
                    self.done_with(&record.archives)?;
                }
            }
        }
        // This store's own session, or one that it does not know.
        let is_needless = new.is_empty() && !self.store.catalog().is_adopted(instance)?;
        Ok((!is_needless).then_some(new))
    }

    /// Returns the reason why a session takes nothing from this replica: it began here and the replica is another store's, it came from
    /// another store, or it is trusted and this import is not. A restore believes what a session's snapshots say, so that all of them must
    /// have one origin.
    fn refusal(&self, instance: &InstanceId) -> Result<Option<String>, AdoptError> {
        let from = self.request.remote.store();
        let (mut was_adopted, mut is_trusted) = (false, false);
        for receipt in self.store.catalog().receipts_of(instance)? {
            match &receipt.act {
                Operation::Adopt { store, place, .. } if store != from => {
                    return Ok(Some(format!(
                        "its session {instance} was imported from {place}/{store}, and takes no snapshot of another store"
                    )));
                }
                Operation::Adopt { trusted, .. } => {
                    was_adopted = true;
                    is_trusted |= trusted;
                }
                _ => {}
            }
        }
        let is_own = !was_adopted && self.store.catalog().instance(instance)?.is_some();
        Ok(match (is_own, self.request.trusted) {
            (true, _) if !self.is_own_copy => Some(format!(
                "its session {instance} began in this store, and the copy does not go on from this store's log"
            )),
            (true, false) => Some(format!(
                "its session {instance} began in this store, and takes snapshots from its copy only with --trust"
            )),
            (false, false) if is_trusted => Some(format!(
                "its session {instance} was imported with --trust, and takes no snapshot without it"
            )),
            _ => None,
        })
    }

    /// Returns the session if receipts of it are here.
    fn known(&self, instance: &InstanceId) -> Result<Option<InstanceRow>, AdoptError> {
        let known = self.store.catalog().instance(instance)?;
        Ok(known.filter(|row| row.mode != "unknown"))
    }

    fn step(&mut self, session: &Incoming, step: Step) -> Result<(), AdoptError> {
        let Incoming {
            instance,
            life,
            records,
        } = session;
        match step {
            Step::Begin => {
                let lock = self.store.lock_instance(instance)?;
                let refused = self.refusal(instance)?;
                let is_refused = refused.is_some();
                let open = Open {
                    lock: Some(lock),
                    left: records.len(),
                    refused,
                    landed_before: self.landed,
                };
                self.open.insert(instance.clone(), open);
                match self.known(instance)? {
                    _ if is_refused => {}
                    Some(row) => self.complete(&row, life)?,
                    None => self.begin(instance, life, records)?,
                }
            }
            Step::Snapshot(position) => {
                let Some(record) = records.get(position) else {
                    return Ok(());
                };
                let open = self.open.get(instance);
                let refused = open.and_then(|open| open.refused.clone());
                let stored = match &refused {
                    Some(_) => Ok(()),
                    None => self.snapshot(record.clone(), life.workspace.as_deref()),
                };
                match stored {
                    Ok(()) if refused.is_some() => {
                        let why = refused.unwrap_or_default();
                        self.adopted.failed.push((record.id.clone(), why));
                    }
                    Ok(()) => {
                        self.adopted.snapshots.push(record.id.clone());
                        self.landed += 1;
                    }
                    Err(AdoptError::Transfer(error)) if is_of_the_snapshot(&error) => {
                        self.adopted.failed.push((record.id.clone(), error.to_string()));
                    }
                    Err(error) => return Err(error),
                }
                if let Some(open) = self.open.get_mut(instance) {
                    open.left = open.left.saturating_sub(1);
                }
                self.done_with(&record.archives)?;
            }
            // What came of others meanwhile was made while it lived. An earlier import may have recorded an end before that.
            Step::End => {
                let open = self.open.get(instance);
                if open.is_some_and(|open| open.landed_before < self.landed) {
                    self.end(instance, life)?;
                }
            }
        }
        if let Some(open) = self.open.get_mut(instance).filter(|open| open.left == 0) {
            open.lock = None;
        }
        Ok(())
    }

    /// Appends the receipt of the end of a session that came from there.
    fn end(&self, instance: &InstanceId, life: &Life) -> Result<(), AdoptError> {
        if self.store.catalog().is_adopted(instance)? {
            let ended = life.ended.as_ref();
            let act = Operation::End {
                ending: ended.map_or(Ending::Unseen, |(_, ending)| ending.clone()),
                survivors: Vec::new(),
            };
            let Services { clock, uid, .. } = self.world;
            self.store.append_each(clock.now(), uid, instance, [act])?;
        }
        Ok(())
    }

    /// Appends the receipt by which the session is known here. It is kept whatever the retention policy says, which would take old ones
    /// at once.
    fn begin(
        &mut self,
        instance: &InstanceId,
        life: &Life,
        records: &[SnapshotRecord],
    ) -> Result<(), AdoptError> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return Ok(());
        };
        let mounts = first.mounts.iter().map(|mount| mount.coverage.clone());
        let act = self.adoption(life, (first.taken_at, last.taken_at), || mounts.collect());
        let acts = [act, Operation::Pin { snapshot: None }];
        let Services { clock, uid, .. } = self.world;
        self.store.append_each(clock.now(), uid, instance, acts)?;
        self.world.observer.reached("adopt-begun");
        self.adopted.sessions.push(instance.clone());
        self.landed += 1;
        Ok(())
    }

    /// Appends what an earlier import of the session lacks: the pin, if the power failed while both receipts were written, how it ended, if it
    /// was active when it was copied, and what it was, if the copy had no receipt of its beginning.
    fn complete(&mut self, row: &InstanceRow, life: &Life) -> Result<(), AdoptError> {
        let receipts = self.store.catalog().receipts_of(&row.id)?;
        let has = |wanted: fn(&Operation) -> bool| receipts.iter().any(|receipt| wanted(&receipt.act));
        if !has(|act| matches!(act, Operation::Adopt { .. })) {
            return Ok(());
        }
        let is_trusted = |act: &Operation| matches!(act, Operation::Adopt { trusted, .. } if *trusted);
        let mut adoptions = receipts
            .iter()
            .filter(|receipt| matches!(receipt.act, Operation::Adopt { .. }));
        let was_trusted = adoptions.all(|receipt| is_trusted(&receipt.act));
        let is_theirs = life.mode.as_ref().is_some_and(|mode| mode != IMPORTED);
        let could_be_own = self.request.trusted && row.is_imported() && is_theirs;
        if could_be_own && !was_trusted {
            self.adopted.untrusted += 1;
        }
        let mut acts = Vec::new();
        let knows_end = life
            .ended
            .as_ref()
            .is_some_and(|(_, ending)| *ending != Ending::Unseen);
        // What tells of its beginning may have been missing in the copy.
        if row.ending == Some(Ending::Unseen) && knows_end || could_be_own && was_trusted {
            let over = row.ended_at.unwrap_or(row.started_at);
            let mut life = life.clone();
            if row.title.name.is_some() || row.title.message.is_some() {
                // It may have been renamed here.
                life.title.name.clone_from(&row.title.name);
                life.title.message.clone_from(&row.title.message);
            }
            acts.push(self.adoption(&life, (row.started_at, over), || row.mounts.clone()));
        }
        if !has(|act| {
            matches!(
                act,
                Operation::Pin { snapshot: None } | Operation::Unpin { snapshot: None }
            )
        }) {
            acts.push(Operation::Pin { snapshot: None });
        }
        if !acts.is_empty() {
            let Services { clock, uid, .. } = self.world;
            self.store.append_each(clock.now(), uid, &row.id, acts)?;
            self.landed += 1;
        }
        Ok(())
    }

    /// Returns the receipt of a session that came from there, with the times and mounts of its snapshots where the chain has none.
    fn adoption(
        &self,
        life: &Life,
        (begun, over): (Time, Time),
        mounts: impl FnOnce() -> Vec<Coverage>,
    ) -> Operation {
        let trusted = self.request.trusted;
        let mode = life.mode.clone().filter(|_| trusted);
        let (ended, ending) = life.ended.clone().unwrap_or((over, Ending::Unseen));
        Operation::Adopt {
            place: self.request.place.to_owned(),
            store: self.request.remote.store().clone(),
            trusted,
            workspace: life.workspace.clone().filter(|_| trusted),
            mode: mode.unwrap_or_else(|| IMPORTED.to_owned()),
            mounts: match life.mounts.is_empty() {
                false => life.mounts.clone(),
                true => mounts(),
            },
            command: life.command.clone(),
            title: life.title.clone(),
            began: life.began.unwrap_or(begun),
            ended,
            ending,
        }
    }

    fn snapshot(&mut self, record: SnapshotRecord, workspace: Option<&str>) -> Result<(), AdoptError> {
        let trusted = self.request.trusted;
        let mut files = Vec::new();
        for archive in &record.archives {
            files.push(self.fetch(archive, &record.id)?);
        }
        self.world.observer.reached("adopt-fetched");
        let blobs = Blobs::of_files(files, &record);
        let name = format!(
            "{}/{}/{}",
            self.request.place,
            self.request.remote.store(),
            record.id
        );
        let observer = self.world.observer;
        let mut moment =
            IncomingSnapshot::read(Path::new(&name), record, blobs, &mut self.checked, observer)?;
        if !trusted {
            moment.strip(self.request.owner);
        }
        let origin = moment.record();
        let draft = self.store.draft(origin.id.clone())?;
        let landed = StoredSnapshot {
            instance: &origin.instance,
            snapshot: &origin.id,
            workspace: workspace.filter(|_| trusted),
            kind: origin.kind,
            late: origin.late,
            name: origin.name.as_deref(),
        };
        let stored = moment.store(self.store, &draft, &landed, &self.known, observer)?;
        if stored.mounts.iter().any(|mount| !mount.withheld.is_empty()) {
            // As for an imported file: another store's key made those digests, and ours must be there.
            self.store.make_digest_key(self.world.entropy)?;
        }
        observer.reached("adopt-stored");
        let captured = self.captures.remove(&stored.id);
        let (step, call) = captured.map_or((None, None), |captured| (captured.step, captured.call));
        let Services { clock, uid, .. } = self.world;
        self.store.publish(
            draft,
            &stored,
            Told {
                step,
                call,
                ..Told::default()
            },
            clock.now(),
            uid,
        )?;
        observer.reached("adopt-captured");
        self.known.add(self.store, &stored.archives);
        self.drop_told(&stored.id, moment.dropped());
        Ok(())
    }

    fn drop_told(&mut self, id: &SnapshotId, dropped: &Dropped) {
        const NAMED: usize = 20;
        self.adopted.dropped += dropped.paths;
        self.adopted.owners += dropped.owners;
        let room = NAMED.saturating_sub(self.adopted.named.len());
        let named = dropped.named.iter().take(room);
        self.adopted
            .named
            .extend(named.map(|what| (id.clone(), what.clone())));
    }

    /// An archive that a snapshot needs, open: it came before, or comes now.
    fn fetch(&mut self, wanted: &ArchiveRef, id: &SnapshotId) -> Result<(Archive, ArchiveRef), AdoptError> {
        let AdoptRequest { remote, index, .. } = self.request;
        let from = remote.store();
        let lost = |why: String| TransferError::Damaged {
            path: format!("{}/{from}/{id}", self.request.place).into(),
            why,
        };
        let found = remote.resolve(index, wanted).map_err(lost)?;
        if let Some(path) = self.store.received(from, &found)? {
            let opened = Archive::open(&path, Some(&found)).and_then(|archive| {
                if !self.sound.contains(&found.id) {
                    archive.check_file(&found)?;
                }
                Ok(archive)
            });
            match opened {
                Ok(archive) => {
                    self.sound.insert(found.id.clone());
                    return Ok((archive, found));
                }
                // Power may have gone while it came.
                Err(_) => self.store.forget_received(from, &found.id)?,
            }
        }
        let free = self.store.free_bytes()?;
        if found.size > free {
            return Err(TransferError::Room {
                path: format!("{}/{from}/archives/{}", self.request.place, found.id).into(),
                need: found.size,
                free,
            }
            .into());
        }
        let mut file = self.store.receive(from, &found)?;
        let read = remote.archive(index, &found, &mut |bytes| Ok(file.write(bytes)?))?;
        read.map_err(lost)?;
        let path = file.finish()?;
        self.sound.insert(found.id.clone());
        let archive = Archive::open(&path, Some(&found)).map_err(TransferError::Archive)?;
        Ok((archive, found))
    }

    /// Archives that nothing needs any more need not lie there.
    fn done_with(&mut self, archives: &[ArchiveRef]) -> Result<(), AdoptError> {
        let AdoptRequest { remote, index, .. } = self.request;
        for archive in archives {
            let Ok(found) = remote.resolve(index, archive) else {
                continue;
            };
            let left = self.uses.entry(found.id.clone()).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.store.forget_received(remote.store(), &found.id)?;
            }
        }
        Ok(())
    }
}

/// Returns true if only this snapshot is damaged, so that the others can be imported.
fn is_of_the_snapshot(error: &TransferError) -> bool {
    match error {
        TransferError::Damaged { .. } | TransferError::Content { .. } | TransferError::Newer { .. } => true,
        TransferError::Archive(error) => ArchiveError::is_damage(error) || error.is_newer(),
        TransferError::Store(error) => matches!(
            error,
            StoreError::Content { .. }
                | StoreError::Manifest { .. }
                | StoreError::Archive(_)
                | StoreError::Damaged { .. }
        ),
        _ => false,
    }
}
