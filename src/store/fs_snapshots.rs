//! File-system snapshots that captures read. Each capture has a directory `native/<id>/` with an intent that names all of them,
//! written before any is created. A removal removes what the intent names, and the intent last.

mod backoff;
mod handle;
mod list;
mod names;
mod validate;

use std::io;
use std::path::{Path, PathBuf};

use super::journal_paths::Paper;
use super::lock::{self, LockGuard};
use super::restore_journal::codec;
use super::{DRAFTS, Layout, LockedObject, Store, StoreError, directory, durable};
use crate::environment::SnapshotPrograms;
use crate::model::{FsSnapshotIntent, NativePlace, SnapshotId};
use crate::observer::Observer;
use crate::process::Freezer;
use handle_fs::NativeKind;

pub use list::NativeFact;
pub(super) use list::{facts, sweep};
pub(super) use names::is_called_ours;
pub use names::{dataset_snapshot, letters_of, volume_snapshot};

const PAPER: &str = "paper";
const MADE: &str = "made";
const LOCK: &str = "lock";

/// The file-system snapshots of one capture, locked by the process that works with them.
#[derive(Debug)]
pub struct FsSnapshotRegistry {
    layout: Layout,
    directory: PathBuf,
    paper: FsSnapshotIntent,
    lock: LockGuard,
}

/// State of the file-system snapshots of one capture.
#[derive(Debug)]
pub struct NativeState {
    /// Id of the captured snapshot.
    pub id: SnapshotId,
    /// Intent of the capture, or the reason why it is unreadable.
    pub paper: Result<FsSnapshotIntent, StoreError>,
    /// True if all file-system snapshots were created.
    pub is_made: bool,
    /// True if the process that works with them is alive.
    pub is_alive: bool,
}

impl FsSnapshotRegistry {
    /// Returns the search for the programs that made them.
    #[must_use]
    pub fn programs(&self) -> &SnapshotPrograms {
        self.layout.snapshot_programs()
    }

    /// Returns the intent.
    #[must_use]
    pub fn paper(&self) -> &FsSnapshotIntent {
        &self.paper
    }

    /// Creates everything that the intent names. After an error, [`Self::remove`] removes what was created until then.
    ///
    /// # Errors
    /// [`StoreError::Native`].
    pub fn make(
        &self,
        mut freezer: impl FnMut(NativeKind) -> Option<Freezer>,
        observer: &dyn Observer,
    ) -> Result<(), StoreError> {
        observer.expect(self.paper.natives.len() as u64, 0);
        let mounts = self.mounts();
        for made in &self.paper.directories {
            let path = made.to_path();
            if !durable::make_directory(&path)? {
                let why = "something already exists there".to_owned();
                return Err(StoreError::Native { path, why });
            }
        }
        for native in &self.paper.natives {
            let kind = handle::kind_of(native);
            let freezer = freezer(kind).ok_or_else(|| kind.missing());
            let made = freezer.and_then(|freezer| handle::make(native, &freezer, observer));
            made.and_then(|()| {
                match handle::is_there(native, (self.layout.snapshot_programs(), &mounts), false)? {
                    true => Ok(()),
                    false => Err("it was made, and cannot be seen".to_owned()),
                }
            })
            .map_err(|why| failed(native, why))?;
            observer.advance(1, 0);
        }
        // Written last: after a kill, a capture is made from what is frozen only if nothing of it is missing.
        codec::write(&self.directory, MADE, &self.paper.id)
    }

    /// Waits until everything that the intent names can be read.
    ///
    /// # Errors
    /// [`StoreError::Native`].
    pub fn await_all(&self, observer: &dyn Observer) -> Result<(), StoreError> {
        let mounts = self.mounts();
        let mut natives = self.paper.natives.iter();
        natives.try_for_each(|native| {
            handle::await_readable(native, (self.layout.snapshot_programs(), &mounts), observer)
                .map_err(|why| failed(native, why))
        })
    }

    /// Returns true if everything that the intent names exists.
    ///
    /// # Errors
    /// [`StoreError::Native`] if that is unknown, for example because its file system is not mounted.
    pub fn are_there(&self) -> Result<bool, StoreError> {
        let mounts = self.mounts();
        for native in &self.paper.natives {
            if !handle::is_there(native, (self.layout.snapshot_programs(), &mounts), true)
                .map_err(|why| failed(native, why))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if all of them can be read now, without a wait.
    ///
    /// # Errors
    /// [`StoreError::Native`].
    pub fn are_readable(&self) -> Result<bool, StoreError> {
        let mounts = self.mounts();
        for native in &self.paper.natives {
            if !handle::is_readable(native, (self.layout.snapshot_programs(), &mounts))
                .map_err(|why| failed(native, why))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if all of them were created, and none was removed since.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn is_made(&self) -> Result<bool, StoreError> {
        durable::is_there(&self.directory.join(MADE))
    }

    /// Removes the snapshots of file systems, and then what is written down of them.
    ///
    /// # Errors
    /// [`StoreError::Native`] with the one that cannot be removed; it is still written down then.
    pub fn remove(self) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        let mounts = self.mounts();
        // What cannot be seen now stays as it is, for a time when it can.
        let was_made = self.is_made()?;
        for native in &self.paper.natives {
            handle::is_there(native, (self.layout.snapshot_programs(), &mounts), was_made)
                .map_err(|why| failed(native, why))?;
        }
        // From here on, the remaining ones no longer count as all of them.
        durable::remove(&self.directory.join(MADE))?;
        for native in &self.paper.natives {
            handle::remove(native, (self.layout.snapshot_programs(), &mounts))
                .map_err(|why| failed(native, why))?;
        }
        for made in &self.paper.directories {
            let path = made.to_path();
            match handle_fs::remove_dir_at(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", &path)(error));
                }
                _ => durable::sync_parent(&path)?,
            }
        }
        // `take_up_natives` looks for the directory and then opens the lock in it. It must not go between the two.
        let _making = lock::wait(&self.layout, DRAFTS)?;
        clear(&self.directory, Some(self.lock))
    }

    /// Returns the mount roots; no program below them is run.
    fn mounts(&self) -> Vec<PathBuf> {
        let mounts = self.paper.mounts.iter();
        mounts.map(|mount| mount.coverage.root.to_path()).collect()
    }
}

fn failed(native: &NativePlace, why: String) -> StoreError {
    StoreError::Native {
        path: native.directory(),
        why,
    }
}

/// Removes the files of a capture's snapshots. `lock` is their lock, if the caller holds that.
fn clear(directory: &Path, lock: Option<LockGuard>) -> Result<(), StoreError> {
    for name in [MADE, PAPER] {
        durable::remove(&directory.join(name))?;
    }
    // Closed first: an open file may keep the directory.
    drop(lock);
    durable::remove_directory(directory)?;
    durable::sync_parent(directory)
}

fn ids(layout: &Layout) -> Result<Vec<SnapshotId>, StoreError> {
    let mut ids = Vec::new();
    for name in directory::names(&layout.natives())? {
        ids.extend(name.to_str().and_then(|name| SnapshotId::parse(name).ok()));
    }
    ids.sort();
    Ok(ids)
}

/// Reads the intent. An unusable one is reported as damage of the store.
fn read(directory: &Path) -> Result<Option<FsSnapshotIntent>, StoreError> {
    codec::read(directory, PAPER).map_err(|error| match error {
        StoreError::DamagedJournal { path, why, .. } => StoreError::Damaged { path, why },
        other => other,
    })
}

impl Store {
    /// Returns true if file-system snapshots may be created for this store.
    ///
    /// In another user's store, root acts with that user's rights, which are not sufficient.
    #[must_use]
    pub fn may_freeze(&self) -> bool {
        self.writable && !self.acts_for_another()
    }

    /// Returns true if root acts in another user's store.
    #[must_use]
    pub fn acts_for_another(&self) -> bool {
        self.layout.keeper().is_some()
    }

    /// Returns true if a snapshot has content in file-system snapshots. An unreadable record counts as yes, so that they are kept.
    #[must_use]
    pub fn keeps_natives(&self, id: &SnapshotId) -> bool {
        let record = self.record(id);
        record.map_or(true, |record| {
            record.mounts.iter().any(|mount| mount.native.is_some())
        })
    }

    /// Returns true if a snapshot was pruned.
    ///
    /// # Errors
    /// [`StoreError::Catalog`].
    pub fn is_given_up(&self, id: &SnapshotId) -> Result<bool, StoreError> {
        Ok(self.catalog.pruned()?.contains(id))
    }

    /// Returns the directory of a capture's file-system snapshots that are in the store.
    #[must_use]
    pub fn native_directory(&self, id: &SnapshotId) -> PathBuf {
        self.layout.native(id)
    }

    /// Writes down what is about to be made; it is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Create`]; [`StoreError::Io`].
    pub fn begin_natives(&self, paper: FsSnapshotIntent) -> Result<FsSnapshotRegistry, StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let directory = layout.native(&paper.id);
        let lock = {
            let _making = lock::wait(layout, DRAFTS)?;
            durable::make_directory(&layout.natives())?;
            directory::make(&layout.natives())?;
            if !durable::make_directory(&directory)? {
                return Err(StoreError::Exists { id: paper.id });
            }
            lock::draft(layout, directory.join(LOCK))?
        };
        let Some(lock) = lock else {
            return Err(StoreError::Locked {
                object: LockedObject::File(directory.join(LOCK)),
            });
        };
        let written = paper.check(&directory).map_err(|why| StoreError::Native {
            path: directory.clone(),
            why,
        });
        if let Err(error) = written.and_then(|()| codec::write(&directory, PAPER, &paper)) {
            let _making = lock::wait(layout, DRAFTS);
            let _ = clear(&directory, Some(lock));
            return Err(error);
        }
        Ok(FsSnapshotRegistry {
            layout: layout.clone(),
            directory,
            paper,
            lock,
        })
    }

    /// All that lies there. Makes nothing.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn natives(&self) -> Result<Vec<NativeState>, StoreError> {
        let _kept = self.layout().enter()?;
        let mut found = Vec::new();
        for id in ids(self.layout())? {
            let directory = self.layout().native(&id);
            let is_alive = lock::is_taken(&directory.join(LOCK))?;
            let is_made = durable::is_there(&directory.join(MADE))?;
            let paper = match read(&directory) {
                Ok(None) => continue,
                Ok(Some(paper)) => Ok(paper),
                Err(error) => Err(error),
            };
            found.push(NativeState {
                id,
                paper,
                is_made,
                is_alive,
            });
        }
        Ok(found)
    }

    /// Takes up what a process left that is gone; `None` when it lives, or nothing is there any more.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn take_up_natives(&self, id: &SnapshotId) -> Result<Option<FsSnapshotRegistry>, StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let _kept = layout.enter()?;
        let directory = layout.native(id);
        let making = lock::wait(layout, DRAFTS)?;
        if !durable::is_there(&directory)? {
            return Ok(None);
        }
        let Some(lock) = lock::draft(layout, directory.join(LOCK))? else {
            return Ok(None);
        };
        let Some(paper) = read(&directory)? else {
            // Its process died before it had written anything down, or when all was gone.
            clear(&directory, Some(lock))?;
            return Ok(None);
        };
        drop(making);
        Ok(Some(FsSnapshotRegistry {
            layout: layout.clone(),
            directory,
            paper,
            lock,
        }))
    }

    /// Waits until no process works with a capture's file-system snapshots. Returns false if `go_on` ended the wait.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn wait_for_natives(
        &self,
        id: &SnapshotId,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<bool, StoreError> {
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
        let lock = self.layout.native(id).join(LOCK);
        loop {
            let taken = {
                let _kept = self.layout.enter()?;
                lock::is_taken(&lock)?
            };
            if !taken {
                return Ok(true);
            }
            if !go_on() {
                return Ok(false);
            }
            handle_fs::pause(PAUSE);
        }
    }
}
