//! Files of restores, below `restores/<id>/`: the intent, the journal, the decision. Each file appears completely or not at all,
//! and contains the BLAKE3 of its own text; a file that a killed process left incomplete is not seen.

mod check;
pub(super) mod codec;

use std::io;
use std::path::{Path, PathBuf};

use super::held_lock::Holder;
use super::lock::{self, LockGuard};
use super::{DRAFTS, Layout, LockedObject, Store, StoreError, directory, durable};
use crate::model::{Decision, Intent, Journal, JournalParts, RestoreId};
use crate::observer::{Observer, Silent};

pub use check::DamagedJournal;
use codec::{journal_is_gone, read, read_decision, read_intent, read_journal, write, write_intent};

/// Progress of an interrupted restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No path below the mounts was touched yet; a staging directory may exist beside them.
    Begun,
    /// Some moves may have been made, or all, or none.
    Moving,
    /// The decision is written; only cleanup is left.
    Decided(Decision),
    /// The restore is complete and has its receipt; only cleanup is left.
    Recorded,
}

impl Stage {
    /// Returns true if the restore waits for `resume` or `abort`, or is done and has no receipt yet.
    #[must_use]
    pub fn is_unsettled(self) -> bool {
        matches!(self, Self::Moving | Self::Decided(Decision::Commit))
    }
}

/// A restore that was not finished, or is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRestore {
    /// Intent that was confirmed.
    pub intent: Intent,
    /// Progress of the restore.
    pub stage: Stage,
    /// True if its process is alive.
    pub alive: bool,
}

/// The files of a restore, locked by the process that performs it or takes over an interrupted one.
#[derive(Debug)]
pub struct RestoreJournal {
    layout: Layout,
    directory: PathBuf,
    intent: Intent,
    lock: LockGuard,
}

const INTENT: &str = "intent";
/// A copy of the intent: a restore whose intent is damaged can still be finished or rolled back.
const COPY: &str = "intent.copy";
const JOURNAL: &str = "journal";
const DECISION: &str = "decision";
const LOCK: &str = "lock";

impl RestoreJournal {
    /// Returns the confirmed intent.
    #[must_use]
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The journal, when the restore came so far.
    ///
    /// # Errors
    /// [`StoreError::DamagedJournal`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn journal(&self) -> Result<Option<Journal>, StoreError> {
        let _kept = self.layout.enter()?;
        read_journal(&self.directory, &self.intent)
    }

    /// The decision, when the restore came so far.
    ///
    /// # Errors
    /// As [`Self::journal`].
    pub fn decision(&self) -> Result<Option<Decision>, StoreError> {
        let _kept = self.layout.enter()?;
        read_decision(&self.directory, &self.intent)
    }

    /// Returns the same error as [`Store::lost_journal`].
    #[must_use]
    pub fn journal_is_gone(&self, moved: &Path) -> StoreError {
        journal_is_gone(&self.directory, &self.intent, moved)
    }

    /// Writes the journal; it is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`]; then there is none.
    pub fn write_journal(&self, journal: &JournalParts<'_>) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        write(&self.directory, JOURNAL, journal)
    }

    /// Removes a journal that could not be written to its end: there is none when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`]; then there may be one.
    pub fn withdraw_journal(&self) -> Result<(), StoreError> {
        self.withdraw(JOURNAL)
    }

    /// Removes a decision that could not be written to its end: there is none when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`]; then there may be one.
    pub fn withdraw_decision(&self) -> Result<(), StoreError> {
        self.withdraw(DECISION)
    }

    fn withdraw(&self, paper: &str) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        durable::withdraw(&self.directory.join(paper))
    }

    /// Writes the decision; it is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Io`]; then none was made, or it may be there: see [`Self::withdraw_decision`].
    pub fn decide(&self, decision: Decision) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        write(&self.directory, DECISION, &decision)
    }

    /// Removes the files of a restore that is complete. The strongest evidence is removed last, so that after a crash in between,
    /// the rest is still true.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn close(self, observer: &dyn Observer) -> Result<(), StoreError> {
        let _kept = self.layout.enter()?;
        clear(&self.directory, Some(self.lock), observer)
    }
}

/// Removes the files of a restore. `lock` is its lock, if the caller holds that.
fn clear(directory: &Path, lock: Option<LockGuard>, observer: &dyn Observer) -> Result<(), StoreError> {
    let draft = |name: &str| directory.join(format!("{name}.new"));
    for path in [draft(JOURNAL), draft(DECISION), draft(INTENT), draft(COPY)] {
        durable::remove(&path)?;
    }
    // A decision without a journal says that everything is done; an intent alone would say that nothing was.
    for name in [JOURNAL, INTENT, COPY, DECISION] {
        durable::remove(&directory.join(name))?;
        observer.reached("file-removed");
    }
    // Closed first: an open file may keep the directory. To a sweep that comes now, it is a leftover.
    drop(lock);
    durable::remove(&directory.join(LOCK))?;
    observer.reached("file-removed");
    durable::remove_directory(directory)?;
    durable::sync_parent(directory)
}

fn ids(layout: &Layout) -> Result<Vec<RestoreId>, StoreError> {
    let mut ids = Vec::new();
    for name in directory::names(&layout.restores())? {
        ids.extend(name.to_str().and_then(|name| RestoreId::parse(name).ok()));
    }
    ids.sort();
    Ok(ids)
}

/// Returns true if a restore is under way or was interrupted: its intent exists, or a journal that was not removed.
fn is_of_restore(directory: &Path) -> Result<bool, StoreError> {
    Ok(durable::is_there(&directory.join(INTENT))? || durable::is_there(&directory.join(JOURNAL))?)
}

/// Removes the leftovers of restores whose process died while creating or removing their files.
pub(super) fn sweep(layout: &Layout) -> Vec<StoreError> {
    let swept = || -> Result<Vec<StoreError>, StoreError> {
        let _making = lock::wait(layout, DRAFTS)?;
        let mut failed = Vec::new();
        for id in ids(layout)? {
            let directory = layout.restore(&id);
            if is_of_restore(&directory)? || lock::is_taken(&directory.join(LOCK))? {
                continue;
            }
            failed.extend(clear(&directory, None, &Silent).err());
        }
        Ok(failed)
    };
    swept().unwrap_or_else(|error| vec![error])
}

impl Store {
    /// Creates the files of a restore: its intent is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Create`]; [`StoreError::Io`].
    pub fn run_transaction(&self, intent: Intent) -> Result<RestoreJournal, StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let _kept = layout.enter()?;
        let directory = layout.restore(&intent.id);
        let lock = {
            // Made and locked under `drafts`: a directory without intent and without lock is a leftover to a sweep.
            let _making = lock::wait(layout, DRAFTS)?;
            durable::make_directory(&layout.restores())?;
            if !durable::make_directory(&directory)? {
                return Err(StoreError::Create {
                    path: directory,
                    source: io::ErrorKind::AlreadyExists.into(),
                });
            }
            lock::draft(layout, directory.join(LOCK))?
        };
        let Some(lock) = lock else {
            return Err(StoreError::Locked {
                object: LockedObject::File(directory.join(LOCK)),
            });
        };
        // The intent last: with it the restore exists, and from that moment on the copy has to be there too.
        let written =
            write_intent(&directory, COPY, &intent).and_then(|()| write_intent(&directory, INTENT, &intent));
        if let Err(error) = written {
            // What cannot be removed now is swept by the next command that writes.
            let _ = clear(&directory, Some(lock), &Silent);
            return Err(error);
        }
        Ok(RestoreJournal {
            layout: layout.clone(),
            directory,
            intent,
            lock,
        })
    }

    /// The restores that are under way or were interrupted, oldest first. Makes nothing.
    ///
    /// # Errors
    /// [`StoreError::DamagedJournal`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn pending_restores(&self) -> Result<Vec<PendingRestore>, StoreError> {
        let _kept = self.layout().enter()?;
        let mut found = Vec::new();
        for id in ids(self.layout())? {
            let directory = self.layout().restore(&id);
            // Asked before the files are read: those of a dead process change no more, except by a command that takes this
            // lock first.
            let alive = lock::is_taken(&directory.join(LOCK))?;
            // The decision is written last, so it is read first. A damaged decision decides nothing.
            let decision = match read(&directory, DECISION) {
                Err(StoreError::DamagedJournal { .. }) => Err(()),
                other => Ok(other?),
            };
            let stage = match decision {
                Err(()) => Stage::Moving,
                Ok(Some(decision)) => Stage::Decided(decision),
                Ok(None) if durable::is_there(&directory.join(JOURNAL))? => Stage::Moving,
                Ok(None) => Stage::Begun,
            };
            if let Some(intent) = read_intent(&directory)? {
                let stage = match stage {
                    Stage::Decided(Decision::Commit) if self.is_recorded(&directory, &intent)? => {
                        Stage::Recorded
                    }
                    other => other,
                };
                found.push(PendingRestore { intent, stage, alive });
            }
        }
        found.sort_by(|a, b| (a.intent.at, &a.intent.id).cmp(&(b.intent.at, &b.intent.id)));
        Ok(found)
    }

    /// Returns true if a restore that was decided to stay has its receipt.
    fn is_recorded(&self, directory: &Path, intent: &Intent) -> Result<bool, StoreError> {
        match read_journal(directory, intent) {
            Ok(Some(journal)) => self.has_receipt(intent, &journal),
            // The receipt is written before the journal is removed.
            Ok(None) => Ok(true),
            Err(StoreError::DamagedJournal { .. } | StoreError::Newer { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns true if a restore with this journal has its receipt.
    ///
    /// # Errors
    /// As [`Self::pending_restores`].
    pub fn has_receipt(&self, intent: &Intent, journal: &Journal) -> Result<bool, StoreError> {
        let receipt = self
            .catalog()
            .end_of_restore(&intent.instance, &journal.emergency)?;
        Ok(receipt.is_some())
    }

    /// The journal of a restore that is pending, for a look that changes nothing.
    ///
    /// # Errors
    /// As [`Self::pending_restores`].
    pub fn journal_of(&self, id: &RestoreId) -> Result<Option<Journal>, StoreError> {
        let _kept = self.layout().enter()?;
        let directory = self.layout().restore(id);
        match read_intent(&directory)? {
            Some(intent) => read_journal(&directory, &intent),
            None => Ok(None),
        }
    }

    /// The processes that work on a restore, as far as the system tells.
    #[must_use]
    pub fn restore_holders(&self, id: &RestoreId) -> Vec<Holder> {
        let Ok(_kept) = self.layout().enter() else {
            return Vec::new();
        };
        let held = lock::is_held(&self.layout().restore(id).join(LOCK));
        held.ok().flatten().unwrap_or_default()
    }

    /// Takes over the files of an interrupted restore; `None` if its process is alive, or they are gone by now.
    ///
    /// # Errors
    /// As [`Self::pending_restores`].
    pub fn take_up(&self, id: &RestoreId) -> Result<Option<RestoreJournal>, StoreError> {
        self.must_be_writable()?;
        let _kept = self.layout().enter()?;
        let directory = self.layout().restore(id);
        if !durable::is_there(&directory)? {
            return Ok(None);
        }
        let Some(lock) = lock::draft(self.layout(), directory.join(LOCK))? else {
            return Ok(None);
        };
        // What is acted upon must be on disk: who wrote it may have been told that it is not.
        durable::sync_parent(&directory.join(LOCK))?;
        let intent = read_intent(&directory)?;
        Ok(intent.map(|intent| RestoreJournal {
            layout: self.layout().clone(),
            directory,
            intent,
            lock,
        }))
    }
}
