//! The directory of forks, beside the store: `data/forks`. What is being written there has a lock in the store as long as its
//! process lives, so that what a killed one left is known for sure.

use std::path::PathBuf;

use super::lock::{self, LockGuard};
use super::{LockedObject, Store, StoreError, directory, durable};
use crate::contract::STAGING_PREFIX;
use crate::model::{Digest, ForkId, InstanceId};
use handle_fs::NodeKind;

/// Prefix of the name of a fork's lock; its id follows.
const LOCK: &str = "fork-";

impl Store {
    /// Makes the directory of forks when it is missing, and checks that it is the user's alone.
    ///
    /// # Errors
    /// [`StoreError::Create`], [`StoreError::Unsafe`], [`StoreError::Io`].
    pub fn make_forks_directory(&self) -> Result<PathBuf, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let forks = self.layout.forks();
        directory::make(&forks)?;
        Ok(forks)
    }

    /// Locks a fork that is being written in the directory of forks, under the name of [`fork_draft`].
    ///
    /// # Errors
    /// [`StoreError::Locked`] while it is written; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_fork(&self, id: &ForkId) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        let name = format!("{LOCK}{id}");
        lock::fork(&self.layout, &name)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::File(self.layout.lock(&name)),
        })
    }

    /// Locks a branch name of `instance` while its fork is being written, so that no other fork gets it.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process writes one; [`StoreError::ReadOnly`]; [`StoreError::Io`].
    pub fn lock_branch(&self, instance: &InstanceId, branch: &str) -> Result<LockGuard, StoreError> {
        let _kept = self.layout.enter()?;
        self.must_be_writable()?;
        // A branch's name has more bytes than may stand behind an id.
        let name = format!("branch-{}", Digest::of(format!("{instance}/{branch}").as_bytes()));
        lock::fork(&self.layout, &name)?.ok_or_else(|| StoreError::Locked {
            object: LockedObject::Branch(branch.to_owned()),
        })
    }

    /// Removes what killed processes left in the directory of forks: each has a lock in the store that is not held. Returns what
    /// could not be removed; that is no reason to refuse work.
    pub fn sweep_forks(&self) -> Vec<StoreError> {
        let left = || -> Result<Vec<ForkId>, StoreError> {
            let _kept = self.layout.enter()?;
            self.must_be_writable()?;
            let names = directory::names(&self.layout.locks())?;
            let ids = names.iter().filter_map(|name| name.to_str()?.strip_prefix(LOCK));
            Ok(ids.filter_map(|id| ForkId::parse(id).ok()).collect())
        };
        match left() {
            Ok(left) => left.iter().filter_map(|id| self.sweep_fork(id).err()).collect(),
            Err(error) => vec![error],
        }
    }

    fn sweep_fork(&self, id: &ForkId) -> Result<(), StoreError> {
        let Some(dead) = ({
            let _kept = self.layout.enter()?;
            lock::fork(&self.layout, &format!("{LOCK}{id}"))?
        }) else {
            return Ok(());
        };
        let draft = self.layout.forks().join(fork_draft(id));
        let found = handle_fs::stat_path(&draft).map_err(StoreError::io("look at", &draft))?;
        let ours =
            |stat: handle_fs::Stat| stat.kind == NodeKind::Directory && stat.uid == handle_fs::own_ids().0;
        if found.is_some_and(ours) {
            let removed = handle_fs::remove_closed_tree_at(&draft);
            if let Err(source) = removed {
                // Known by its lock to the next one, too.
                dead.keep_file();
                return Err(StoreError::io("remove", &draft)(source));
            }
            durable::sync_parent(&draft)?;
        }
        Ok(())
    }
}

/// Returns the name of a fork in the directory of forks until it is complete. No snapshot has such a name.
#[must_use]
pub fn fork_draft(id: &ForkId) -> String {
    format!("{STAGING_PREFIX}{id}")
}
