//! When a machine elsewhere was last asked in vain for what was frozen there, so that not every command waits for it; and how what can
//! never be reached again is forgotten.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::draft::DRAFTS;
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
    /// When what was frozen for a capture was last asked for in vain; what cannot be read says nothing.
    #[must_use]
    pub fn natives_tried(&self, id: &SnapshotId) -> Option<Time> {
        let directory = self.layout().native(id);
        let tried: Option<Tried> = codec::read(&directory, TRIED).ok()?;
        tried.map(|tried| tried.at)
    }

    /// Writes down that it was. Without that the next command asks again, which is no harm.
    pub fn note_natives_tried(&self, id: &SnapshotId, at: Time) {
        let Ok(_kept) = self.layout().enter() else { return };
        let _ = codec::write(&self.layout().native(id), TRIED, &Tried { at });
    }
}

impl FsSnapshotRegistry {
    /// Forgets them without removing them: what they lie in is gone for good.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget(self) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        let _making = lock::wait(&self.layout, DRAFTS)?;
        clear(&self.directory)
    }
}
