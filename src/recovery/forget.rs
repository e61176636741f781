//! Sessions and paths that the operator wants out of the store.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::paths::{host_path, in_session, place};
use super::{Recovery, RecoveryError, SessionChoice, Wanted};
use crate::model::{InstanceId, Operation, SnapshotId, Time};
use crate::retention::{ForgetError, ForgetProposal, ForgetSubject, forget, propose};
use crate::session::{State, counts_back, find_called, find_instance, refuse_forgotten, state};
use crate::store::{Forgotten, InstanceRow, Store, StoreError};

/// Question that [`Recovery::plan_forget`] answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForgetRequest<'a> {
    /// A session; with paths, the only one that loses them.
    pub session: Option<&'a str>,
    /// Paths to delete out of all snapshots.
    pub paths: &'a [OsString],
    /// Delete the sessions that cover the current directory and ended longer ago.
    pub older_than: Option<Duration>,
    /// With an age: delete those of all directories.
    pub any: bool,
    /// Also delete every other path with the same content.
    pub copies: bool,
}

/// A copy outside of the store, which `forget` does not delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutsideCopy {
    /// A fork, in this directory.
    Fork(PathBuf),
    /// A file written by `export`.
    Export(PathBuf),
    /// Store in an object store that sessions were imported from, by its address.
    Replica(String),
}

/// Plan of what to forget, with the copies that stay outside of the store.
pub struct PlannedForget {
    /// The deleted session or paths.
    pub proposal: ForgetProposal,
    /// Forgotten paths that still exist: the next session records them again.
    pub on_disk: Vec<PathBuf>,
    /// Copies of the snapshots outside of the store that still exist.
    pub outside: Vec<OutsideCopy>,
}

impl Recovery<'_> {
    /// Plans to delete sessions, or paths of snapshots. Changes nothing, but for a session whose end was not seen: it is closed
    /// first, if the store was opened for writing.
    ///
    /// # Errors
    /// [`RecoveryError::Forget`] if it is refused; [`RecoveryError::Session`] if no session is found; [`RecoveryError::Outside`].
    pub fn plan_forget(
        &self,
        store: &Store,
        request: &ForgetRequest<'_>,
        dry_run: bool,
    ) -> Result<PlannedForget, RecoveryError> {
        let subject = self.forget_subject(store, request, dry_run)?;
        let _shared = store.share()?;
        let proposal = propose(store, &subject, self.services.observer)?;
        let held: BTreeSet<&PathBuf> = proposal.held.iter().map(|held| &held.path).collect();
        let on_disk = held.into_iter().filter(|path| path.symlink_metadata().is_ok());
        let on_disk = on_disk.cloned().collect();
        let outside = outside(store, &proposal)?;
        Ok(PlannedForget {
            proposal,
            on_disk,
            outside,
        })
    }

    /// Deletes what was planned.
    ///
    /// # Errors
    /// [`RecoveryError::Forget`]; then nothing was deleted. [`StoreError::Unfinished`] in it if the store failed behind the receipt:
    /// all is deleted, and the next command that changes the store removes the bytes that are left.
    pub fn forget(&self, store: &Store, proposal: &ForgetProposal) -> Result<Forgotten, RecoveryError> {
        let forgotten = forget(store, proposal, &self.acting(false))?;
        for session in &proposal.sessions {
            let removed = store.remove_contract(&session.instance);
            removed
                .map_err(StoreError::behind(forgotten.receipt))
                .map_err(ForgetError::Store)?;
        }
        Ok(forgotten)
    }

    fn forget_subject(
        &self,
        store: &Store,
        request: &ForgetRequest<'_>,
        dry_run: bool,
    ) -> Result<ForgetSubject, RecoveryError> {
        if let Some(age) = request.older_than {
            let now = self.services.clock.now();
            let sec = now
                .sec
                .saturating_sub(i64::try_from(age.as_secs()).unwrap_or(i64::MAX));
            return Ok(ForgetSubject::EndedBefore {
                limit: Time { sec, ..now },
                covering: (!request.any).then(|| self.environment.current.clone()),
            });
        }
        let row = match request.session {
            Some(wanted) => {
                if counts_back(wanted) && !request.any {
                    // Where no session covers the current directory, these words count those of all directories.
                    self.choose(&SessionChoice {
                        named: None,
                        any: false,
                        wanted: Wanted::Any,
                    })?;
                }
                Some(self.forget_session(store, wanted, request.any, dry_run)?)
            }
            None => None,
        };
        match row {
            Some(row) if request.paths.is_empty() => Ok(ForgetSubject::Session(row.id)),
            row => {
                let paths = request.paths.iter();
                let paths = paths.map(|path| self.forget_path(store, row.as_ref(), Path::new(path)));
                Ok(ForgetSubject::Paths {
                    paths: paths.collect::<Result<_, _>>()?,
                    of: row.map(|row| row.id),
                    copies: request.copies,
                })
            }
        }
    }

    fn forget_session(
        &self,
        store: &Store,
        wanted: &str,
        any: bool,
        dry_run: bool,
    ) -> Result<InstanceRow, RecoveryError> {
        let row = match any {
            true => find_instance(store, wanted)?,
            false => find_called(store, self.environment, wanted)?,
        };
        refuse_forgotten(store, &row.id)?;
        if !dry_run && row.ended_at.is_none() && state(store, &row) == State::Lost {
            self.close_if_orphaned(store, &row)?;
        }
        Ok(row)
    }

    /// Returns the host path of an argument. Within a session a relative path may begin at its mount, too.
    fn forget_path(
        &self,
        store: &Store,
        row: Option<&InstanceRow>,
        path: &Path,
    ) -> Result<PathBuf, RecoveryError> {
        let Some(row) = row else {
            let rows = store.catalog().instances()?;
            return Ok(host_path(self.environment, store, &rows, path)?);
        };
        let (mount, below) = place(self.environment, &row.mounts, path, &in_session(store, row)?)?;
        let root = row.mounts.get(mount).map(|mount| mount.root.to_path());
        Ok(below.on_host(&root.unwrap_or_default()))
    }
}

/// Returns the forks and exports of the snapshots that still exist, and where their sessions were imported from.
fn outside(store: &Store, proposal: &ForgetProposal) -> Result<Vec<OutsideCopy>, RecoveryError> {
    let held = proposal.held.iter().map(|held| &held.snapshot);
    let gone = proposal.plan.snapshots().iter().map(|pruned| &pruned.id);
    let snapshots: BTreeSet<&SnapshotId> = held.chain(gone).collect();
    let held = proposal.held.iter().map(|held| &held.instance);
    let gone = proposal.plan.snapshots().iter().map(|pruned| &pruned.instance);
    let sessions: BTreeSet<&InstanceId> = held.chain(gone).collect();
    let mut found = Vec::new();
    for receipt in store.receipts()? {
        match receipt.act {
            Operation::Adopt {
                place, store: from, ..
            } if receipt.instance.as_ref().is_some_and(|id| sessions.contains(id)) => {
                let copy = OutsideCopy::Replica(format!("{place}/{from}"));
                if !found.contains(&copy) {
                    found.push(copy);
                }
            }
            Operation::Fork {
                snapshot, directory, ..
            } if snapshots.contains(&snapshot) => found.push(OutsideCopy::Fork(directory.to_path())),
            Operation::Export { snapshot, file, .. } if snapshots.contains(&snapshot) => {
                found.push(OutsideCopy::Export(file.to_path()));
            }
            _ => {}
        }
    }
    let is_there = |copy: &OutsideCopy| match copy {
        OutsideCopy::Fork(path) | OutsideCopy::Export(path) => path.symlink_metadata().is_ok(),
        OutsideCopy::Replica(_) => true,
    };
    found.retain(is_there);
    Ok(found)
}
