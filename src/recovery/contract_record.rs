//! The contracts of earlier sessions: what differs from them, and the contract of a session that began.

use std::collections::BTreeSet;

use super::{Recovery, RecoveryError};
use crate::config::Subject;
use crate::contract::{Contract, TermChange, Terms};
use crate::model::InstanceId;
use crate::store::{InstanceRow, Store, StoredContract};

/// Number of earlier sessions in which a contract is looked for.
const EARLIER: usize = 20;

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
        for row in earlier(store, contract)?.into_iter().take(EARLIER) {
            let Some(known) = store.contract(&row.id).filter(|known| known.shown) else {
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
fn earlier(store: &Store, contract: &Contract) -> Result<Vec<InstanceRow>, RecoveryError> {
    let catalog = store.catalog();
    let root = contract.mounts.first().map(|mount| &mount.root);
    let Some(root) = root.filter(|_| contract.snapshot.created) else {
        // A session without files has no root in the catalog.
        return Ok(catalog.instances()?);
    };
    let mut ids: BTreeSet<InstanceId> = BTreeSet::new();
    ids.extend(catalog.instances_on_root(&root.0)?.into_iter().map(|row| row.id));
    if let Subject::Workspace { name } = &contract.subject {
        ids.extend(
            catalog
                .instances_of_workspace(name)?
                .into_iter()
                .map(|row| row.id),
        );
    }
    let mut rows = catalog.instances()?;
    rows.retain(|row| ids.contains(&row.id));
    Ok(rows)
}
