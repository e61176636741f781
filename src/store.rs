//! The store: archives, records, receipts, catalog, locks (`docs/format.md`).
//!
//! Records and `receipts.log` are the truth; the catalog is a projection of both and follows them. This file
//! says what the store can do; how is in the modules below it.

pub mod archive;
pub mod encryption;

mod archive_blobs;
mod archive_redirects;
mod blobs;
mod catalog;
mod catalog_sync;
mod chain;
mod change_mark;
mod contents;
mod contracts;
mod decoded;
mod decrypted_content;
mod direct_blobs;
mod directory;
mod draft;
mod durable;
#[cfg(not(feature = "encrypt"))]
mod encryption_absent;
mod error;
mod forget;
mod forks;
mod fs_snapshot_trees;
mod fs_snapshots;
mod git_blobs;
mod git_files;
mod held_lock;
mod import_staging;
mod inspect;
mod journal_paths;
mod key;
mod layout;
mod lock;
mod log;
mod log_repair;
mod needed_archives;
mod open_archives;
mod path_lookup;
mod prune;
mod random_access;
mod reconcile;
mod record;
mod repack;
mod replica;
mod reserve;
mod restore_journal;
mod sealed;
mod store_id;
mod unchanged;
mod upload_source;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use archive_blobs::{BlobPlace, BlobReader};
pub use archive_redirects::parse_moved;
pub use blobs::Blobs;
pub use catalog::{
    AgentEventRow, CATALOG_FORMAT, CaptureRow, Catalog, ForgottenRow, ForkRow, IMPORTED, InstanceBrief,
    InstanceRow, RestoreRow, SQLITE_FLOOR, SnapshotRow, Tally, sqlite_version,
};
pub use chain::Told;
pub use change_mark::ChangeMark;
pub use contracts::StoredContract;
pub use decrypted_content::DecryptedContent;
pub use draft::Draft;
pub use error::{CatalogFault, LockedObject, StoreError, wait_hint};
pub use forget::{AmendedRecord, ForgetPlan, Forgotten};
pub use forks::fork_draft;
pub use fs_snapshots::{
    FsSnapshotRegistry, NativeFact, NativeState, dataset_snapshot, letters_of, volume_snapshot,
};
pub use git_files::{StoredTree, found};
pub use held_lock::{HeldLock, Holder, LockName};
pub use import_staging::{IncomingArchive, Standing};
pub use inspect::{CatalogFacts, DraftFact, Inconsistency, Survey, UnexpectedFile};
pub use key::DigestKey;
pub use layout::Layout;
pub use lock::{LockGuard, Patience};
pub use log::{Anchor, read_links};
pub use log_repair::{Mended, mend_chain};
pub use path_lookup::{PartsRead, PathLookup, PathState};
pub use prune::{ArchiveNeeds, Sole, Swept};
pub use random_access::OpenContent;
pub use reconcile::LostRecord;
pub use record::{check_mounts, check_record, parse_record};
pub use repack::{RepackGroup, RepackPlan, Repacked};
pub use replica::{EarlierReplica, ReplicaIdentity, ReplicaOutcome};
pub use restore_journal::{DamagedJournal, PendingRestore, RestoreJournal, Stage as RestoreStage};
pub use upload_source::StoredArchive;
pub use verify::{Finding, Verified};

use crate::model::{AgentRef, ArchiveRef, Digest, InstanceId, SnapshotId, SnapshotRecord};
use handle_fs::Locations;
use handle_fs::remote::Transports;
use processes::ProcessTable;

/// The lock under which the chain grows and the catalog is caught up.
const RECEIPTS: &str = "receipts";
/// The lock that guards the making and sweeping of drafts, so that one between its `mkdir` and its lock is
/// not swept.
const DRAFTS: &str = "drafts";

/// An open store.
#[derive(Debug)]
pub struct Store {
    layout: Layout,
    catalog: Arc<Catalog>,
    writable: bool,
    warnings: Vec<StoreError>,
    decoded: Arc<decoded::Decoded>,
    opened: open_archives::OpenArchives,
    identities: Option<encryption::Identities>,
    /// Bound for decompressed frames of all archives; `None`: each archive keeps its own.
    frames: Option<archive::SharedFrames>,
}

impl Store {
    /// Bytes that this user may still write where the store lies.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn free_bytes(&self) -> Result<u64, StoreError> {
        let _kept = self.layout.enter()?;
        let root = self.layout.root();
        let free = handle_fs::free_bytes_at(root);
        free.map_err(StoreError::io("ask for free room in", root))
    }

    /// Returns true if there is a store at `root`. Checks its directories; creates and changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`], [`StoreError::Io`].
    pub fn is_there(root: impl Into<Layout>) -> Result<bool, StoreError> {
        let layout = root.into();
        let _kept = layout.enter()?;
        directory::inspect(&layout)
    }

    /// Opens the store at `root` for reading; `None` when there is none. Makes and changes nothing. When the
    /// catalog is missing or not up to date its answers are computed in memory.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`], [`StoreError::Newer`], [`StoreError::Chain`], [`StoreError::Io`].
    pub fn open_read(root: impl Into<Layout>) -> Result<Option<Self>, StoreError> {
        let layout = root.into();
        let _kept = layout.enter()?;
        if !directory::inspect(&layout)? {
            return Ok(None);
        }
        let (catalog, warnings) = catalog_sync::for_reading(&layout)?;
        let keeper = layout.keeper();
        Ok(Some(Self {
            layout,
            catalog: Arc::new(catalog.kept_by(keeper)),
            writable: false,
            warnings,
            decoded: Arc::default(),
            opened: open_archives::OpenArchives::default(),
            identities: None,
            frames: None,
        }))
    }

    /// Looks again at what other processes wrote, for a reader that stays.
    ///
    /// # Errors
    /// As for [`Self::open_read`].
    pub fn look_again(&mut self) -> Result<(), StoreError> {
        if !self.writable && self.catalog.is_in_memory() {
            let _kept = self.layout.enter()?;
            let (catalog, _) = catalog_sync::for_reading(&self.layout)?;
            self.catalog = Arc::new(catalog.kept_by(self.layout.keeper()));
        }
        Ok(())
    }

    /// Opens what the catalog's file holds at this moment, without a look at records and receipts and without waiting: for
    /// completions, where a late answer is worse than none. `None` when there is no catalog.
    ///
    /// # Errors
    /// As for [`Self::open_read`]; also while another process writes to the catalog.
    pub fn open_nonblocking(root: impl Into<Layout>) -> Result<Option<Self>, StoreError> {
        const PATIENCE: Duration = Duration::from_millis(20);
        let layout = root.into();
        let _kept = layout.enter()?;
        if !directory::inspect(&layout)? {
            return Ok(None);
        }
        let catalog = Catalog::open_read_within(&layout.catalog(), PATIENCE)?;
        let keeper = layout.keeper();
        Ok(catalog.map(|catalog| Self {
            layout,
            catalog: Arc::new(catalog.kept_by(keeper)),
            writable: false,
            warnings: Vec::new(),
            decoded: Arc::default(),
            opened: open_archives::OpenArchives::default(),
            identities: None,
            frames: None,
        }))
    }

    /// Opens the store at `root` for writing; creates it if there is none. The catalog is caught up, and rebuilt if its file is no
    /// longer a database (the old file is set aside); drafts of dead processes are swept.
    ///
    /// # Errors
    /// [`StoreError::Create`], [`StoreError::Unsafe`], [`StoreError::Newer`], [`StoreError::Chain`],
    /// [`StoreError::Locked`], [`StoreError::Catalog`], [`StoreError::Io`].
    pub fn open_write(root: impl Into<Layout>) -> Result<Self, StoreError> {
        let layout = root.into();
        let _kept = layout.enter()?;
        directory::prepare(&layout)?;
        reserve::keep(&layout);
        let mut warnings = Vec::new();
        let (catalog, lists_all) = {
            // No process appends a receipt while the catalog catches up: both would mirror the same links, and the second one
            // would take that for damage.
            let _receipts = lock::wait(&layout, RECEIPTS)?;
            lock::prepare(&layout)?;
            let path = layout.catalog();
            let opened = Catalog::open_write(&path).and_then(|catalog| {
                catalog_sync::catch_up(&catalog, &layout).map(|caught_up| (catalog, caught_up))
            });
            let (catalog, caught_up) = match opened {
                Err(error) if error.is_damage_of(&path) => {
                    warnings.push(error);
                    catalog::lay_aside(&path, &layout.damaged_catalog())?;
                    let catalog = Catalog::open_write(&path)?;
                    let caught_up = catalog_sync::catch_up(&catalog, &layout)?;
                    (catalog, caught_up)
                }
                other => other?,
            };
            warnings.extend(caught_up.unreadable);
            (catalog, caught_up.lists_all)
        };
        if !lists_all {
            // A process that gave snapshots up and was killed left their records.
            warnings.extend(prune::forget(&layout, &catalog).err());
        }
        let keeper = layout.keeper();
        let mut store = Self {
            layout,
            catalog: Arc::new(catalog.kept_by(keeper)),
            writable: true,
            warnings,
            decoded: Arc::default(),
            opened: open_archives::OpenArchives::default(),
            identities: None,
            frames: None,
        };
        // Before drafts are swept: a killed `forget` left archives, and the draft of those that replace them.
        store.warnings.extend(forget::finish(&store).err());
        // After the lock on the chain is let go: a sweep that finds a captured snapshot appends its receipt, and takes that
        // lock itself.
        let swept = [
            draft::sweep(&store.layout, &|id| store.log_recovered_captures(id)),
            restore_journal::sweep(&store.layout),
            fs_snapshots::sweep(&store.layout),
        ];
        store.warnings.extend(swept.into_iter().flatten());
        // A chain or a record that is damaged is named by those who look at it.
        let _ = store.log_captures_without_receipt();
        Ok(store)
    }

    /// Keeps at most `most` decompressed frames of all archives in memory, of about 1 MiB each: for a reader that has many archives open
    /// for a long time.
    #[must_use]
    pub fn keeping_frames(self, most: usize) -> Self {
        Self {
            frames: Some(archive::SharedFrames::new(most)),
            ..self
        }
    }

    /// Returns the connections to the machines of recorded mounts.
    #[must_use]
    pub fn transports(&self) -> &Transports {
        self.layout.transports()
    }

    /// Returns the processes as the command sees them.
    #[must_use]
    pub fn processes(&self) -> &ProcessTable {
        self.layout.processes()
    }

    /// Returns the paths of the store's files.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The queries. After a failed write the catalog is brought up to date first; if that fails, each query returns the error of
    /// the write.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        if self.writable && self.catalog.is_behind() {
            let _ = self.repair_catalog();
        }
        &self.catalog
    }

    fn repair_catalog(&self) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        let receipts = lock::wait_briefly(&self.layout, RECEIPTS)?;
        self.catch_up(&receipts)
    }

    /// Brings the catalog up to date after a write that failed, under the lock `receipts`: whatever prevented it may be over, and
    /// another file may have taken the place of the one that is open.
    fn catch_up(&self, _receipts: &LockGuard) -> Result<(), StoreError> {
        let catch_up = || catalog_sync::catch_up(&self.catalog, &self.layout).map(drop);
        match self.catalog.reopen_replaced().and_then(|()| catch_up()) {
            Err(error) if error.is_damage_of(&self.layout.catalog()) => {
                self.catalog.renew(&self.layout.damaged_catalog())?;
                catch_up()
            }
            other => other,
        }
    }

    /// Returns the problems that opening the store found and survived: unreadable records (their snapshots are not listed), a
    /// catalog that was rebuilt, leftovers that could not be removed.
    #[must_use]
    pub fn warnings(&self) -> &[StoreError] {
        &self.warnings
    }

    /// Returns the sorted ids of all records on disk, also of unreadable ones, without those of pruned snapshots.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn record_ids(&self) -> Result<Vec<SnapshotId>, StoreError> {
        let _kept = self.layout.enter()?;
        let mut ids = record::ids(&self.layout)?;
        let gone = prune::left_over(&self.layout, &self.catalog)?;
        ids.retain(|id| !gone.contains(id));
        Ok(ids)
    }

    /// Reads and checks the record of a snapshot. It names the archives that hold its content now: those that were packed anew are
    /// not those that it was written with. What was forgotten of it is in its manifests no more.
    ///
    /// # Errors
    /// [`StoreError::NoSnapshot`]; [`StoreError::LostRecord`]; [`StoreError::Newer`]; [`StoreError::Damaged`] when it is not what
    /// its receipt says, or holds what no record may hold.
    pub fn record(&self, id: &SnapshotId) -> Result<SnapshotRecord, StoreError> {
        let _kept = self.layout.enter()?;
        let known = self.catalog.recorded(id)?;
        let mut record = match record::read(&self.layout, id, known.digest) {
            Err(StoreError::NoSnapshot { .. })
                if known.digest.is_some() && !self.catalog.pruned()?.contains(id) =>
            {
                return Err(StoreError::LostRecord {
                    path: self.layout.record(id),
                });
            }
            other => other?,
        };
        self.amend(&mut record, known)?;
        record.archives = self.resolved(record.archives, known.some_archives_gone)?;
        Ok(record)
    }

    /// Returns the archives that hold now what these held when they were named.
    fn resolved(&self, named: Vec<ArchiveRef>, some_gone: bool) -> Result<Vec<ArchiveRef>, StoreError> {
        let mut failed = None;
        let resolved = archive_redirects::resolve_all(&self.layout, named, |id| {
            let is_gone = some_gone.then(|| self.catalog.is_forgotten(id));
            is_gone.unwrap_or(Ok(false)).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                true
            })
        });
        // Then it is unknown which archives may be relied on.
        failed.map_or(Ok(resolved), Err)
    }

    /// Changes a record, as it was written, to what receipts of `forget` made of it.
    fn amend(&self, record: &mut SnapshotRecord, known: catalog::Recorded) -> Result<(), StoreError> {
        if known.is_amended {
            for amendment in self.catalog.amendments(&record.id)? {
                amendment.apply(record);
            }
        }
        Ok(())
    }

    /// Begins a snapshot: `tmp/<id>/`, locked as long as the draft lives.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Exists`]; [`StoreError::Create`]; [`StoreError::Io`].
    pub fn draft(&self, id: SnapshotId) -> Result<Draft, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        // Whoever died beside us between a record and its receipt is told of first: what comes behind it in time comes behind it in the chain.
        let _ = draft::sweep(&self.layout, &|id| self.log_recovered_captures(id));
        Draft::new(&self.layout, Arc::clone(&self.catalog), id)
    }

    /// Takes the lock of an instance: its launcher holds it as long as it lives. No child inherits it.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when another process holds it; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_instance(&self, id: &InstanceId) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        lock::instance(&self.layout, id, Patience::Short)
    }

    /// Takes the lock of an instance like [`Self::lock_instance`], and waits for it: no launcher holds it, but another end may.
    ///
    /// # Errors
    /// [`StoreError::Locked`] after half a minute; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn wait_for_instance(&self, id: &InstanceId) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        lock::instance(&self.layout, id, Patience::Long)
    }

    /// Locks a checkpoint name of `instance` while one is being taken, so that no other checkpoint gets it.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process takes one; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_checkpoint(&self, instance: &InstanceId, name: &str) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        // A checkpoint's name has more bytes than may stand behind an id.
        let file = format!(
            "checkpoint-{}",
            Digest::of(format!("{instance}/{name}").as_bytes())
        );
        lock::fork(&self.layout, &file)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::Checkpoint(name.to_owned()),
        })
    }

    /// Locks an agent's session for a hook that begins, marks or ends it: hooks run at the same time, and wait for each other.
    ///
    /// # Errors
    /// [`StoreError::Locked`] after half a minute; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_agent(&self, agent: &AgentRef) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let name = format!("{}/{}", agent.name, agent.session);
        let file = format!("agent-{}", Digest::of(name.as_bytes()));
        lock::patient(&self.layout, &file)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::File(self.layout.lock(&file)),
        })
    }

    /// Locks the baseline of a session that began without one, for the process that takes it.
    ///
    /// # Errors
    /// [`StoreError::Locked`] after half a minute; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_baseline(&self, id: &InstanceId) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let file = format!("baseline-{id}");
        lock::patient(&self.layout, &file)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::File(self.layout.lock(&file)),
        })
    }

    /// Returns true if a process (also this one) holds the lock of a session. Creates nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`]: then it is not known.
    pub fn instance_locked(&self, id: &InstanceId) -> Result<bool, StoreError> {
        let _kept = self.layout.enter()?;
        lock::instance_is_held(&self.layout, id)
    }

    /// Takes the locks for a restore into `roots` (canonical paths). Restores into the same root, or into
    /// roots of which one lies in the other, exclude each other.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the root; [`StoreError::ReadOnly`]; [`StoreError::Io`], also when a root on another machine cannot be
    /// locked there.
    pub fn lock_restore(&self, roots: &[PathBuf]) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        lock::restore(&self.layout, (roots, &Locations::default()), lock::Reach::There)
    }

    /// Returns the same for a caller that touches no file in them: a machine that they are on may be gone for good.
    ///
    /// # Errors
    /// As for [`Self::lock_restore`].
    pub fn lock_restore_here(&self, roots: &[PathBuf]) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        lock::restore(&self.layout, (roots, &Locations::default()), lock::Reach::Here)
    }

    /// Takes the store's lock, shared, because archives are needed: captures and restores share the store.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process has it exclusively; [`StoreError::Io`]; as for [`Self::open_read`] if the catalog
    /// cannot follow.
    pub fn share(&self) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        let shared = lock::share(&self.layout)?;
        // What is read from here on must know of a `forget` or a prune that came before: one that was killed between its receipt and
        // the catalog, and any of which a catalog in memory does not hear.
        let in_memory = !self.writable && self.catalog.is_in_memory();
        if (self.writable || in_memory) && catalog_sync::lacks_deletion(&self.catalog, &self.layout)? {
            // A reader takes no lock of writers, and no other process sees its catalog.
            let _receipts = match in_memory {
                true => None,
                false => Some(lock::wait(&self.layout, RECEIPTS)?),
            };
            catalog_sync::catch_up(&self.catalog, &self.layout)?;
        }
        Ok(shared)
    }

    /// Makes the catalog anew from records and receipts. Returns the records that could not be read.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`], [`StoreError::Chain`], [`StoreError::Catalog`], [`StoreError::Io`]. The
    /// catalog is then as it was.
    pub fn rebuild(&self) -> Result<Vec<StoreError>, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let _receipts = lock::wait(&self.layout, RECEIPTS)?;
        log::sync(&self.layout.receipts())?;
        match catalog_sync::renew(&self.catalog, &self.layout) {
            Err(error) if error.is_damage_of(&self.layout.catalog()) => {
                self.catalog.renew(&self.layout.damaged_catalog())?;
                catalog_sync::renew(&self.catalog, &self.layout)
            }
            other => other,
        }
    }

    fn must_be_writable(&self) -> Result<(), StoreError> {
        if self.writable {
            Ok(())
        } else {
            Err(StoreError::ReadOnly {
                path: self.layout.root().to_path_buf(),
            })
        }
    }
}

#[cfg(test)]
mod tests;
