//! The origin of a session: what its first receipt says, and the file that it was imported from.

use schemars::JsonSchema;
use serde::Serialize;

use super::HostPathDocument;
use crate::model::{AgentRef, ContainerRef, Digest, InstanceId, Operation, SnapshotId, WatchedMount};
use crate::store::{InstanceRow, Store, StoreError};

/// Facts of a session's first receipt that its catalog row lacks.
#[derive(Default)]
pub(crate) struct Begun {
    /// Policy of jackin for a dirty work tree at the end, in jackin's own word.
    pub(crate) cleanup_policy: Option<String>,
    /// jackin's container that it began for.
    pub(crate) container: Option<ContainerRef>,
    /// Mounts whose files are not kept.
    pub(crate) watched: Vec<WatchedMount>,
    /// The agent whose hook began it.
    pub(crate) agent: Option<AgentRef>,
}

/// The file that a session came from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportedDocument {
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// BLAKE3 of its bytes.
    digest: String,
    /// The id of its snapshot where it came from.
    pub(crate) snapshot: String,
    /// The id of the session there.
    pub(crate) instance: String,
}

impl ImportedDocument {
    fn new(file: HostPathDocument, digest: &Digest, origin: &(SnapshotId, InstanceId)) -> Self {
        Self {
            file,
            digest: digest.hex(),
            snapshot: origin.0.to_string(),
            instance: origin.1.to_string(),
        }
    }
}

/// Returns the file that a session came from.
pub(super) fn imported(store: &Store, row: &InstanceRow) -> Result<Option<ImportedDocument>, StoreError> {
    if !row.is_imported() {
        return Ok(None);
    }
    let receipts = store.catalog().receipts_of(&row.id)?;
    Ok(receipts.into_iter().find_map(|receipt| match receipt.act {
        Operation::Import {
            file, digest, origin, ..
        } => Some(ImportedDocument::new(
            HostPathDocument::new(&file.to_path()),
            &digest,
            &origin,
        )),
        _ => None,
    }))
}

/// Returns the facts of a session's first receipt that its catalog row lacks.
pub(crate) fn begun(store: &Store, instance: &InstanceId) -> Result<Begun, StoreError> {
    let (first, _) = store.catalog().lifetime(instance)?;
    let receipt = match first {
        Some(number) => store.catalog().receipt(number)?,
        None => None,
    };
    let found = receipt.and_then(|receipt| match receipt.act {
        Operation::Begin {
            cleanup_policy,
            container,
            watched,
            agent,
            ..
        } => Some(Begun {
            cleanup_policy,
            container,
            watched,
            agent: agent.filter(|agent| *agent != AgentRef::of_tools()),
        }),
        _ => None,
    });
    Ok(found.unwrap_or_default())
}
