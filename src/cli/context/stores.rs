//! Open stores, with what there is to say about them: warnings, interrupted restores, baselines that are not stored yet.

use std::path::Path;

use super::Context;
use super::frozen::{settle_frozen_and_say, warn_of_frozen};
use super::pending::warn_of_pending;
use crate::cli::error::CliError;
use crate::store::Store;
use crate::terminal::sanitize;

impl Context<'_> {
    /// Opens the store for writing; makes it when there is none.
    pub(in crate::cli) fn store_for_writing(&self) -> Result<Store, CliError> {
        let layout = self.layout()?;
        self.warn_of_foreign_home();
        let store = Store::open_write(&layout)?;
        self.tell_store(layout.root(), "opened for writing");
        self.warn_about(&store);
        settle_frozen_and_say(self, &store);
        Ok(store)
    }

    /// After `sudo` or `su` HOME may still be another user's, and what is made there would lock its owner out.
    fn warn_of_foreign_home(&self) {
        use std::os::unix::fs::MetadataExt as _;
        let home = self.environment.jackin_home().filter(|home| !home.exists());
        let Some(home) = home.filter(|_| self.environment.operator.is_none()) else {
            return;
        };
        let own = handle_fs::own_ids().0;
        let above = home.parent().and_then(|above| above.metadata().ok());
        if let Some(owner) = above
            .map(|above| above.uid())
            .filter(|owner| own == 0 && *owner != own)
        {
            self.terminal.warn(&format!(
                "{} is made in a directory of user {owner}, who will not be able to use it; name a jackin home of your own in \
                 JACKIN_HOME_DIR",
                sanitize::path(&home)
            ));
        }
    }

    /// Returns true if the store exists.
    pub(in crate::cli) fn has_store(&self) -> Result<bool, CliError> {
        Ok(Store::is_there(self.layout()?)?)
    }

    /// Opens the store for a command that only plans with `--dry-run`; `None` when there is none, and none is made.
    pub(in crate::cli) fn store_for(&self, dry_run: bool) -> Result<Option<Store>, CliError> {
        match (self.has_store()?, dry_run) {
            (false, _) => Ok(None),
            (true, true) => self.store_for_reading(),
            (true, false) => self.store_for_writing().map(Some),
        }
    }

    /// Opens the store for reading; `None` when there is none.
    pub(in crate::cli) fn store_for_reading(&self) -> Result<Option<Store>, CliError> {
        let layout = self.layout()?;
        let store = Store::open_read(&layout)?;
        let how = if store.is_some() {
            "opened for reading"
        } else {
            "not there"
        };
        self.tell_store(layout.root(), how);
        if let Some(store) = &store {
            self.warn_about(store);
            if self.tells_pending {
                warn_of_pending(self, store);
                warn_of_frozen(self, store);
            }
        }
        Ok(store)
    }

    fn tell_store(&self, directory: &Path, how: &str) {
        let shown = sanitize::path(directory);
        let whose = self.environment.operator.map_or_else(String::new, |operator| {
            format!("; root acts as user {} in it (sudo)", operator.uid)
        });
        self.terminal.detail(&format!("store {shown}: {how}{whose}"));
    }

    fn warn_about(&self, store: &Store) {
        for warning in store.warnings() {
            self.terminal.warn(&warning.to_string());
        }
    }
}
