//! Time of the last failed request for a capture's file-system snapshots on another machine, so that not every command waits for
//! it; and the removal of intents whose snapshots can never be reached again.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::DRAFTS;
use super::super::journal_paths::Paper;
use super::super::lock;
use super::super::restore_journal::codec;
use super::{FsSnapshotRegistry, clear};
use crate::model::{SnapshotId, Time};
use crate::store::{Store, StoreError};

const TRIED: &str = "tried";

#[derive(Serialize, Deserialize)]
struct Tried {
    at: Time,
}

impl Paper for Tried {
    fn check(&self, _: &Path) -> Result<(), String> {
        Ok(())
    }
}

impl Store {
    /// Returns the time of the last failed request for a capture's snapshots; `None` if there is none, or it is unreadable.
    #[must_use]
    pub fn natives_tried(&self, id: &SnapshotId) -> Option<Time> {
        let directory = self.layout().native(id);
        let tried: Option<Tried> = codec::read(&directory, TRIED).ok()?;
        tried.map(|tried| tried.at)
    }

    /// Records a failed request. If this fails, the next command tries again, which does no harm.
    pub fn note_natives_tried(&self, id: &SnapshotId, at: Time) {
        let Ok(_kept) = self.layout().enter() else { return };
        let _ = codec::write(&self.layout().native(id), TRIED, &Tried { at });
    }
}

impl FsSnapshotRegistry {
    /// Forgets the snapshots without removing them, because their location is gone for good.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget(self) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        let _making = lock::wait(&self.layout, DRAFTS)?;
        clear(&self.directory, Some(self.lock))
    }
}
