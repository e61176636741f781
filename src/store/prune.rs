//! Deletes snapshots, and then everything that nothing needs any more. The receipt comes first: from then on a snapshot is not
//! listed, whatever is left of it. Archives go last, and only if every remaining record was read.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::catalog::Catalog;
use super::lock::{LockGuard, Patience};
use super::{
    FsSnapshotRegistry, Layout, Store, StoreError, archive_redirects, directory, durable, lock, record,
};
use crate::model::{ArchiveId, ArchiveRef, Operation, PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;

/// A store whose archives no other process reads, so that they may be removed.
#[derive(Debug)]
pub struct Sole<'s> {
    pub(super) store: &'s Store,
    _lock: LockGuard,
}

/// Result of a cleanup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of removed archives, which nothing needed.
    pub archives: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records that are unreadable or lost: they may need any archive, so none was removed.
    pub unreadable: Vec<SnapshotId>,
    /// Snapshots of file systems that nothing needs and that could not be removed, with the reason.
    pub natives: Vec<String>,
}

impl Store {
    /// Locks the whole store, so that archives may be removed. The catalog then has every receipt that was written until now.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process shares it; [`StoreError::ReadOnly`]; [`StoreError::Chain`],
    /// [`StoreError::Catalog`] or [`StoreError::Io`] if the catalog cannot follow.
    pub fn exclusive(&self, patience: Patience) -> Result<Sole<'_>, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let sole = Sole {
            store: self,
            _lock: lock::exclusive(&self.layout, patience)?,
        };
        // A process whose write to the catalog failed, or that was killed before it, has pinned, pruned or forgotten nevertheless. The
        // caller decides what to delete by the catalog's answers.
        sole.catch_up()?;
        Ok(sole)
    }
}

impl Sole<'_> {
    /// Records that snapshots are pruned: when this returns they are not listed any more. `bytes` is the space that this will free.
    ///
    /// # Errors
    /// As [`Store::append`]; then all of them are as they were.
    pub fn give_up(
        &self,
        (at, uid): (Time, u32),
        automatic: bool,
        snapshots: Vec<PrunedSnapshot>,
        bytes: u64,
    ) -> Result<u64, StoreError> {
        let act = Operation::Prune {
            automatic,
            snapshots,
            bytes,
        };
        Ok(self.store.append(at, uid, None, act)?.number)
    }

    /// Removes the records of pruned snapshots, and returns their bytes. May be repeated at any time.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget(&self, observer: &dyn Observer) -> Result<u64, StoreError> {
        let layout = self.store.layout();
        let _kept = layout.enter()?;
        let bytes = forget(layout, &self.store.catalog)?;
        observer.reached("prune-records");
        Ok(bytes)
    }

    /// Removes archives that no record needs, and redirects that no record uses. Call it after [`Sole::forget`]. May be repeated at
    /// any time.
    ///
    /// # Errors
    /// [`StoreError::Io`]; what was removed until then was not needed.
    pub fn sweep(&self, observer: &dyn Observer) -> Result<Swept, StoreError> {
        let layout = self.store.layout();
        let _kept = layout.enter()?;
        let mut swept = Swept::default();
        self.catch_up()?;
        self.remove_forgotten(observer)?;
        self.store.remove_idle_contracts()?;
        let needs = Needs::of(self.store)?;
        swept.unreadable = needs.unreadable.clone();
        if !swept.unreadable.is_empty() {
            return Ok(swept);
        }
        // Names first: one that is killed here leaves archives that nothing needs, and those are counted.
        needs.drop_names(layout)?;
        for id in needs.idle(layout)? {
            let path = layout.archive(&id);
            swept.bytes += size_of(&path)?;
            swept.archives += 1;
            remove(&path)?;
            observer.reached("prune-archive");
        }
        durable::sync_parent(&layout.archives().join("any"))?;
        Ok(swept)
    }
}

impl Store {
    /// Removes the file-system snapshots of pruned snapshots, and returns the errors of those that stay, which remain recorded.
    /// This may take a while, and other processes use the store meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Catalog`], [`StoreError::Io`].
    pub fn drop_natives(&self, observer: &dyn Observer) -> Result<Vec<String>, StoreError> {
        let pruned = self.catalog.pruned()?;
        let mut stay = Vec::new();
        for state in self.natives()? {
            if state.is_alive || !pruned.contains(&state.id) {
                continue;
            }
            let removed = self.take_up_natives(&state.id);
            let removed = removed.and_then(|natives| natives.map_or(Ok(()), FsSnapshotRegistry::remove));
            stay.extend(removed.err().map(|error| error.to_string()));
            observer.reached("prune-native");
        }
        Ok(stay)
    }
}

/// Removes the records of pruned snapshots, durably, and returns their bytes. Archives must not be removed before.
pub(super) fn forget(layout: &Layout, catalog: &Catalog) -> Result<u64, StoreError> {
    let gone = left_over(layout, catalog)?;
    let mut bytes = 0;
    for id in &gone {
        let path = layout.record(id);
        bytes += size_of(&path)?;
        remove(&path)?;
    }
    // One sync for all of them. Until then a power loss may bring a record back, which the receipt keeps hidden. Archives go
    // only after it.
    if !gone.is_empty() {
        durable::sync_parent(&layout.snapshots().join("any"))?;
    }
    Ok(bytes)
}

/// Returns the pruned snapshots whose records still exist.
pub(super) fn left_over(layout: &Layout, catalog: &Catalog) -> Result<HashSet<SnapshotId>, StoreError> {
    let listed = catalog.applied_records()?;
    let mut left: HashSet<SnapshotId> = record::ids(layout)?
        .into_iter()
        .filter(|id| listed.binary_search(id).is_err())
        .collect();
    // There are few that are not listed, and many that were given up.
    if !left.is_empty() {
        let pruned = catalog.pruned()?;
        left.retain(|id| pruned.contains(id));
    }
    Ok(left)
}

/// Returns the archives with the letters of a draft. What is being written has no name that leads to it yet, and its draft says
/// that it is in question.
pub(super) fn drafted(layout: &Layout) -> Result<HashSet<ArchiveId>, StoreError> {
    let mut drafted = HashSet::new();
    for name in directory::names(&layout.drafts())? {
        let id = name.to_str().and_then(|name| SnapshotId::parse(name).ok());
        drafted.extend(id.iter().flat_map(SnapshotId::archives));
    }
    Ok(drafted)
}

pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match handle_fs::remove_file_at(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

fn size_of(path: &Path) -> Result<u64, StoreError> {
    let stat = handle_fs::stat_path(path).map_err(StoreError::io("look at", path))?;
    Ok(stat.map_or(0, |stat| stat.size))
}

/// Archives that the records need.
pub(super) struct Needs {
    /// Archives that hold the needed content.
    archives: HashSet<ArchiveId>,
    /// Ids that records name, and those of the redirects that lead from there.
    names: HashSet<ArchiveId>,
    /// Archives that hold needed content and are not there.
    missing: HashSet<ArchiveId>,
    /// Replacement of each archive that was repacked; `None` if its redirect is unreadable.
    moved: HashMap<ArchiveId, Option<ArchiveRef>>,
    pub(super) unreadable: Vec<SnapshotId>,
}

/// Archives that a copy of the store elsewhere must keep.
#[derive(Clone, Debug, Default)]
pub struct ArchiveNeeds {
    /// Archives that are there.
    pub archives: HashSet<ArchiveId>,
    /// Archives that a record names and that are not there. A receipt may say that they were rewritten.
    pub missing: HashSet<ArchiveId>,
    /// True if a record cannot be read or is lost: it may need other archives as well.
    pub is_vague: bool,
}

impl Store {
    /// Returns the archives that a copy of the store elsewhere must keep: one that is missing here may only be there.
    ///
    /// # Errors
    /// [`StoreError::Catalog`], [`StoreError::Io`].
    pub fn archive_needs(&self) -> Result<ArchiveNeeds, StoreError> {
        let _kept = self.layout().enter()?;
        let needs = Needs::of(self)?;
        let there = self.archive_ids()?.into_iter();
        Ok(ArchiveNeeds {
            archives: there.chain(needs.archives).collect(),
            missing: needs.missing,
            is_vague: !needs.unreadable.is_empty(),
        })
    }
}

impl Needs {
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        let layout = store.layout();
        let mut needs = Self {
            archives: HashSet::new(),
            names: HashSet::new(),
            missing: HashSet::new(),
            moved: archive_redirects::all(layout)?,
            unreadable: Vec::new(),
        };
        for id in record::ids(layout)? {
            // What its receipt says of it is asked as well: a record that was changed may name other archives.
            let known = store.catalog.recorded(&id)?;
            let Ok(mut record) = record::read(layout, &id, known.digest) else {
                needs.unreadable.push(id);
                continue;
            };
            store.amend(&mut record, known)?;
            for wanted in &record.archives {
                needs.follow(layout, &id, wanted)?;
            }
        }
        // A lost record may be restored, and its needs are unknown.
        let there: HashSet<SnapshotId> = record::ids(layout)?.into_iter().collect();
        let lost = store.catalog.unlisted()?;
        needs
            .unreadable
            .extend(lost.into_iter().filter(|id| !there.contains(id)));
        Ok(needs)
    }

    fn follow(&mut self, layout: &Layout, id: &SnapshotId, wanted: &ArchiveRef) -> Result<(), StoreError> {
        let mut at = wanted.id.clone();
        // One that is there already was followed.
        while self.names.insert(at.clone()) {
            if durable::is_there(&layout.archive(&at))? {
                self.archives.insert(at);
                return Ok(());
            }
            match self.moved.get(&at) {
                Some(Some(into)) => at = into.id.clone(),
                // A name that cannot be read may stand for any archive.
                Some(None) => {
                    self.unreadable.push(id.clone());
                    return Ok(());
                }
                None => {
                    self.missing.insert(at);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns true if a record names the archive, or a redirect that a record uses leads to it.
    pub(super) fn names_archive(&self, id: &ArchiveId) -> bool {
        self.names.contains(id)
    }

    /// The archives that nothing needs.
    pub(super) fn idle(&self, layout: &Layout) -> Result<Vec<ArchiveId>, StoreError> {
        let drafted = drafted(layout)?;
        let mut idle = Vec::new();
        for name in directory::names(&layout.archives())? {
            let id = name.to_str().and_then(|name| name.strip_suffix(".tar.zst"));
            let Some(id) = id.and_then(|id| ArchiveId::parse(id).ok()) else {
                continue;
            };
            if !self.archives.contains(&id) && !drafted.contains(&id) {
                idle.push(id);
            }
        }
        Ok(idle)
    }

    /// Removes redirects that no record uses, and those of archives that still exist: the repack that was to replace one was
    /// killed, and captures may rely on it again.
    fn drop_names(&self, layout: &Layout) -> Result<(), StoreError> {
        for id in self.moved.keys() {
            if !self.names.contains(id) || durable::is_there(&layout.archive(id))? {
                remove(&layout.moved(id))?;
            }
        }
        Ok(())
    }
}
