//! The moves of one mount under way: their objects, and how far each move came.

use std::io;

use super::RestoreError;
use super::holding_dir::HoldingDir;
use super::move_state::{Other, Progress, progress};
use super::problem::Problem;
use super::slot::{Slot, seat};
use super::stage::Stage;
use super::staging_cleanup::OwnedInodes;
use crate::capture::is_gone;
use crate::model::{JournalMount, JournalMove, Manifest, RelPath};
use crate::observer::Observer;
use handle_fs::Root;
use handle_fs::Stat;

/// The moves of one mount under way.
pub(super) struct MoveExecutor<'a> {
    /// None when the root did not exist and comes back as a whole.
    pub(super) root: Option<&'a Root>,
    pub(super) stage: &'a Stage,
    /// Holding directories of the excluded directories that are set aside.
    pub(super) berths: &'a [HoldingDir],
    pub(super) mount: &'a JournalMount,
    /// The mount root on the host, for messages and for a root that is missing.
    pub(super) host: std::path::PathBuf,
    /// Manifest of the emergency snapshot.
    pub(super) before: Option<&'a Manifest>,
    pub(super) observer: &'a dyn Observer,
    /// True if a process that died began the restore.
    pub(super) again: bool,
    /// Objects that the staging directory may hold.
    pub(super) known: &'a OwnedInodes,
    /// Paths that could not be changed, with the reason.
    pub(super) failed: Vec<(RelPath, Problem)>,
    /// Some path was missing for a moment, because the file system cannot exchange.
    pub(super) in_steps: bool,
}

/// A move as it stands.
pub(super) struct Stand {
    /// None when the directory that its path lies in is gone.
    pub(super) seat: Option<Slot>,
    /// Object at its path; `None` if there is none.
    pub(super) live: Option<Stat>,
    pub(super) progress: Progress,
}

impl MoveExecutor<'_> {
    pub(super) fn seat(&self, step: &JournalMove) -> io::Result<Slot> {
        seat(step, self.root, &self.host)
    }

    pub(super) fn other(&self, step: &JournalMove) -> Other<'_> {
        Other::of(step, self.stage, self.berths)
    }

    pub(super) fn progress(&self, step: &JournalMove) -> Result<Progress, RestoreError> {
        Ok(self.stand(step)?.progress)
    }

    pub(super) fn stand(&self, step: &JournalMove) -> Result<Stand, RestoreError> {
        let look = || -> io::Result<Stand> {
            let seat = match self.seat(step) {
                // The directory it lies in may have been removed by a later move.
                Err(error) if is_gone(&error) => None,
                other => Some(other?),
            };
            let live = seat.as_ref().map_or(Ok(None), Slot::look)?;
            let progress = progress(step, live, &self.other(step))?;
            Ok(Stand { seat, live, progress })
        };
        look().map_err(|_| self.drift(&step.path))
    }

    pub(super) fn drift(&self, path: &RelPath) -> RestoreError {
        RestoreError::Drift {
            path: path.on_host(&self.host),
        }
    }

    /// Makes durable what was moved.
    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        handle_fs::sync_file_system(self.stage.dir()).map_err(|source| RestoreError::Apply {
            path: self.host.clone(),
            source,
        })
    }
}
