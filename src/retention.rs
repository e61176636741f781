//! What is kept, and what is given up: the rules of the operator, a plan of what goes beyond them, and carrying it out. Nothing that
//! is needed to take back what is under way, or was done last, is ever chosen.

mod inventory;
mod policy;
mod prune;
mod reclaimable;

use std::collections::{BTreeMap, VecDeque};

pub use inventory::Held;
pub use prune::{Acting, Pruned, carry_out};
pub use reclaimable::Size;

use crate::config::{Retention, Room};
use crate::model::{InstanceId, PruneReason, PrunedSnapshot, SnapshotId, Time};
use crate::observer::Observer;
use crate::store::{RepackPlan, Store, StoreError};

use inventory::Inventory;
use policy::{Choice, Scope};
use reclaimable::Weights;

/// The rules that apply.
pub struct Rules<'a> {
    /// Those of a workspace; none: of what belongs to no workspace.
    pub of: &'a dyn Fn(Option<&str>) -> Retention,
    /// Those of the whole store.
    pub room: Room,
    /// The session beside which this happens: only what belongs to its workspace goes. `None`: the operator asked, for everything.
    pub own: Option<&'a InstanceId>,
}

/// How closely the store is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// Somebody asked: everything that is worth it is packed anew.
    Thorough,
    /// It happens beside something else: archives are looked at only when there is reason to.
    Passing,
}

/// One snapshot that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Which, and why.
    pub snapshot: PrunedSnapshot,
    /// When it was taken.
    pub taken_at: Time,
}

/// What goes for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many snapshots.
    pub snapshots: u64,
    /// How many bytes become free because of them.
    pub bytes: u64,
}

/// Free space that is missing on the store's file system, and that no deletion here makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that have to stay free.
    pub floor: u64,
    /// Bytes that are missing after all that goes for other reasons.
    pub missing: u64,
    /// Bytes that would become free if everything went that may go.
    pub within_reach: u64,
}

/// What would be done.
#[derive(Default)]
pub struct PrunePlan {
    /// Oldest first.
    pub chosen: Vec<Chosen>,
    /// By reason, in the order in which reasons are asked.
    pub reasons: BTreeMap<PruneReason, Share>,
    /// What the store takes now.
    pub size: Size,
    /// Bytes that will be free because snapshots go; without what is packed anew.
    pub freed: u64,
    /// Bytes of archives that nothing needs even now: a command was killed.
    pub idle: u64,
    /// Archives that were to be replaced when a command was killed, and that others name still.
    pub half_replaced: u64,
    /// What is packed anew.
    pub repack: Option<RepackPlan>,
    /// By so many bytes the store stays larger than its ceiling: what is left is held.
    pub lacking: u64,
    /// Too little is free on the store's file system, and nothing goes for that.
    pub shortage: Option<Shortage>,
    /// What holds all that is left, when that is so.
    pub left: BTreeMap<Held, u64>,
    /// Snapshots whose records are gone or cannot be read: as long as there are any no archive goes.
    pub unreadable: Vec<SnapshotId>,
    /// How many snapshots stay because of what, although a rule would give them up.
    pub held: BTreeMap<Held, u64>,
}

impl PrunePlan {
    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty() && !self.repacks() && self.idle == 0 && self.half_replaced == 0
    }

    /// Whether archives are packed anew.
    #[must_use]
    pub fn repacks(&self) -> bool {
        self.repack.as_ref().is_some_and(|plan| !plan.groups.is_empty())
    }

    /// About how many bytes that makes free.
    #[must_use]
    pub fn repack_gain(&self) -> u64 {
        let groups = self.repack.iter().flat_map(|plan| &plan.groups);
        groups.map(crate::store::RepackGroup::gain).sum()
    }
}

/// The time by which something is old when nobody is asked: no later than the end of the session before the newest one. A clock that
/// jumped ahead makes nothing old until a second session has seen that it is so.
///
/// # Errors
/// [`StoreError`] when the catalog cannot be read.
pub fn steady_now(store: &Store, now: Time) -> Result<Time, StoreError> {
    let sessions = store.catalog().instances()?;
    let before = sessions.get(1).map(|row| row.ended_at.unwrap_or(row.started_at));
    Ok(before.map_or(now, |before| before.min(now)))
}

/// Whether a rule that is cheap to ask gives anything up, so that a plan is worth while.
///
/// # Errors
/// [`StoreError`] when the catalog or a restore that waits cannot be read.
pub fn is_due(store: &Store, rules: &Rules<'_>, now: Time) -> Result<bool, StoreError> {
    let field = Inventory::look(store)?;
    let mut choice = Choice::new(&field, scope(store, rules, &field)?);
    choice.by_rules(rules, now);
    if !choice.is_empty() {
        return Ok(true);
    }
    let size = match rules.room.max_bytes {
        0 => Size::default(),
        _ => Size::of(store)?,
    };
    Ok(need(store, rules.room, size)?.is_some() || store.has_many_small_archives()?)
}

/// Plans. Nothing is changed.
///
/// # Errors
/// As [`is_due`].
pub fn plan(
    store: &Store,
    rules: &Rules<'_>,
    care: Care,
    now: Time,
    observer: &dyn Observer,
) -> Result<PrunePlan, StoreError> {
    let field = Inventory::look(store)?;
    let mut choice = Choice::new(&field, scope(store, rules, &field)?);
    choice.by_rules(rules, now);
    let mut weights = Weights::of(store)?;
    let mut reasons: BTreeMap<PruneReason, Share> = BTreeMap::new();
    for (number, reason) in choice.in_order() {
        let share = reasons.entry(reason).or_default();
        share.snapshots += 1;
        share.bytes += weights.take(field.id(number));
    }
    let repack = |choice: &Choice<'_>| store.plan_repack(&choice.ids(), observer);
    let mut packing = None;
    let whole_sessions = reasons.keys().any(|reason| *reason < PruneReason::Checkpoints);
    if care == Care::Thorough || whole_sessions || store.has_many_small_archives()? {
        packing = Some(repack(&choice)?);
    }
    let (mut lacking, mut shortage) = (0, None);
    if let Some(need) = need(store, rules.room, weights.size)?.filter(|_| weights.unreadable.is_empty()) {
        if packing.is_none() {
            packing = Some(repack(&choice)?);
        }
        let gain: u64 = packing
            .iter()
            .flat_map(|plan| &plan.groups)
            .map(|group| group.gain())
            .sum();
        let added = match rules.own {
            Some(own) => weights.added_by(field.ids_of(own)),
            None => u64::MAX,
        };
        let mut freed = weights.freed + weights.idle + gain;
        let mut batches: VecDeque<Vec<usize>> = choice.by_age().into();
        let mut more = Vec::new();
        let mut go = |batch: Vec<usize>, reason: PruneReason, weights: &mut Weights| {
            let share = reasons.entry(reason).or_default();
            let mut bytes = 0;
            for number in batch {
                bytes += weights.take(field.id(number));
                share.snapshots += 1;
                more.push((number, reason));
            }
            share.bytes += bytes;
            bytes
        };
        while freed < need.too_large
            && let Some(batch) = batches.pop_front()
        {
            freed += go(batch, PruneReason::MaxBytes, &mut weights);
        }
        lacking = need.too_large.saturating_sub(freed);
        if freed < need.too_full {
            // Deleting some of it in vain helps nobody, so it is all that is needed or nothing.
            let mut rest = weights.clone();
            let ids = batches.iter().flatten().map(|number| field.id(*number));
            let within_reach: u64 = ids.map(|id| rest.take(id)).sum();
            let missing = need.too_full - freed;
            // Without what the session itself stored it would be missing as well: something else fills the disk, such as what the
            // session wrote into its mounts, and no history pays for that.
            if missing > within_reach || need.too_full > added {
                shortage = Some(Shortage {
                    free: need.free,
                    floor: need.floor,
                    missing,
                    within_reach,
                });
            } else {
                while freed < need.too_full
                    && let Some(batch) = batches.pop_front()
                {
                    freed += go(batch, PruneReason::MinFree, &mut weights);
                }
            }
        }
        let is_more = !more.is_empty();
        for (number, reason) in more {
            choice.add(number, reason);
        }
        if is_more {
            packing = Some(repack(&choice)?);
        }
    }
    Ok(PrunePlan {
        chosen: choice.chosen(),
        reasons,
        size: weights.size,
        freed: weights.freed,
        // As long as a record cannot be read nothing of this goes.
        idle: if weights.unreadable.is_empty() {
            weights.idle
        } else {
            0
        },
        half_replaced: if weights.unreadable.is_empty() {
            store.half_replaced()?
        } else {
            0
        },
        repack: packing.filter(|plan| !plan.groups.is_empty()),
        lacking,
        shortage,
        left: match lacking {
            0 => BTreeMap::new(),
            _ => choice.left(),
        },
        unreadable: weights.unreadable,
        held: choice.held(),
    })
}

/// Sessions and snapshots eligible for deletion.
fn scope(store: &Store, rules: &Rules<'_>, field: &Inventory) -> Result<Scope, StoreError> {
    let Some(own) = rules.own else {
        return Ok(Scope::All);
    };
    let row = store.catalog().instance(own)?;
    Ok(Scope::Group(row.and_then(|row| field.group_of(&row))))
}

/// Space to free, in bytes.
struct Need {
    too_large: u64,
    too_full: u64,
    free: u64,
    floor: u64,
}

/// `size`: what the store takes; it counts only where there is a ceiling.
fn need(store: &Store, room: Room, size: Size) -> Result<Option<Need>, StoreError> {
    let too_large = match room.max_bytes {
        0 => 0,
        max => size.all().saturating_sub(max),
    };
    // On a small disk a floor made for large ones would let nothing stay.
    let floor = room.min_free.min(store.all_bytes()? / 10);
    let free = store.free_bytes()?;
    let too_full = floor.saturating_sub(free);
    Ok((too_large > 0 || too_full > 0).then_some(Need {
        too_large,
        too_full,
        free,
        floor,
    }))
}

#[cfg(test)]
mod tests;
