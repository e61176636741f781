//! Interrupted restores, seen from a session: nothing begins or ends in the middle of one.

use std::path::PathBuf;

use super::{Services, SessionError};
use crate::model::Coverage;
use crate::restore::{Cleared, RestoreContext, clear_up, pending};
use crate::store::{RestoreStage, Store};

impl Services<'_> {
    /// Returns the context of a restore.
    #[must_use]
    pub fn acting(&self) -> RestoreContext<'_> {
        RestoreContext {
            observer: self.observer,
            entropy: self.entropy,
            now: self.clock.now(),
            uid: self.uid,
            inside: false,
            exact_mtimes: false,
        }
    }
}

/// Returns the paths to lock for coverages: the mount roots, and the locations of their files, which other roots may show, too.
#[must_use]
pub fn roots(coverages: &[Coverage]) -> Vec<PathBuf> {
    let roots = coverages.iter().map(|mount| mount.root.to_path());
    let places = coverages.iter().filter(|mount| mount.storage.is_some());
    roots.chain(places.map(Coverage::stored_at)).collect()
}

/// Makes way for what works on what `coverages` hold: a restore that was decided is finished, one that had not begun is forgotten. Call it with
/// the restore's locks held.
///
/// # Errors
/// [`SessionError::Restore`] when one waits for `resume` or `abort`.
pub fn recover_interrupted_restores(
    store: &Store,
    world: Services<'_>,
    coverages: &[Coverage],
) -> Result<Vec<Cleared>, SessionError> {
    Ok(clear_up(store, coverages, &world.acting())?)
}

/// Returns true if a restore on `coverages` may have begun to move paths and is not decided: they may be old or new.
///
/// # Errors
/// [`SessionError::Restore`].
pub fn is_torn(store: &Store, coverages: &[Coverage]) -> Result<bool, SessionError> {
    let found = pending(store, coverages)?;
    Ok(found.iter().any(|found| found.stage == RestoreStage::Moving))
}
