//! Which snapshots need which archives, and how much becomes free when the last of them goes.

use std::collections::HashMap;

use crate::snapshot::{ArchiveId, SnapshotId};
use crate::store::{Store, StoreError};

/// What archives weigh.
pub(super) struct Weights {
    /// Bytes of all archives.
    pub(super) size: u64,
    /// Bytes of those that nothing needs.
    pub(super) idle: u64,
    /// Bytes of those that nothing needs any more, since snapshots were taken away here.
    pub(super) freed: u64,
    /// Records that cannot be read.
    pub(super) unreadable: Vec<SnapshotId>,
    needs: HashMap<SnapshotId, Vec<ArchiveId>>,
    /// How many snapshots need an archive, and its size.
    users: HashMap<ArchiveId, (u64, u64)>,
}

impl Weights {
    pub(super) fn of(store: &Store) -> Result<Self, StoreError> {
        let sizes: HashMap<ArchiveId, u64> = store.archive_sizes()?.into_iter().collect();
        let mut weights = Self {
            size: sizes.values().sum(),
            idle: 0,
            freed: 0,
            unreadable: Vec::new(),
            needs: HashMap::new(),
            users: HashMap::new(),
        };
        for id in store.record_ids()? {
            let record = match store.record(&id) {
                Ok(record) => record,
                Err(StoreError::NoSnapshot { .. }) => continue,
                Err(_) => {
                    weights.unreadable.push(id);
                    continue;
                }
            };
            let needs: Vec<ArchiveId> = record.archives.into_iter().map(|archive| archive.id).collect();
            for archive in &needs {
                let size = sizes.get(archive).copied().unwrap_or_default();
                weights.users.entry(archive.clone()).or_insert((0, size)).0 += 1;
            }
            weights.needs.insert(id, needs);
        }
        let idle = sizes.iter().filter(|(id, _)| !weights.users.contains_key(id));
        weights.idle = idle.map(|(_, size)| size).sum();
        Ok(weights)
    }

    /// Takes a snapshot away, and says how much nothing needs any more because of that.
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
        self.freed += bytes;
        bytes
    }
}
