//! Staging of an import from the replica of another store: archives wait beside the store's own until their snapshots are stored,
//! so that an interrupted import continues where it was. Also the local state of an incoming snapshot.

use std::path::PathBuf;

use super::lock::LockGuard;
use super::{LockedObject, Store, StoreError, directory, durable, lock};
use crate::model::{ArchiveId, ArchiveRef, SnapshotId, StoreId};
use handle_fs::File;

/// Local state of an incoming snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The store does not know it.
    Unknown,
    /// The store has it, or a receipt records it.
    Here,
    /// The store had it, and it was pruned.
    GivenUp,
}

/// An archive that is being received.
#[derive(Debug)]
pub struct IncomingArchive<'s> {
    store: &'s Store,
    file: File,
    at: u64,
    part: PathBuf,
    path: PathBuf,
}

impl IncomingArchive<'_> {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let _kept = self.store.layout().enter()?;
        self.file
            .write_all_at(bytes, self.at)
            .map_err(StoreError::io("write", &self.part))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Publishes the complete archive and returns its path.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn finish(self) -> Result<PathBuf, StoreError> {
        let _kept = self.store.layout().enter()?;
        durable::publish(&self.part, &self.path)?;
        Ok(self.path)
    }
}

fn lock_name(from: &StoreId) -> String {
    format!("incoming-{from}")
}

impl Store {
    /// Returns the local state of an incoming snapshot.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Catalog`].
    pub fn standing(&self, id: &SnapshotId) -> Result<Standing, StoreError> {
        let _kept = self.layout().enter()?;
        if self.catalog().pruned()?.contains(id) {
            return Ok(Standing::GivenUp);
        }
        let told = self.catalog().recorded(id)?.digest.is_some();
        Ok(match told || durable::is_there(&self.layout().record(id))? {
            true => Standing::Here,
            false => Standing::Unknown,
        })
    }

    /// Locks the import from the replica of `from`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another one does; [`StoreError::Io`].
    pub fn lock_incoming(&self, from: &StoreId) -> Result<LockGuard, StoreError> {
        let _kept = self.layout().enter()?;
        self.must_be_writable()?;
        let name = lock_name(from);
        lock::fork(self.layout(), &name)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::File(self.layout().lock(&name)),
        })
    }

    /// Returns the stores of which archives lie here: an import is under way, or was killed.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(super) fn incoming_stores(&self) -> Result<Vec<StoreId>, StoreError> {
        let names = directory::names(&self.layout().all_incoming())?;
        let ids = names
            .iter()
            .filter_map(|name| StoreId::parse(name.to_str()?).ok());
        Ok(ids.collect())
    }

    /// An archive that came before; `None` when it did not. Nothing says yet that it is whole.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn received(&self, from: &StoreId, named: &ArchiveRef) -> Result<Option<PathBuf>, StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.place_of(from, &named.id);
        Ok(durable::is_there(&path)?.then_some(path))
    }

    /// Begins to receive an archive.
    ///
    /// # Errors
    /// [`StoreError::Create`], [`StoreError::Io`].
    pub fn receive(&self, from: &StoreId, named: &ArchiveRef) -> Result<IncomingArchive<'_>, StoreError> {
        self.must_be_writable()?;
        let _kept = self.layout().enter()?;
        let directory = self.layout().incoming(from);
        if let Some(above) = directory.parent() {
            directory::make(above)?;
        }
        directory::make(&directory)?;
        let path = self.place_of(from, &named.id);
        let part = path.with_extension("part");
        // One that was cut short begins anew.
        durable::remove(&part)?;
        Ok(IncomingArchive {
            store: self,
            file: durable::create(&part)?,
            at: 0,
            part,
            path,
        })
    }

    /// Removes an archive that came: its snapshots are stored, or it is not what it should be.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_received(&self, from: &StoreId, id: &ArchiveId) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        durable::remove(&self.place_of(from, id))
    }

    /// Removes all that came.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_incoming(&self, from: &StoreId) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        let directory = self.layout().incoming(from);
        if !durable::is_there(&directory)? {
            return Ok(());
        }
        handle_fs::remove_tree_at(&directory).map_err(StoreError::io("remove", &directory))?;
        if let Some(above) = directory.parent() {
            // Another store may be on its way.
            let _ = handle_fs::remove_dir_at(above);
        }
        Ok(())
    }

    /// Returns the bytes that imports left which did not end and are not under way.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn unfinished_imports(&self) -> Result<u64, StoreError> {
        let _kept = self.layout().enter()?;
        let mut bytes = 0;
        for from in self.incoming_stores()? {
            if !lock::is_taken(&self.layout().lock(&lock_name(&from)))? {
                bytes += self.incoming_bytes(&from)?;
            }
        }
        Ok(bytes)
    }

    /// Removes what imports left which did not end and are not under way, and returns its bytes. It can be imported again.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn drop_unfinished_imports(&self) -> Result<u64, StoreError> {
        let _kept = self.layout().enter()?;
        let mut bytes = 0;
        for from in self.incoming_stores()? {
            match self.lock_incoming(&from) {
                Err(StoreError::Locked { .. }) => {}
                Err(error) => return Err(error),
                Ok(_alone) => {
                    let left = self.incoming_bytes(&from)?;
                    self.forget_incoming(&from)?;
                    bytes += left;
                }
            }
        }
        Ok(bytes)
    }

    fn incoming_bytes(&self, from: &StoreId) -> Result<u64, StoreError> {
        let directory = self.layout().incoming(from);
        let mut bytes = 0;
        for name in directory::names(&directory)? {
            let path = directory.join(name);
            let stat = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
            bytes += stat.map_or(0, |stat| stat.size);
        }
        Ok(bytes)
    }

    fn place_of(&self, from: &StoreId, id: &ArchiveId) -> PathBuf {
        self.layout().incoming(from).join(format!("{id}.tar.zst"))
    }
}
