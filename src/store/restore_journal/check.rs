//! Lists the damaged files of interrupted restores; changes nothing.

use std::path::Path;

use super::codec::{intent_is_gone, journal_is_gone, of, read, read_decision, read_journal};
use super::{COPY, INTENT, JOURNAL, LOCK, ids, is_of_restore};
use crate::model::Intent;
use crate::store::{Store, StoreError, durable, lock};

/// A damaged file of an interrupted restore.
#[derive(Debug)]
pub struct DamagedJournal {
    /// Error that describes the damage.
    pub error: StoreError,
    /// True if the restore can still be finished or rolled back, from a copy.
    pub is_spare: bool,
}

impl Store {
    /// Returns the files of interrupted restores that are unreadable, or known to be missing.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn damaged_journals(&self) -> Result<Vec<DamagedJournal>, StoreError> {
        let _kept = self.layout().enter()?;
        let mut found = Vec::new();
        for id in ids(self.layout())? {
            let directory = self.layout().restore(&id);
            if is_of_restore(&directory)? && !lock::is_taken(&directory.join(LOCK))? {
                look(&directory, &mut found)?;
            }
        }
        Ok(found)
    }

    /// The error of a restore without a journal that moved something anyway, which lies at `moved` now.
    #[must_use]
    pub fn lost_journal(&self, intent: &Intent, moved: &Path) -> StoreError {
        journal_is_gone(&self.layout().restore(&intent.id), intent, moved)
    }
}

/// Adds the damaged files in `directory`.
fn look(directory: &Path, found: &mut Vec<DamagedJournal>) -> Result<(), StoreError> {
    let mut intents = Vec::new();
    let mut damaged = Vec::new();
    for name in [INTENT, COPY] {
        match read::<Intent>(directory, name) {
            Ok(Some(intent)) => intents.push(intent),
            // The journal is thrown away before both. Without one the copy alone is what a kill leaves.
            Ok(None) if name == INTENT && durable::is_there(&directory.join(JOURNAL))? => {
                damaged.push(intent_is_gone(directory));
            }
            Ok(None) => {}
            Err(error @ (StoreError::DamagedJournal { .. } | StoreError::Newer { .. })) => {
                damaged.push(error)
            }
            Err(error) => return Err(error),
        }
    }
    let Some(intent) = intents.first() else {
        found.extend(damaged.into_iter().map(|error| DamagedJournal {
            error,
            is_spare: false,
        }));
        return Ok(());
    };
    found.extend(damaged.into_iter().map(|error| DamagedJournal {
        error: of(intent, error),
        is_spare: true,
    }));
    let others = [
        read_journal(directory, intent).map(drop),
        read_decision(directory, intent).map(drop),
    ];
    for error in others.into_iter().filter_map(Result::err) {
        match error {
            StoreError::DamagedJournal { .. } | StoreError::Newer { .. } => found.push(DamagedJournal {
                error,
                is_spare: false,
            }),
            other => return Err(other),
        }
    }
    Ok(())
}
