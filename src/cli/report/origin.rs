//! The origin of a session: what its first receipt says, and the file that it was imported from.

use std::path::PathBuf;

use crate::cli::error::CliError;
use crate::model::{AgentRef, ContainerRef, Digest, InstanceId, Operation, SnapshotId, WatchedMount};
use crate::store::{InstanceRow, Store};

/// Facts of a session's first receipt that its catalog row lacks.
#[derive(Default)]
pub(in crate::cli) struct Begun {
    /// Policy of jackin for a dirty work tree at the end, in jackin's own word.
    pub(in crate::cli) cleanup_policy: Option<String>,
    /// jackin's container that it began for.
    pub(in crate::cli) container: Option<ContainerRef>,
    /// Mounts of which no file is kept.
    pub(in crate::cli) watched: Vec<WatchedMount>,
    /// The agent whose hook began it.
    pub(in crate::cli) agent: Option<AgentRef>,
}

/// The file that a session came from.
pub(in crate::cli) struct Imported {
    /// The file.
    pub(in crate::cli) file: PathBuf,
    /// BLAKE3 of its bytes.
    pub(in crate::cli) digest: Digest,
    /// Snapshot and session that the file was exported from.
    pub(in crate::cli) origin: (SnapshotId, InstanceId),
}

/// The file that an instance came from.
pub(super) fn imported(store: &Store, row: &InstanceRow) -> Result<Option<Imported>, CliError> {
    if !row.is_imported() {
        return Ok(None);
    }
    let receipts = store.catalog().receipts_of(&row.id)?;
    Ok(receipts.into_iter().find_map(|receipt| match receipt.act {
        Operation::Import {
            file, digest, origin, ..
        } => Some(Imported {
            file: file.to_path(),
            digest,
            origin,
        }),
        _ => None,
    }))
}

/// Returns the facts of a session's first receipt that its catalog row lacks.
pub(in crate::cli) fn begun(store: &Store, instance: &InstanceId) -> Result<Begun, CliError> {
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
            agent,
        }),
        _ => None,
    });
    Ok(found.unwrap_or_default())
}
