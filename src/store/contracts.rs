//! The contract of each session, as it was when the session began. It is for reading and comparing alone: no promise depends on it, so
//! it is not synced, and one that cannot be read counts as missing.

use std::io::Write as _;

use serde::{Deserialize, Serialize};

use super::prune::remove;
use super::{Store, StoreError, directory, durable};
use crate::model::InstanceId;

/// Largest file of a contract, in bytes.
const LARGEST: u64 = 4 << 20;

/// Contract of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredContract {
    /// Version of the file.
    pub schema: u32,
    /// True if the operator was shown it.
    pub shown: bool,
    /// Lasting terms, to compare with.
    pub terms: serde_json::Value,
    /// Contract as `explain --json` prints it.
    pub contract: serde_json::Value,
    /// The same in words.
    pub text: String,
}

impl StoredContract {
    /// Version that this program writes.
    pub const SCHEMA: u32 = 1;
}

impl Store {
    /// Stores the contract of a session that begins.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Create`].
    pub fn save_contract(&self, instance: &InstanceId, contract: &StoredContract) -> Result<(), StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        let path = layout.contract(instance);
        let bytes = serde_json::to_vec(contract).map_err(|why| StoreError::io("write", &path)(why.into()))?;
        durable::make_directory(&layout.contracts())?;
        let mut file = durable::create(&path)?;
        file.write_all(&bytes).map_err(StoreError::io("write", &path))
    }

    /// Returns the contract of a session; `None` if there is none that this program can read.
    #[must_use]
    pub fn contract(&self, instance: &InstanceId) -> Option<StoredContract> {
        let _kept = self.layout().enter().ok()?;
        let bytes = durable::read(&self.layout().contract(instance), LARGEST).ok()??;
        let found: StoredContract = serde_json::from_slice(&bytes).ok()?;
        (found.schema == StoredContract::SCHEMA).then_some(found)
    }

    /// Removes the contracts of sessions of which nothing is left: they ended, and every snapshot of theirs was deleted. A killed
    /// process leaves such files behind its receipt.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Catalog`].
    pub fn remove_idle_contracts(&self) -> Result<(), StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        if !durable::is_there(&layout.contracts())? {
            return Ok(());
        }
        let names = directory::names(&layout.contracts())?.into_iter();
        let ids = names.filter_map(|name| InstanceId::parse(name.to_str()?.strip_suffix(".json")?).ok());
        let ids: Vec<InstanceId> = ids.collect();
        if ids.is_empty() {
            return Ok(());
        }
        let (kept, pruned) = (self.catalog.tallies()?, self.catalog.pruned_counts()?);
        for id in ids {
            if kept.contains_key(&id) {
                continue;
            }
            let row = self.catalog.instance(&id)?;
            if row.is_none_or(|row| row.ended_at.is_some() && pruned.contains_key(&id)) {
                remove(&layout.contract(&id))?;
            }
        }
        Ok(())
    }

    /// Removes the contract of a session, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_contract(&self, instance: &InstanceId) -> Result<(), StoreError> {
        let path = self.layout().contract(instance);
        let _kept = self.layout().enter()?;
        match durable::is_there(&path)? {
            true => durable::remove(&path),
            false => Ok(()),
        }
    }
}
