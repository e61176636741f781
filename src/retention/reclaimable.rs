//! Archives that each snapshot needs, and the space that is freed with the last of them: the archive, and the records.

use std::collections::{HashMap, HashSet};

use crate::model::{ArchiveId, Digest, MountRecord, SnapshotId, SnapshotRecord};
use crate::store::{Store, StoreError};

/// Sizes of archives and records, and the snapshots that need them.
#[derive(Clone)]
pub(super) struct Weights {
    /// Size of the store.
    pub(super) size: Size,
    /// Bytes of archives that nothing needs.
    pub(super) idle: u64,
    /// Bytes of archives and records that nothing needs after the calls of [`Self::take`] so far.
    pub(super) freed: u64,
    /// Records that cannot be read.
    pub(super) unreadable: Vec<SnapshotId>,
    needs: HashMap<SnapshotId, Vec<ArchiveId>>,
    /// Number of snapshots that need each archive, and its size in bytes.
    users: HashMap<ArchiveId, (u64, u64)>,
    records: HashMap<SnapshotId, u64>,
    /// Manifests and private contents of each snapshot: whatever it needs follows from these.
    contents: HashMap<SnapshotId, Vec<Digest>>,
}

/// Size of a store, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Archives.
    pub archives: u64,
    /// Records of snapshots.
    pub records: u64,
    /// Receipts and catalog, which are never deleted.
    pub lasting: u64,
}

impl Size {
    /// Measures the store, given its archives with their sizes.
    pub(super) fn of(store: &Store, archives: &[(ArchiveId, u64)]) -> Result<Self, StoreError> {
        let (archives, records) = (archives.iter(), store.record_sizes()?);
        Self::sum(
            store,
            archives.map(|(_, size)| size),
            records.iter().map(|(_, size)| size),
        )
    }

    fn sum<'s>(
        store: &Store,
        archives: impl Iterator<Item = &'s u64>,
        records: impl Iterator<Item = &'s u64>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            archives: archives.sum(),
            records: records.sum(),
            lasting: store.lasting_bytes()?,
        })
    }

    /// Returns the sum of all parts.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.archives + self.records + self.lasting
    }
}

impl Weights {
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        let sizes: HashMap<ArchiveId, u64> = store.archive_sizes()?.into_iter().collect();
        let records: HashMap<SnapshotId, u64> = store.record_sizes()?.into_iter().collect();
        let mut weights = Self {
            size: Size::sum(store, sizes.values(), records.values())?,
            idle: 0,
            freed: 0,
            unreadable: Vec::new(),
            needs: HashMap::new(),
            users: HashMap::new(),
            records,
            contents: HashMap::new(),
        };
        for id in store.record_ids()? {
            let record = match store.record(&id) {
                Ok(record) => record,
                Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => continue,
                Err(_) => {
                    weights.unreadable.push(id);
                    continue;
                }
            };
            weights.contents.insert(id.clone(), contents(&record));
            let needs: Vec<ArchiveId> = record.archives.into_iter().map(|archive| archive.id).collect();
            for archive in &needs {
                let size = sizes.get(archive).copied().unwrap_or_default();
                weights.users.entry(archive.clone()).or_insert((0, size)).0 += 1;
            }
            weights.needs.insert(id, needs);
        }
        // A lost record may be restored, and needs what it needed.
        let lost = store.catalog().unlisted()?;
        let is_new = |id: &SnapshotId| !weights.unreadable.contains(id) && !weights.needs.contains_key(id);
        let lost: Vec<SnapshotId> = lost.into_iter().filter(is_new).collect();
        weights.unreadable.extend(lost);
        let idle = sizes.iter().filter(|(id, _)| !weights.users.contains_key(id));
        weights.idle = idle.map(|(_, size)| size).sum();
        Ok(weights)
    }

    /// Returns true if no other snapshot may need some content of `gone`, so that archives which stay may hold content that nothing needs.
    pub(super) fn have_content_of_their_own(&self, gone: &HashSet<SnapshotId>) -> bool {
        let (gone, stay): (Vec<_>, Vec<_>) = self.contents.iter().partition(|(id, _)| gone.contains(id));
        let needed: HashSet<&Digest> = stay.into_iter().flat_map(|(_, contents)| contents).collect();
        let mut contents = gone.into_iter().flat_map(|(_, contents)| contents);
        contents.any(|digest| !needed.contains(digest))
    }

    /// Returns the bytes that these snapshots added to the store: their records, and archives that no other snapshot needs.
    pub(super) fn added_by<'s>(&self, ids: impl Iterator<Item = &'s SnapshotId>) -> u64 {
        let mut alone = self.clone();
        ids.map(|id| alone.take(Some(id))).sum()
    }

    /// Removes a snapshot and returns the bytes that nothing needs any more without it.
    pub(super) fn take(&mut self, id: Option<&SnapshotId>) -> u64 {
        let mut bytes = 0;
        for archive in id.and_then(|id| self.needs.remove(id)).unwrap_or_default() {
            if let Some((users, size)) = self.users.get_mut(&archive) {
                *users -= 1;
                bytes += if *users == 0 { *size } else { 0 };
            }
        }
        if !self.unreadable.is_empty() {
            bytes = 0;
        }
        bytes += id.and_then(|id| self.records.remove(id)).unwrap_or_default();
        self.freed += bytes;
        bytes
    }
}

fn contents(record: &SnapshotRecord) -> Vec<Digest> {
    let of_mount = |mount: &MountRecord| {
        let private = mount.private().map(|content| content.digest);
        mount.manifest.into_iter().chain(private).collect::<Vec<_>>()
    };
    record.mounts.iter().flat_map(of_mount).collect()
}
