//! Carries a plan out. New archives are written while others use the store; then, for a moment, nobody else does: what is held by now
//! is left out, the rest is given up, and archives go.

use std::collections::HashSet;

use super::inventory::Inventory;
use super::{Chosen, PrunePlan};
use crate::clock::Entropy;
use crate::model::{PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;
use crate::store::{Patience, Store, StoreError, Swept};

/// Who prunes.
pub struct Acting<'a> {
    /// For the names of new archives.
    pub entropy: &'a dyn Entropy,
    /// Told and asked.
    pub observer: &'a dyn Observer,
    /// Wall clock now.
    pub now: Time,
    /// Numeric user.
    pub uid: u32,
    /// By the rules, beside something else: nobody was asked, and nobody waits.
    pub automatic: bool,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The snapshots that were given up.
    pub snapshots: Vec<PrunedSnapshot>,
    /// The receipt that tells of them.
    pub receipt: Option<u64>,
    /// Bytes of their records, which are gone.
    pub records: u64,
    /// What was cleared away.
    pub swept: Swept,
    /// Bytes that are free because archives were packed anew.
    pub repacked: u64,
}

impl Pruned {
    /// Bytes that are free because nothing needs them any more; without what was packed anew.
    #[must_use]
    pub fn freed(&self) -> u64 {
        self.records.saturating_add(self.swept.bytes)
    }
}

/// Does what `plan` says, without what is held by now.
///
/// # Errors
/// [`StoreError::Locked`] when others use the store; or what keeps an archive or a receipt from being written. What was not given up
/// then is as it was.
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
    pruned.records = sole.forget(acting.observer)?;
    for new in repacked {
        pruned.repacked += sole.replace(who, new, acting.observer)?;
    }
    pruned.swept = sole.sweep(acting.observer)?;
    drop(sole);
    pruned.swept.natives = store.drop_natives(acting.observer)?;
    Ok(pruned)
}

/// Those that nothing holds by now: a restore may have begun since, or somebody pinned one.
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
