//! Drafts: a snapshot in the making. It becomes visible in one rename, or leaves nothing, also when its
//! process is killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::catalog::Catalog;
use super::lock::{self, LockGuard};
use super::{DRAFTS, Layout, StoreError, directory, durable, record, reserve};
use crate::model::{ArchiveId, Digest, SnapshotId, SnapshotRecord};
use handle_fs::File;

/// A snapshot in the making: `tmp/<id>/`, locked. Dropped without [`Draft::publish`] it takes everything
/// along that was written for it.
#[derive(Debug)]
pub struct Draft {
    id: SnapshotId,
    layout: Layout,
    catalog: Arc<Catalog>,
    /// An archive of the same letters was published by this draft.
    archived: AtomicBool,
    /// The record may have been visible for a moment.
    shown: AtomicBool,
    /// Held until the draft is dropped.
    lock: Option<LockGuard>,
}

impl Draft {
    pub(super) fn new(layout: &Layout, catalog: Arc<Catalog>, id: SnapshotId) -> Result<Self, StoreError> {
        reserve::keep(layout);
        let _making = lock::wait(layout, DRAFTS)?;
        let archives = id.archives().map(|archive| layout.archive(&archive));
        // A draft that is dropped removes the archives of its id. They must not be those of a snapshot that exists.
        for path in [layout.record(&id)].into_iter().chain(archives) {
            if durable::is_there(&path)? {
                return Err(StoreError::Exists { id });
            }
        }
        let directory = layout.draft(&id);
        // Its name comes to disk before that of an archive. A record alone is recognized without it.
        if !durable::make_directory_unsynced(&directory)? {
            return Err(StoreError::Exists { id });
        }
        let lock = match lock::draft(layout, directory.join("lock")) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Err(StoreError::Exists { id }),
            // No room for the lock: then none for the draft. One that cannot be removed is swept by the next command that writes.
            Err(error) => {
                let _ = handle_fs::remove_tree_at(&directory);
                return Err(error);
            }
        };
        Ok(Self {
            id,
            layout: layout.clone(),
            catalog,
            archived: AtomicBool::new(false),
            shown: AtomicBool::new(false),
            lock: Some(lock),
        })
    }

    /// The snapshot that this is to become.
    #[must_use]
    pub fn id(&self) -> &SnapshotId {
        &self.id
    }

    /// The draft's directory; more files than the archive may be written there, and go with it.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.layout.draft(&self.id)
    }

    /// Returns the path of an archive until it is published. Its id must be one of the draft's: a sweep after a crash recognizes it
    /// by that.
    fn archive_path(&self, id: &ArchiveId) -> Result<PathBuf, StoreError> {
        if !self.id.archives().contains(id) {
            return Err(StoreError::WrongDraft {
                draft: self.id.clone(),
                other: id.to_string(),
            });
        }
        let name = if id.is_state() { "archive-state" } else { "archive" };
        Ok(self.directory().join(name))
    }

    /// Makes an archive's file (0600), open for reading and writing.
    ///
    /// # Errors
    /// [`StoreError::WrongDraft`]; [`StoreError::Create`], also when it was made already.
    pub fn archive_file(&self, id: &ArchiveId) -> Result<File, StoreError> {
        let path = self.archive_path(id)?;
        let _kept = self.layout.enter()?;
        durable::create(&path)
    }

    /// Syncs an archive and moves it to `archives/`.
    ///
    /// # Errors
    /// [`StoreError::WrongDraft`]; [`StoreError::Io`].
    pub fn publish_archive(&self, id: &ArchiveId) -> Result<(), StoreError> {
        let path = self.archive_path(id)?;
        let _kept = self.layout.enter()?;
        // Said before it is done: when the sync after the rename fails, the archive must go all the same.
        if !self.archived.swap(true, Ordering::Relaxed) {
            // After a power loss an archive without a record goes only with the draft of its letters.
            durable::sync_parent(&self.directory())?;
        }
        durable::publish(&path, &self.layout.archive(id))
    }

    /// Writes the record and makes the snapshot visible. Returns the digest of the record's bytes, for its receipt. The draft must
    /// stay until the receipt is written: if this process dies, the next one that finds the draft writes it.
    ///
    /// The catalog takes it in together with its receipt, or when it is asked before that.
    ///
    /// # Errors
    /// [`StoreError::WrongDraft`] for the record of another snapshot, [`StoreError::NoArchive`] when an
    /// archive that it names is not in the store, [`StoreError::Damaged`] for a record that no reader would
    /// take, [`StoreError::Io`].
    pub fn publish(&self, record: &SnapshotRecord) -> Result<Digest, StoreError> {
        if record.id != self.id {
            return Err(StoreError::WrongDraft {
                draft: self.id.clone(),
                other: record.id.to_string(),
            });
        }
        let _kept = self.layout.enter()?;
        let path = self.layout.record(&self.id);
        record::check(record, &self.id).map_err(|why| StoreError::Damaged {
            path: path.clone(),
            why,
        })?;
        // Right before the record appears. The process that writes a draft shares the store, so no prune takes an archive
        // away after this look.
        for needed in &record.archives {
            if !durable::is_there(&self.layout.archive(&needed.id))? {
                return Err(StoreError::NoArchive {
                    id: self.id.clone(),
                    archive: needed.id.clone(),
                });
            }
        }
        let bytes = serde_json::to_vec(record)
            .map_err(|why| StoreError::io("write", &path)(io::Error::other(why)))?;
        let written = self.directory().join("record");
        durable::write(&written, &[&bytes])?;
        self.shown.store(true, Ordering::Relaxed);
        durable::publish(&written, &path)?;
        // The record first: what the catalog has must already be on disk, or a power loss would leave it ahead of the store.
        self.catalog.defer_record(record);
        Ok(Digest::of(&bytes))
    }
}

impl Draft {
    /// Leaves the archives in place when the draft is dropped.
    pub(super) fn leave_archives(&self) {
        self.archived.store(false, Ordering::Relaxed);
    }

    /// Removes the archives of a snapshot that is not there. If its record was visible for a moment, a concurrent capture may rely on
    /// them.
    fn remove_archives(&self) -> Result<(), StoreError> {
        match self.shown.load(Ordering::Relaxed) {
            true => withdraw(&self.layout, &self.id),
            false => remove_archives(&self.layout, &self.id),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next command that writes, which knows it by the directory.
        let Ok(_kept) = self.layout.enter() else { return };
        if self.archived.load(Ordering::Relaxed) {
            // From its record on the snapshot exists, whatever failed afterwards. Where that is unknown the archives stay,
            // and the draft with them, so that the next sweep decides.
            match durable::is_there(&self.layout.record(&self.id)) {
                Ok(true) => {}
                Ok(false) if self.remove_archives().is_ok() => {}
                _ => return,
            }
        }
        let Ok(making) = lock::wait(&self.layout, DRAFTS) else {
            return;
        };
        if let Some(lock) = self.lock.take() {
            let _ = remove_directory(&self.layout, &self.id, lock, &making);
        }
    }
}

/// Removes the directory of a draft, whose lock the caller holds.
///
/// The lock is closed first: an open file may keep the directory. `_making` is the lock `drafts`: until the directory is gone no other
/// process takes the lock again.
fn remove_directory(
    layout: &Layout,
    id: &SnapshotId,
    lock: LockGuard,
    _making: &LockGuard,
) -> Result<(), StoreError> {
    drop(lock);
    durable::remove_directory(&layout.draft(id))
}

/// Returns true if it is certain that nothing exists at `path`.
fn is_missing(path: &Path) -> bool {
    matches!(durable::is_there(path), Ok(false))
}

/// Withdraws a published snapshot that has no receipt: its record, and its archive, unless a record needs that, or a concurrent
/// capture may come to need it.
pub(super) fn withdraw(layout: &Layout, id: &SnapshotId) -> Result<(), StoreError> {
    let _making = lock::wait(layout, DRAFTS)?;
    durable::remove(&layout.record(id))?;
    for name in directory::names(&layout.drafts())? {
        // Its own is held until its receipt is there.
        if name == id.as_str() {
            continue;
        }
        if lock::is_taken(&layout.drafts().join(name).join("lock"))? {
            return Ok(());
        }
    }
    remove_archives(layout, id)
}

/// Removes the archives of a snapshot that is not there, unless a record needs them. Before one goes it must be on disk that the
/// snapshot's own record is gone.
fn remove_archives(layout: &Layout, id: &SnapshotId) -> Result<(), StoreError> {
    for archive in id.archives() {
        let path = layout.archive(&archive);
        if !durable::is_there(&path)? || record::any_needs(layout, &archive)? {
            continue;
        }
        durable::sync_parent(&layout.record(id))?;
        durable::remove(&path)?;
    }
    Ok(())
}

/// Writes the receipt of an existing snapshot, if its own process may have died before it did.
pub(super) type Tell<'a> = &'a dyn Fn(&SnapshotId) -> Result<(), StoreError>;

/// Removes the drafts whose processes are gone, each with its archive when no record names that. Returns what
/// could not be removed; that is no reason to refuse work.
pub(super) fn sweep(layout: &Layout, tell: Tell<'_>) -> Vec<StoreError> {
    match sweep_all(layout, tell) {
        Ok(failed) => failed,
        Err(error) => vec![error],
    }
}

fn sweep_all(layout: &Layout, tell: Tell<'_>) -> Result<Vec<StoreError>, StoreError> {
    let directory = layout.drafts();
    let mut failed = Vec::new();
    for name in directory::names(&directory)? {
        let is_dir = |stat: handle_fs::Stat| stat.kind == handle_fs::NodeKind::Directory;
        if !matches!(handle_fs::stat_path(&directory.join(&name)), Ok(Some(stat)) if is_dir(stat)) {
            continue;
        }
        if let Some(id) = name.to_str().and_then(|name| SnapshotId::parse(name).ok()) {
            failed.extend(sweep_one(layout, &id, tell).err());
        }
    }
    Ok(failed)
}

fn sweep_one(layout: &Layout, id: &SnapshotId, tell: Tell<'_>) -> Result<(), StoreError> {
    let directory = layout.draft(id);
    let mut making = lock::wait(layout, DRAFTS)?;
    // Held to the end, also while `drafts` is not: no other process sweeps this draft or writes its receipt meanwhile.
    let dead = match lock::draft(layout, directory.join("lock")) {
        Ok(Some(lock)) => lock,
        Ok(None) => return Ok(()),
        // Its own process removed it in this moment.
        Err(_) if is_missing(&directory) => return Ok(()),
        Err(error) => return Err(error),
    };
    // A chain that is broken, or a record that cannot be read, is named by those who look at it; the draft waits until then.
    if durable::is_there(&layout.record(id))? {
        // Who tells waits for the chain, and who holds that may wait for drafts.
        drop(making);
        if tell(id).is_err() {
            return Ok(());
        }
        making = lock::wait(layout, DRAFTS)?;
    }
    // The draft goes last: as long as it lies there the archive is known to be in question.
    remove_archives(layout, id)?;
    remove_directory(layout, id, dead, &making)
}
