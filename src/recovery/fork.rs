//! Forks: a snapshot in a directory of its own, read back, with a receipt. Nothing else is touched.

mod error;
mod reference;

use std::path::{Path, PathBuf};

pub use error::ForkError;

use super::output::{Job, encrypted_files, outside_git, refuse_address};
use super::{
    EncryptedFile, Event, Keys, OutputError, Recovery, RecoveryError, WrittenSnapshot, no_files, no_keys,
};
use crate::clock::random;
use crate::config::settle_path;
use crate::model::{ByteString, ForkId, ForkReference, Operation, SnapshotRecord};
use crate::restore::{OutputDir, RestoreError};
use crate::session::{Allowed, check_branch, ensure_outside_session, find_snapshot};
use crate::store::{ForkRow, InstanceRow, LockGuard, Store, fork_draft};
use handle_fs::Dir;
use reference::mounts;

/// Request to fork a snapshot.
#[derive(Clone)]
pub struct ForkRequest<'a> {
    /// The session, or the reference of a fork, whose snapshot is forked again.
    pub session: &'a str,
    /// The snapshot; `None` for the baseline. Must be `None` for the reference of a fork.
    pub from: Option<&'a str>,
    /// Directory to write into, absent or empty; `None` for a new one in jackin's home.
    pub directory: Option<&'a Path>,
    /// Name of the fork, which no other fork of the session has.
    pub branch: Option<&'a str>,
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
}

impl<'a> ForkRequest<'a> {
    /// Returns the request to fork the baseline of a session into a new directory in jackin's home.
    #[must_use]
    pub fn of(session: &'a str) -> Self {
        Self {
            session,
            from: None,
            directory: None,
            branch: None,
            keys: &no_keys,
        }
    }
}

/// Fork that was made.
pub struct Forked {
    /// Directory that holds the fork.
    pub directory: PathBuf,
    /// The snapshot that it holds.
    pub target: SnapshotRecord,
    /// Reference that names the fork.
    pub reference: ForkReference,
    /// Number of paths written, the problems with them, and what git in them works on.
    pub written: WrittenSnapshot,
    /// Files that are not in it because their key is missing.
    pub encrypted: Vec<EncryptedFile>,
}

impl Recovery<'_> {
    /// Writes a snapshot into a directory of its own, and reads it back.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{ContractRequest, ForkRequest, Recovery};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let environment = Environment { home: Some(scratch.path().join("home")), ..Environment::default() };
    /// # let project = scratch.path().join("project");
    /// # std::fs::create_dir(&project)?;
    /// # std::fs::write(project.join("notes"), "one\n")?;
    /// # let recovery = Recovery::open(&environment);
    /// # let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// # let session = recovery.begin(&(&contract).into())?.into_id();
    /// # drop(recovery.end(session.as_str())?);
    /// let forked = recovery.fork(&ForkRequest::of(session.as_str()))?;
    /// assert_eq!(std::fs::read_to_string(forked.directory.join("notes"))?, "one\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if a session or a snapshot is not found; [`RecoveryError::Fork`]; [`RecoveryError::Output`];
    /// [`RecoveryError::Unlogged`] if everything but the receipt is written.
    pub fn fork(&self, request: &ForkRequest<'_>) -> Result<Forked, RecoveryError> {
        let reading = self.store_for_reading()?;
        let reading = reading.ok_or_else(|| RecoveryError::no_store(request.session))?;
        let (row, again) = self.session_or_fork(&reading, request.session)?;
        if again.is_some() && request.from.is_some() {
            return Err(ForkError::TwoSnapshots.into());
        }
        ensure_outside_session(&reading, self.environment, Allowed::Nothing)?;
        let wanted = match &again {
            Some(fork) => fork.snapshot.as_str(),
            None => request.from.unwrap_or("baseline"),
        };
        self.fork_of(reading, &row, wanted, request)
    }

    /// Forks the snapshot `wanted` of a session that was found. The caller may run in it.
    ///
    /// # Errors
    /// As [`Self::fork`].
    pub fn fork_of(
        &self,
        reading: Store,
        row: &InstanceRow,
        wanted: &str,
        request: &ForkRequest<'_>,
    ) -> Result<Forked, RecoveryError> {
        let keys = (request.keys)()?;
        let snapshot = find_snapshot(&reading, row, wanted).map_err(|error| no_files(row, error))?;
        let target = reading.record(&snapshot.id)?;
        let branch = request.branch;
        if let Some(branch) = branch {
            check_branch(branch)?;
            ensure_free(&reading, row, branch)?;
        }
        let directory = match request.directory {
            Some(directory) => Some(self.fork_directory(row, &target, directory)?),
            None => None,
        };
        drop(reading);
        let store = self.store_for_writing()?.unlocked_by(keys);
        let _needed = store.share()?;
        // Another process may have forgotten a part of it, or all of it, before nothing could be removed any more.
        let snapshot = find_snapshot(&store, row, wanted).map_err(|error| no_files(row, error))?;
        let target = store.record(&snapshot.id)?;
        for left in store.sweep_forks() {
            self.report(Event::ForkStays(&left));
        }
        let _own_branch = branch
            .map(|branch| store.lock_branch(&row.id, branch))
            .transpose()?;
        if let Some(branch) = branch {
            ensure_free(&store, row, branch)?;
        }
        let id = ForkId::new(random(self.services.entropy));
        let (directory, _lock, fresh) = self.make_fork_directory(&store, &id, directory)?;
        let (written, encrypted) = self.write_fork(&store, &target, &directory, fresh)?;
        let act = Operation::Fork {
            snapshot: target.id.clone(),
            fork: id.clone(),
            directory: ByteString::from(directory.as_path()),
            branch: branch.map(str::to_owned),
            paths: written.paths,
            failed: written.problem_count(),
        };
        let (now, uid) = (self.services.clock.now(), self.services.uid);
        store
            .append(now, uid, &row.id, act)
            .map_err(|source| RecoveryError::Unlogged {
                source: Box::new(source),
                written: directory.clone(),
            })?;
        let reference = ForkReference::new(id, target.id.clone(), mounts(&target, &directory));
        Ok(Forked {
            directory,
            target,
            reference,
            written,
            encrypted,
        })
    }

    fn write_fork(
        &self,
        store: &Store,
        target: &SnapshotRecord,
        directory: &Path,
        fresh: OutputDir,
    ) -> Result<(WrittenSnapshot, Vec<EncryptedFile>), RecoveryError> {
        let observer = self.services.observer;
        observer.reached("fork-made");
        let parts = self.output_parts(store, target, (&[], &[]), false)?;
        let job = Job {
            store,
            target,
            parts: &parts,
            directory,
            verified: true,
        };
        let mut written = self.write(&job, &fresh)?;
        self.give_mounts(target, fresh.path())?;
        observer.reached("fork-verified");
        fresh.finish()?;
        observer.reached("fork-named");
        written.outside_git = outside_git(&job);
        Ok((written, encrypted_files(&parts, target, directory)))
    }

    /// Returns the directory that was named, outside of what the session covers. An imported session covers nothing here.
    fn fork_directory(
        &self,
        row: &InstanceRow,
        target: &SnapshotRecord,
        directory: &Path,
    ) -> Result<PathBuf, RecoveryError> {
        let path = settle_path(self.environment, directory);
        let mounts = target.mounts.iter().filter(|_| !row.is_imported());
        let mut places = mounts.flat_map(|mount| mount.coverage.places());
        if let Some(root) = places.find(|place| path.starts_with(place)) {
            return Err(OutputError::InMount { path, root }.into());
        }
        refuse_address(&path)?;
        self.check_output(&path)?;
        Ok(path)
    }

    /// Makes room for the fork. In the directory of forks it is locked, so that what is left after a kill is swept.
    fn make_fork_directory(
        &self,
        store: &Store,
        id: &ForkId,
        wanted: Option<PathBuf>,
    ) -> Result<(PathBuf, Option<LockGuard>, OutputDir), RecoveryError> {
        let (directory, lock, fresh) = match wanted {
            Some(directory) => {
                let fresh = OutputDir::make(store.transports(), &directory, random(self.services.entropy))?;
                (directory, None, fresh)
            }
            None => {
                let directory = store.make_forks_directory()?.join(id.as_str());
                let lock = store.lock_fork(id)?;
                let fresh = OutputDir::called(store.transports(), &directory, &fork_draft(id))?;
                (directory, Some(lock), fresh)
            }
        };
        // Root makes it for an operator, who must be able to enter it.
        let owner = self.environment.operator;
        fresh.make_private(owner.map(|owner| (owner.uid, owner.gid)))?;
        Ok((directory, lock, fresh))
    }

    /// Gives the directories of several mounts to the operator whom root acts for.
    fn give_mounts(&self, target: &SnapshotRecord, top: &Path) -> Result<(), RestoreError> {
        let Some(owner) = self.environment.operator.filter(|_| target.mounts.len() > 1) else {
            return Ok(());
        };
        for mount in mounts(target, top) {
            let path = mount.path.to_path();
            Dir::open(&self.environment.transports, &path)
                .and_then(|dir| handle_fs::chown_handle(dir, owner.uid, owner.gid))
                .map_err(|source| RestoreError::Stage { path, source })?;
        }
        Ok(())
    }
}

/// Fails if another fork of the session has this branch.
fn ensure_free(store: &Store, row: &InstanceRow, branch: &str) -> Result<(), RecoveryError> {
    let forks = store.catalog().forks()?;
    let is_so = |fork: &ForkRow| fork.instance == row.id && fork.branch.as_deref() == Some(branch);
    match forks.into_iter().find(is_so) {
        None => Ok(()),
        Some(other) => Err(ForkError::Taken {
            instance: row.id.clone(),
            branch: branch.to_owned(),
            fork: other.id,
            directory: other.directory,
        }
        .into()),
    }
}
