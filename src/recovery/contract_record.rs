//! The contracts of earlier sessions: what differs from them, and the contract of a session that began.

use std::collections::BTreeSet;

use super::{Recovery, RecoveryError};
use crate::config::Subject;
use crate::contract::{Contract, TermChange, Terms};
use crate::model::InstanceId;
use crate::store::{Store, StoredContract};

/// Number of earlier sessions in which a contract is looked for.
const EARLIER: u32 = 20;

impl Recovery<'_> {
    /// Returns the differences from the contract that the operator was shown last for the same workspace, or for the same directories;
    /// `None` if none was shown.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn changed_terms(
        &self,
        store: &Store,
        contract: &Contract,
    ) -> Result<Option<Vec<TermChange>>, RecoveryError> {
        let now = Terms::of(contract);
        let wanted = serde_json::to_value(contract).unwrap_or_default();
        for id in earlier(store, contract)? {
            let Some(known) = store.contract(&id).filter(|known| known.shown) else {
                continue;
            };
            let same = |part| known.contract.get(part) == wanted.get(part);
            if !same("subject") && roots(&known.contract) != roots(&wanted) {
                continue;
            }
            // Terms that a newer version wrote differ in form, so everything is shown.
            let Ok(before) = serde_json::from_value::<Terms>(known.terms) else {
                return Ok(None);
            };
            return Ok(Some(now.since(&before)));
        }
        Ok(None)
    }

    /// Stores the contract of a session that began, with its text. A failure is no reason to end the session.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn save_contract(
        &self,
        store: &Store,
        instance: &InstanceId,
        contract: &Contract,
        (text, shown): (String, bool),
    ) -> Result<(), RecoveryError> {
        let value = |made: Result<serde_json::Value, serde_json::Error>| made.unwrap_or_default();
        let stored = StoredContract {
            schema: StoredContract::SCHEMA,
            shown,
            terms: value(serde_json::to_value(Terms::of(contract))),
            contract: value(serde_json::to_value(contract)),
            text,
        };
        Ok(store.save_contract(instance, &stored)?)
    }
}

/// Returns the directories of a contract as `explain --json` prints it.
fn roots(contract: &serde_json::Value) -> BTreeSet<String> {
    let mounts = contract.get("mounts").and_then(|mounts| mounts.as_array());
    let roots = mounts.into_iter().flatten().filter_map(|mount| mount.get("root"));
    roots.map(ToString::to_string).collect()
}

/// Returns the earlier sessions of the same workspace or directory, newest first. A directory may have become a workspace since.
fn earlier(store: &Store, contract: &Contract) -> Result<Vec<InstanceId>, RecoveryError> {
    let root = contract.mounts.first().map(|mount| mount.root.0.as_slice());
    // A session without files has no root in the catalog: then all sessions count.
    let root = root.filter(|_| contract.snapshot.created);
    let workspace = match &contract.subject {
        Subject::Workspace { name } => Some(name.as_str()),
        _ => None,
    };
    Ok(store.catalog().newest_instances(root, workspace, EARLIER)?)
}
