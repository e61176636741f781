//! Executes a plan. New archives are written while other processes use the store; then it is locked for a moment: snapshots that
//! are held by now stay, the others are deleted, and archives are removed.

use std::collections::HashSet;

use super::inventory::Inventory;
use super::{Chosen, PrunePlan};
use crate::clock::Entropy;
use crate::model::{PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;
use crate::store::{Patience, Repacked, Sole, Store, StoreError, Swept};

/// Caller of a prune, with the services that it needs.
pub struct Acting<'a> {
    /// Source of randomness for the names of new archives.
    pub entropy: &'a dyn Entropy,
    /// Observer that receives the progress and can cancel.
    pub observer: &'a dyn Observer,
    /// Wall clock now.
    pub now: Time,
    /// Numeric user.
    pub uid: u32,
    /// True if the policy is applied beside another command: the operator did not confirm it, and does not wait for it.
    pub automatic: bool,
}

/// Result of a prune.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Snapshots that were deleted.
    pub snapshots: Vec<PrunedSnapshot>,
    /// Number of the receipt that records them; `None` if no snapshot was deleted.
    pub receipt: Option<u64>,
    /// Bytes of the deleted records.
    pub records: u64,
    /// Result of the cleanup after the deletion.
    pub swept: Swept,
    /// Bytes that repacking freed.
    pub repacked: u64,
}

impl Pruned {
    /// Returns the bytes freed by deleting what nothing needs any more, without what repacking freed.
    #[must_use]
    pub fn freed(&self) -> u64 {
        self.records.saturating_add(self.swept.bytes)
    }
}

/// Executes `plan`, except for snapshots that are held by now.
///
/// # Errors
/// [`StoreError::Locked`] if another process uses the store; or the error of writing an archive or a receipt. What was not deleted
/// by then is unchanged. [`StoreError::Unfinished`] if the snapshots are deleted, and not all of their bytes are removed.
pub fn carry_out(store: &Store, plan: PrunePlan, acting: &Acting<'_>) -> Result<Pruned, StoreError> {
    let who = (acting.now, acting.uid);
    let mut pruned = Pruned::default();
    let chosen = plan.chosen;
    let repacked = match plan.repack {
        Some(repack) => {
            let _shared = store.share()?;
            store.repack(repack, acting.entropy, acting.observer)?
        }
        None => Vec::new(),
    };
    acting.observer.reached("prune-planned");
    let patience = if acting.automatic {
        Patience::Short
    } else {
        Patience::Long
    };
    let sole = store.exclusive(patience)?;
    let gone = still_free(store, chosen)?;
    if !gone.is_empty() {
        pruned.receipt = Some(sole.give_up(who, acting.automatic, gone.clone(), plan.freed)?);
        acting.observer.reached("prune-receipt");
    }
    pruned.snapshots = gone;
    let removed = remove((store, &sole), repacked, acting, &mut pruned);
    let removed = removed.and_then(|()| {
        drop(sole);
        pruned.swept.natives = store.drop_natives(acting.observer)?;
        Ok(())
    });
    match (removed, pruned.receipt) {
        (Ok(()), _) => Ok(pruned),
        (Err(error), Some(receipt)) => Err(StoreError::behind(receipt)(error)),
        (Err(error), None) => Err(error),
    }
}

/// Removes the records that are not listed any more, replaces archives by the repacked ones, and removes unused archives.
fn remove(
    (store, sole): (&Store, &Sole<'_>),
    repacked: Vec<Repacked>,
    acting: &Acting<'_>,
    pruned: &mut Pruned,
) -> Result<(), StoreError> {
    pruned.records = sole.forget(acting.observer)?;
    for new in repacked {
        pruned.repacked += sole.replace((acting.now, acting.uid), new, acting.observer)?;
    }
    pruned.swept = sole.sweep(acting.observer)?;
    // Not beside another command: the import may go on after a while. Nor where records cannot be read, which it may bring back.
    if !acting.automatic && pruned.swept.unreadable.is_empty() {
        pruned.swept.bytes += store.drop_unfinished_imports()?;
    }
    Ok(())
}

/// Returns the snapshots that are still not held: since the plan, a restore may have begun, or one may have been pinned.
fn still_free(store: &Store, chosen: Vec<Chosen>) -> Result<Vec<PrunedSnapshot>, StoreError> {
    let field = Inventory::look(store)?;
    let free: HashSet<&SnapshotId> = field
        .shots
        .iter()
        .filter(|shot| shot.held.is_none())
        .map(|shot| &shot.row.id)
        .collect();
    let snapshots = chosen.into_iter().map(|chosen| chosen.snapshot);
    Ok(snapshots.filter(|snapshot| free.contains(&snapshot.id)).collect())
}
