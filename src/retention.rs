//! Retention: the operator's policy, a plan of the snapshots that exceed it, and the deletion. A snapshot that is needed to undo
//! current work or the last restore is never chosen.

mod forget;
mod inventory;
mod policy;
mod prune;
mod reclaimable;

use std::collections::{BTreeMap, VecDeque};

pub use forget::{
    ForgetError, ForgetProposal, ForgetSubject, ForgottenSession, HeldPath, KeptCopy, forget, propose,
};
pub use inventory::Held;
pub use prune::{Acting, Pruned, carry_out};
pub use reclaimable::Size;

use crate::config::{Retention, Room};
use crate::model::{InstanceId, PruneReason, PrunedSnapshot, SnapshotId, SnapshotKind, Time};
use crate::observer::Observer;
use crate::store::{RepackPlan, Store, StoreError};

use inventory::Inventory;
use policy::{Choice, Scope, is_older};
use reclaimable::Weights;

/// Retention policy that applies.
pub struct Rules<'a> {
    /// Policy of a workspace; with `None`, that of sessions without a workspace.
    pub of: &'a dyn Fn(Option<&str>) -> Retention,
    /// Limits of the whole store.
    pub room: Room,
    /// Session during which the policy is applied: only snapshots of its group are deleted. `None`: the operator asked, for all of
    /// them.
    pub own: Option<&'a InstanceId>,
}

/// Thoroughness of the search for archives to repack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// For an operator who asked: every archive that is worth it is repacked.
    Thorough,
    /// Beside another command: archives are examined only if there is a reason.
    Passing,
}

/// One snapshot to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Snapshot, with the reason for its deletion.
    pub snapshot: PrunedSnapshot,
    /// Time of its capture.
    pub taken_at: Time,
}

/// Effect of one reason on a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of snapshots deleted for it.
    pub snapshots: u64,
    /// Number of bytes that their deletion frees.
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

/// Plan of what to delete and what to repack.
#[derive(Default)]
pub struct PrunePlan {
    /// Oldest first.
    pub chosen: Vec<Chosen>,
    /// Effect of each reason, in the order in which reasons are checked.
    pub reasons: BTreeMap<PruneReason, Share>,
    /// Current size of the store.
    pub size: Size,
    /// Bytes that the deletion of snapshots frees, without what repacking frees.
    pub freed: u64,
    /// Bytes of archives that nothing needs even now, because a command was killed.
    pub idle: u64,
    /// Number of archives that still exist although a redirect replaces them, because a command was killed.
    pub half_replaced: u64,
    /// Archives to repack; `None` if there are none.
    pub repack: Option<RepackPlan>,
    /// Bytes by which the store stays above its limit, because the remaining snapshots are held.
    pub lacking: u64,
    /// Free space that is missing on the store's file system, if nothing is deleted for it.
    pub shortage: Option<Shortage>,
    /// Number of held snapshots by reason; empty unless `lacking` is above 0.
    pub left: BTreeMap<Held, u64>,
    /// Snapshots whose records are missing or unreadable; while there are any, no archive is deleted.
    pub unreadable: Vec<SnapshotId>,
    /// Number of snapshots that a rule would delete but that are held, by reason.
    pub held: BTreeMap<Held, u64>,
}

impl PrunePlan {
    /// Returns true if there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty() && !self.repacks() && self.idle == 0 && self.half_replaced == 0
    }

    /// Returns true if archives will be repacked.
    #[must_use]
    pub fn repacks(&self) -> bool {
        self.repack.as_ref().is_some_and(|plan| !plan.groups.is_empty())
    }

    /// Returns the approximate number of bytes that repacking frees.
    #[must_use]
    pub fn repack_gain(&self) -> u64 {
        let groups = self.repack.iter().flat_map(|plan| &plan.groups);
        groups.map(crate::store::RepackGroup::gain).sum()
    }
}

/// Returns the time for measuring ages without an operator: at most the end of the session before the newest one. A clock that
/// jumped ahead makes nothing old until a second session has confirmed it.
///
/// # Errors
/// [`StoreError`] when the catalog cannot be read.
pub fn steady_now(store: &Store, now: Time) -> Result<Time, StoreError> {
    let before = store.catalog().end_before_newest()?;
    Ok(before.map_or(now, |before| before.min(now)))
}

/// Plans the deletions and repacks beside another command; `None` if a cheap check finds nothing to do. Changes nothing.
///
/// # Errors
/// [`StoreError`] when the catalog or a restore that waits cannot be read.
pub fn plan_if_due(
    store: &Store,
    rules: &Rules<'_>,
    now: Time,
    observer: &dyn Observer,
) -> Result<Option<PrunePlan>, StoreError> {
    let is_room_needed = || -> Result<bool, StoreError> {
        if adds_little(store, rules)? {
            return Ok(false);
        }
        let archives = store.archive_sizes()?;
        let size = match rules.room.max_bytes {
            0 => Size::default(),
            _ => Size::of(store, &archives)?,
        };
        Ok(need(store, rules.room, size)?.is_some() || store.has_many_small(&archives)?)
    };
    let may_exceed = may_exceed(store, rules, now)?;
    if !may_exceed && !is_room_needed()? {
        return Ok(None);
    }
    let field = Inventory::look(store)?;
    let mut choice = Choice::new(&field, scope(store, rules, &field)?);
    choice.by_rules(rules, now);
    if may_exceed && choice.is_empty() && !is_room_needed()? {
        return Ok(None);
    }
    planned(store, rules, Care::Passing, (&field, choice), observer).map(Some)
}

/// Plans the deletions and repacks. Changes nothing.
///
/// # Errors
/// As [`plan_if_due`].
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
    planned(store, rules, care, (&field, choice), observer)
}

/// Completes what the rules chose to a plan.
fn planned<'f>(
    store: &Store,
    rules: &Rules<'_>,
    care: Care,
    (field, mut choice): (&'f Inventory, Choice<'f>),
    observer: &dyn Observer,
) -> Result<PrunePlan, StoreError> {
    let mut weights = Weights::of(store)?;
    if care == Care::Thorough {
        let unfinished = store.unfinished_imports()?;
        weights.idle += unfinished;
        weights.size.archives += unfinished;
    }
    let mut reasons: BTreeMap<PruneReason, Share> = BTreeMap::new();
    for (number, reason) in choice.in_order() {
        let share = reasons.entry(reason).or_default();
        share.snapshots += 1;
        share.bytes += weights.take(field.id(number));
    }
    let repack = |choice: &Choice<'_>| store.plan_repack(&choice.ids(), observer);
    let mut packing = None;
    let whole_sessions = reasons.keys().any(|reason| *reason < PruneReason::Checkpoints);
    let leave_dead_content = || whole_sessions && weights.have_content_of_their_own(&choice.ids());
    if care == Care::Thorough || leave_dead_content() || store.has_many_small(&store.archive_sizes()?)? {
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
            // Partial deletion does not help, so it is all that is needed or nothing.
            let mut rest = weights.clone();
            let ids = batches.iter().flatten().map(|number| field.id(*number));
            let within_reach: u64 = ids.map(|id| rest.take(id)).sum();
            let missing = need.too_full - freed;
            // Without what the session itself stored it would be missing as well: something else fills the disk, such as what the
            // session wrote into its mounts, and no snapshot is deleted for that.
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
        // While a record is unreadable, none of these is deleted.
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

/// Part of a count by which it may be exceeded until snapshots are deleted beside another command: to delete reads every record of the store, which
/// would otherwise happen after each checkpoint of a session that has as many as it may.
const SLACK: u64 = 8;

/// Returns false if the rules certainly choose nothing of the session's group, or so little that it can wait. Only counts and times are looked at: what
/// is held counts here too, and a recorded time is never later than the one that the rules go by.
fn may_exceed(store: &Store, rules: &Rules<'_>, now: Time) -> Result<bool, StoreError> {
    let own = match rules.own {
        Some(own) => store.catalog().instance(own)?,
        None => None,
    };
    let Some(own) = own.filter(|own| !own.is_imported()) else {
        return Ok(true);
    };
    let kept = (rules.of)(own.workspace.as_deref());
    let is = store.catalog().kept_beside(&own)?;
    let exceeds = |count: u64, limit: u64| limit > 0 && count > limit.saturating_add(limit / SLACK);
    let is_old = |oldest: Option<Time>, days: u64| oldest.is_some_and(|oldest| is_older(oldest, days, now));
    Ok(exceeds(is.sessions, kept.instances.value)
        || exceeds(is.checkpoints.max(is.emergencies), kept.checkpoints.value)
        || is_old(is.oldest, kept.days.value)
        || is_old(is.oldest_checkpoint, kept.checkpoint_days.value))
}

/// Number of snapshots after which a session measures the store beside a checkpoint, however little that added. To measure the store is to look at each
/// of its files, and a disk that is too full for the rules stays too full.
const MEASURED_EACH: u64 = 16;
/// Part of the store's limit that a checkpoint may add without the store being measured.
const SMALL_PART: u64 = 1 << 10;
/// The most bytes that it may add, whatever the limit is.
const LITTLE: u64 = 4 << 20;

/// Returns true if the newest snapshot of the session is a checkpoint that added so little that the store need not be measured for it.
fn adds_little(store: &Store, rules: &Rules<'_>) -> Result<bool, StoreError> {
    let newest = match rules.own {
        Some(own) => store.catalog().newest_with_count(own)?,
        None => None,
    };
    let Some((newest, SnapshotKind::Checkpoint, count)) = newest else {
        return Ok(false);
    };
    let most = match rules.room.max_bytes {
        0 => LITTLE,
        limit => LITTLE.min(limit / SMALL_PART),
    };
    // Twice in a row: the store may be in use at the first time, or another snapshot may come before it is asked for.
    Ok(count % MEASURED_EACH > 1 && store.bytes_brought_by(&newest)? <= most)
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

/// Returns the space to free, if any. `size` is the size of the store; it counts only if there is a limit.
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
