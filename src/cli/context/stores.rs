//! Open stores of a command.

use super::Context;
use crate::cli::error::CliError;
use crate::store::Store;

impl Context<'_> {
    /// Opens the store for writing; makes it when there is none.
    pub(in crate::cli) fn store_for_writing(&self) -> Result<Store, CliError> {
        Ok(self.engine().store_for_writing()?)
    }

    /// Returns true if the store exists.
    pub(in crate::cli) fn has_store(&self) -> Result<bool, CliError> {
        Ok(self.engine().has_store()?)
    }

    /// Opens the store for reading; `None` when there is none.
    pub(in crate::cli) fn store_for_reading(&self) -> Result<Option<Store>, CliError> {
        Ok(self.engine().store_for_reading()?)
    }
}
