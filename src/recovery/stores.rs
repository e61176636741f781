//! The store of the engine, opened for reading or writing, and the baselines that are stored on the way.

use std::path::PathBuf;

use super::settings::terms;
use super::{Event, Recovery, RecoveryError};
use crate::capture::Limits;
use crate::model::InstanceId;
use crate::process::INSTANCE_VARIABLE;
use crate::session::{DeferredBaseline, store_deferred_baselines};
use crate::store::{Layout, Store};
use handle_fs::own_ids;

impl Recovery<'_> {
    /// Returns the path of the store, which need not exist.
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`].
    pub fn store_directory(&self) -> Result<PathBuf, RecoveryError> {
        self.environment.store_directory().ok_or(RecoveryError::NoHome)
    }

    /// Returns the paths in the store, and its owner.
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`].
    pub fn layout(&self) -> Result<Layout, RecoveryError> {
        Ok(Layout::of(self.store_directory()?, self.environment))
    }

    /// Returns true if the store exists.
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`]; [`RecoveryError::Store`].
    pub fn has_store(&self) -> Result<bool, RecoveryError> {
        Ok(Store::is_there(self.layout()?)?)
    }

    /// Opens the store for reading; `None` if there is none.
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`]; [`RecoveryError::Store`].
    pub fn store_for_reading(&self) -> Result<Option<Store>, RecoveryError> {
        let layout = self.layout()?;
        let store = Store::open_read(&layout)?;
        self.report(Event::OpenedForReading(store.as_ref(), layout.root()));
        Ok(store)
    }

    /// Opens the store for writing, and makes it if there is none. Stores the baselines that dead processes left.
    ///
    /// # Errors
    /// [`RecoveryError::NoHome`]; [`RecoveryError::Store`].
    pub fn store_for_writing(&self) -> Result<Store, RecoveryError> {
        let layout = self.layout()?;
        self.report_foreign_home();
        let store = Store::open_write(&layout)?;
        self.report(Event::OpenedForWriting(&store, layout.root()));
        // Storing takes a while, and an agent's tool call must not wait for it. Unneeded snapshots are removed all the same.
        if self.environment.get(INSTANCE_VARIABLE).is_some() || !self.stores_deferred {
            let _ = store_deferred_baselines(&store, self.services, None, false);
        } else {
            for done in self.store_deferred(&store, false) {
                self.report(Event::Deferred(done));
            }
        }
        Ok(store)
    }

    /// Stores or removes the baselines that dead processes left; with `again` also those that were just tried in vain. A failure is
    /// reported and stops nothing.
    #[must_use]
    pub fn store_deferred(&self, store: &Store, again: bool) -> Vec<DeferredBaseline> {
        let limits = |instance: &InstanceId| {
            let row = store.catalog().instance(instance).ok()??;
            let limits = terms(self.environment, &row).ok()??.limits;
            Some(Limits {
                max_entries: limits.max_entries.value,
                max_bytes: limits.max_bytes.value,
            })
        };
        store_deferred_baselines(store, self.services, Some(&limits), again).unwrap_or_else(|error| {
            self.report(Event::DeferredFailed(error.into()));
            Vec::new()
        })
    }

    /// After `sudo` or `su` HOME may still be another user's, and what is made there would lock its owner out.
    fn report_foreign_home(&self) {
        use std::os::unix::fs::MetadataExt as _;
        let home = self.environment.jackin_home().filter(|home| !home.exists());
        let Some(home) = home.filter(|_| self.environment.operator.is_none()) else {
            return;
        };
        let own = own_ids().0;
        let above = home.parent().and_then(|above| above.metadata().ok());
        if let Some(owner) = above
            .map(|above| above.uid())
            .filter(|owner| own == 0 && *owner != own)
        {
            self.report(Event::ForeignHome { home: &home, owner });
        }
    }
}
