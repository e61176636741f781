//! Start times of looks that found nothing changed since a snapshot. The next look need not read a file that is older than such a look, also if
//! it changed shortly before the snapshot. No promise depends on them, so they are not synced, and one that cannot be read counts as missing.

use std::io::Write as _;

use serde::{Deserialize, Serialize};

use super::prune::remove;
use super::{Store, StoreError, directory, durable};
use crate::model::{SnapshotId, Time};

/// Version of the file.
const FORMAT: u32 = 1;
/// Largest file, in bytes.
const LARGEST: u64 = 1 << 20;

/// The newest look of each mount of a snapshot, in the order of its record.
#[derive(Serialize, Deserialize)]
struct Looks {
    format: u32,
    mounts: Vec<Option<Time>>,
}

impl Store {
    /// Records the start of a look at each mount that found it as it is in a snapshot; `None` for a mount that was not read as a whole.
    ///
    /// Without it the next look reads the same files again, so no failure is reported.
    pub fn note_unchanged(&self, snapshot: &SnapshotId, mounts: Vec<Option<Time>>) {
        if mounts.iter().any(Option::is_some) {
            let looks = Looks {
                format: FORMAT,
                mounts,
            };
            let _ = self.write_unchanged(snapshot, &looks);
        }
    }

    /// Returns the start of the look at a mount that [`Self::note_unchanged`] recorded last.
    #[must_use]
    pub fn unchanged_at(&self, snapshot: &SnapshotId, mount: usize) -> Option<Time> {
        let _kept = self.layout().enter().ok()?;
        let bytes = durable::read(&self.layout().unchanged(snapshot), LARGEST).ok()??;
        let looks: Looks = serde_json::from_slice(&bytes).ok()?;
        let known = (looks.format == FORMAT).then_some(looks.mounts)?;
        known.get(mount).copied().flatten()
    }

    fn write_unchanged(&self, snapshot: &SnapshotId, looks: &Looks) -> Result<(), StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        let path = layout.unchanged(snapshot);
        let bytes = serde_json::to_vec(looks).map_err(|why| StoreError::io("write", &path)(why.into()))?;
        durable::make_directory_unsynced(&layout.all_unchanged())?;
        // Those of deleted snapshots go.
        for name in directory::names(&layout.all_unchanged())? {
            let id = name
                .to_str()
                .and_then(|name| SnapshotId::parse(name.strip_suffix(".json")?).ok());
            if let Some(id) = id
                && (id == *snapshot || !durable::is_there(&layout.record(&id))?)
            {
                remove(&layout.unchanged(&id))?;
            }
        }
        let mut file = durable::create(&path)?;
        // In one piece: another process may read it at this moment.
        file.write_all(&bytes).map_err(StoreError::io("write", &path))
    }
}
