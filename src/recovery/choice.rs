//! The session that a command line is about: the one that it names, or the latest that covers the current directory.

use std::ffi::OsStr;
use std::path::Path;

use super::paths::{in_session, left_out, place};
use super::{Candidate, Recovery, RecoveryError};
use crate::model::{InstanceId, SnapshotKind};
use crate::process::INSTANCE_VARIABLE;
use crate::session::{
    Covering, SessionError, counts_back, find_called, find_instance, is_active, is_covering, latest_active,
    sessions_covering, those_that_began, without_forgotten,
};
use crate::store::{InstanceRow, PathLookup, RestoreStage, Store, StoreError};

/// Requirement for a session that is chosen without being named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing in particular.
    Any,
    /// Life: the latest active session comes before later ones that have ended.
    Active,
    /// A restore that can be undone, or one that was interrupted: the latest restore decides.
    Restored,
}

/// Session that a command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct SessionChoice<'a> {
    /// Name of the session; `None` for the latest that covers the current directory.
    pub named: Option<&'a str>,
    /// True to choose among the sessions of all directories.
    pub any: bool,
    /// Requirement for a session that is not named.
    pub wanted: Wanted,
}

impl Recovery<'_> {
    /// Chooses the session that a command is about: the named one, else the one that this process runs in, else the latest that
    /// covers the current directory.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, Recovery, SessionChoice, Wanted};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let project = scratch.path().canonicalize()?.join("project");
    /// # std::fs::create_dir(&project)?;
    /// let environment = Environment {
    ///     home: Some(scratch.path().join("home")),
    ///     current: project.clone(),
    ///     ..Environment::default()
    /// };
    /// let recovery = Recovery::open(&environment);
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// let here = SessionChoice { named: None, any: false, wanted: Wanted::Any };
    /// assert_eq!(recovery.choose(&here)?.id, session);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::NotHere`] if no session covers the current directory; [`RecoveryError::NothingRecorded`] or
    /// [`RecoveryError::NothingToUndo`] if there is none at all;
    /// [`RecoveryError::Session`] if no session or several go by this name.
    pub fn choose(&self, choice: &SessionChoice<'_>) -> Result<InstanceRow, RecoveryError> {
        let store = match (self.store_for_reading()?, choice.named) {
            (Some(store), _) => store,
            (None, Some(name)) => return Err(RecoveryError::no_store(name)),
            (None, None) => return Err(none_recorded(choice.wanted)),
        };
        match choice.named {
            Some(word) if choice.any && counts_back(word) => Ok(find_instance(&store, word)?),
            Some(word) => Ok(find_called(&store, self.environment, word)?),
            None => self.unnamed(&store, choice),
        }
    }

    fn unnamed(&self, store: &Store, choice: &SessionChoice<'_>) -> Result<InstanceRow, RecoveryError> {
        let own = self
            .environment
            .get(INSTANCE_VARIABLE)
            .filter(|_| !choice.any && choice.wanted != Wanted::Restored);
        if let Some(own) = own {
            return Ok(find_called(store, self.environment, &own.to_string_lossy())?);
        }
        let directory = &self.environment.current;
        // The latest is found without a look at all the others.
        let latest = match (choice.any, choice.wanted) {
            (false, Wanted::Any) => Covering::new(store, directory)?.latest()?,
            (false, Wanted::Active) => match latest_active(store, directory)? {
                None => Covering::new(store, directory)?.latest()?,
                active => active,
            },
            (_, Wanted::Restored) | (true, _) => None,
        };
        if let Some(latest) = latest {
            return Ok(latest);
        }
        let rows = match choice.any {
            true => without_forgotten(store, store.catalog().instances()?)?,
            false => sessions_covering(store, directory)?,
        };
        if rows.is_empty() {
            let all = without_forgotten(store, store.catalog().instances()?)?;
            let mut all = those_that_began(store, all);
            if choice.wanted == Wanted::Restored {
                let restored = store.catalog().last_restores()?;
                all.retain(|row| restored.contains_key(&row.id));
            }
            return Err(match all.is_empty() {
                true => none_recorded(choice.wanted),
                false => RecoveryError::NotHere {
                    directory: directory.clone(),
                    sessions: all.iter().map(Candidate::of).collect(),
                },
            });
        }
        let rows = those_that_began(store, rows);
        let chosen = match choice.wanted {
            Wanted::Any => rows.into_iter().next(),
            Wanted::Active => {
                let at = rows.iter().position(|row| is_active(store, row));
                rows.into_iter().nth(at.unwrap_or(0))
            }
            Wanted::Restored => {
                let id = last_restored(store, &rows)?;
                rows.into_iter().find(|row| Some(&row.id) == id.as_ref())
            }
        };
        chosen.ok_or_else(|| match choice.any {
            true => RecoveryError::NothingToUndo { receipt: None },
            false => RecoveryError::NothingToUndoHere {
                directory: directory.clone(),
            },
        })
    }

    /// Returns a session that covers the current directory, began before `row` and ended after it, or has not ended, with the number that
    /// `@N` counts back to it. `None` if there is none, or `row` itself has not ended.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn outlasting(&self, row: &InstanceRow) -> Result<Option<(InstanceRow, usize)>, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(None);
        };
        let directory = &self.environment.current;
        if row.ended_at.is_none() || !store.catalog().some_outlast(&row.id)? {
            return Ok(None);
        }
        let here = those_that_began(&store, sessions_covering(&store, directory)?);
        let here = here.into_iter().zip(1..);
        // By the order in the chain: clocks are set back.
        let (_, own) = store.catalog().lifetime(&row.id)?;
        for (other, number) in here.skip_while(|(other, _)| other.id != row.id).skip(1) {
            let (_, end) = store.catalog().lifetime(&other.id)?;
            if other.ended_at.is_none() || own.is_some() && end > own {
                return Ok(Some((other, number)));
            }
        }
        Ok(None)
    }

    /// Returns the ids of the sessions that cover a path, newest first, also those that were forgotten. Imported ones cover nothing on
    /// this machine.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn sessions_at(&self, store: &Store, path: &Path) -> Result<Vec<InstanceId>, RecoveryError> {
        let rows = Covering::with_forgotten(store, path)?;
        Ok(rows.map(|row| Ok(row?.id)).collect::<Result<_, StoreError>>()?)
    }

    /// Returns true if `word` could name a path of a session that covers the current directory: it exists there, or a snapshot has it.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn could_be_path(&self, word: &OsStr) -> Result<bool, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(false);
        };
        // Without a session here no path can be meant.
        let Some(row) = Covering::new(&store, &self.environment.current)?
            .next()
            .transpose()?
        else {
            return Ok(false);
        };
        if self
            .environment
            .absolute(Path::new(word))
            .symlink_metadata()
            .is_ok()
        {
            return Ok(true);
        }
        let recorded = in_session(&store, &row)?;
        let Ok((at, path)) = place(self.environment, &row.mounts, Path::new(word), &recorded) else {
            // The latest session may have no files.
            return Ok(row.mounts.is_empty() && self.some_session_has(word)?);
        };
        let Some(coverage) = row.mounts.get(at) else {
            return Ok(false);
        };
        let snapshots = store.catalog().snapshots(&row.id)?.into_iter();
        let mut snapshots = snapshots.filter(|snapshot| snapshot.kind != SnapshotKind::Emergency);
        let mut lookup = PathLookup::new(&store);
        // Of a snapshot that cannot be read nothing is known; a restore from it fails with the reason.
        if snapshots.any(|snapshot| lookup.shows(&snapshot.id, &coverage.label, &path)) {
            return Ok(true);
        }
        // It may have been gone when the latest session began.
        self.some_session_has(word)
    }

    /// Returns the error for a path that the latest session here excludes, or that exists and is not tracked by it, if `word` could name one.
    #[must_use]
    pub fn excluded_here(&self, word: &OsStr) -> Option<RecoveryError> {
        let store = self.store_for_reading().ok()??;
        let row = Covering::new(&store, &self.environment.current)
            .ok()?
            .next()?
            .ok()?;
        let recorded = in_session(&store, &row).ok()?;
        let (at, path) = place(self.environment, &row.mounts, Path::new(word), &recorded).ok()?;
        let error = left_out(row.mounts.get(at)?, &path)?;
        // Almost any word lies outside of the tracked paths; only a path that exists can be meant.
        let is_there = || {
            let path = self.environment.absolute(Path::new(word));
            path.symlink_metadata().is_ok()
        };
        (!matches!(error, RecoveryError::Untracked { .. }) || is_there()).then_some(error)
    }

    /// Returns which session goes by this name, seen from the current directory.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn named_session(&self, word: &str) -> Result<NamedSession, RecoveryError> {
        let Some(store) = self.store_for_reading()? else {
            return Ok(NamedSession::None);
        };
        match find_called(&store, self.environment, word) {
            Ok(_) if counts_back(word) => Ok(NamedSession::Here),
            Ok(row) => Ok(match is_covering(&store, &row, &self.environment.current)? {
                true => NamedSession::Here,
                false => NamedSession::Elsewhere,
            }),
            Err(SessionError::Ambiguous { .. } | SessionError::OfContainer { .. }) => Ok(NamedSession::Here),
            Err(SessionError::Unknown { .. }) => Ok(NamedSession::None),
            Err(SessionError::TooFarBack { .. }) => Ok(NamedSession::Here),
            Err(error) => Err(error.into()),
        }
    }
}

/// Session that goes by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedSession {
    /// There is none.
    None,
    /// One or several, of which one may cover the current directory.
    Here,
    /// One that does not cover the current directory, or was forgotten: a path here that is called alike is more likely meant.
    Elsewhere,
}

/// Returns the error for a store without sessions.
fn none_recorded(wanted: Wanted) -> RecoveryError {
    match wanted {
        Wanted::Restored => RecoveryError::NothingToUndo { receipt: None },
        Wanted::Any | Wanted::Active => RecoveryError::NothingRecorded,
    }
}

/// Returns the session of the last restore among `rows`. One that was interrupted comes before those that were done.
fn last_restored(store: &Store, rows: &[InstanceRow]) -> Result<Option<InstanceId>, RecoveryError> {
    let is_meant = |id: &InstanceId| rows.iter().any(|row| row.id == *id);
    let mut pending = store.pending_restores()?;
    pending.retain(|found| {
        is_meant(&found.intent.instance)
            && !found.alive
            && !matches!(found.stage, RestoreStage::Begun | RestoreStage::Recorded)
    });
    if let Some(found) = pending.pop() {
        return Ok(Some(found.intent.instance));
    }
    let mut last: Option<(u64, InstanceId)> = None;
    let restored = store.catalog().last_restores()?;
    for row in rows.iter().filter(|row| restored.contains_key(&row.id)) {
        for restore in store.catalog().restores(&row.id)? {
            // A restore that changed nothing left nothing to undo.
            let has_changes = !restore.changed.is_empty() || !restore.aside.is_empty();
            if has_changes && last.as_ref().is_none_or(|(number, _)| *number < restore.number) {
                last = Some((restore.number, row.id.clone()));
            }
        }
    }
    Ok(last.map(|(_, id)| id))
}
