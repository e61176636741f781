//! Selection of snapshots by each rule. Works on numbers and times alone; the store is not accessed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::inventory::{Candidate, Held, Inventory, Session};
use super::{Chosen, Rules};
use crate::model::{PruneReason, PrunedSnapshot, SnapshotId, SnapshotKind, Time};

const DAY: i64 = 24 * 60 * 60;

/// Candidates for deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Everything: the operator asked.
    All,
    /// One group alone; `None`: it has nothing in the store.
    Group(Option<usize>),
}

impl Scope {
    fn covers(self, group: usize) -> bool {
        match self {
            Self::All => true,
            Self::Group(own) => own == Some(group),
        }
    }
}

/// Snapshots chosen so far.
pub(super) struct Choice<'f> {
    field: &'f Inventory,
    scope: Scope,
    /// Reason for each deletion, by the number of the snapshot.
    reasons: BTreeMap<usize, PruneReason>,
    /// Snapshots that a rule would delete but that are held, with the reason.
    held: BTreeMap<usize, Held>,
}

impl<'f> Choice<'f> {
    pub(super) fn new(field: &'f Inventory, scope: Scope) -> Self {
        Self {
            field,
            scope,
            reasons: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    fn shot(&self, number: usize) -> Option<&'f Candidate> {
        self.field.shots.get(number)
    }

    fn goes(&self, number: usize) -> bool {
        self.reasons.contains_key(&number)
    }

    /// Chooses a snapshot for deletion, unless it is held.
    pub(super) fn add(&mut self, number: usize, reason: PruneReason) {
        match self.shot(number).and_then(|shot| shot.held) {
            Some(held) => {
                self.held.insert(number, held);
            }
            None => {
                self.reasons.entry(number).or_insert(reason);
            }
        }
    }

    /// Chooses the snapshots that exceed a count or an age.
    pub(super) fn by_rules(&mut self, rules: &Rules<'_>, now: Time) {
        let scope = self.scope;
        let groups = self.field.groups.iter().enumerate();
        for (group, name) in groups.filter(|(group, _)| scope.covers(*group)) {
            let kept = (rules.of)(name.workspace());
            self.sessions(group, kept.instances.value, kept.days.value, now);
            for kind in [SnapshotKind::Checkpoint, SnapshotKind::Emergency] {
                self.ring(group, kind, kept.checkpoints.value);
            }
            self.old_checkpoints(group, kept.checkpoint_days.value, now);
        }
    }

    fn sessions(&mut self, group: usize, instances: u64, days: u64, now: Time) {
        let field = self.field;
        let of_group = |session: &&Session| session.group == group && !session.is_pinned;
        let restorable = |session: &&Session| of_group(session) && session.is_restorable;
        let all = field.sessions.iter().filter(restorable).count() as u64;
        // Those of which nothing can be restored go first, and push out no other.
        let (mut count, mut useless) = (0, 0);
        for session in field.sessions.iter().filter(of_group) {
            let place = match session.is_restorable {
                true => {
                    count += 1;
                    count
                }
                false => {
                    useless += 1;
                    all + useless
                }
            };
            let reason = if instances > 0 && place > instances {
                PruneReason::Instances
            } else if is_older(session.ended_at, days, now) {
                PruneReason::Days
            } else {
                continue;
            };
            if session.is_over && !session.is_newest {
                for number in &session.snapshots {
                    self.add(*number, reason);
                }
            }
        }
    }

    /// The snapshots of a kind in a group that are not chosen yet, newest first.
    fn of_kind(&self, group: usize, kind: SnapshotKind) -> Vec<usize> {
        let in_group = |number: &usize| {
            let Some(shot) = self.shot(*number) else {
                return false;
            };
            let session = self.field.sessions.get(shot.session);
            shot.row.kind == kind
                && session.is_some_and(|session| session.group == group)
                && !self.goes(*number)
        };
        (0..self.field.shots.len()).filter(in_group).collect()
    }

    fn ring(&mut self, group: usize, kind: SnapshotKind, keep: u64) {
        if keep == 0 {
            return;
        }
        let is_pinned = |number: &usize| {
            let shot = self.shot(*number);
            shot.is_some_and(|shot| shot.held == Some(Held::Pinned))
        };
        let mut all = self.of_kind(group, kind);
        all.retain(|number| !is_pinned(number));
        for number in all.into_iter().skip(usize::try_from(keep).unwrap_or(usize::MAX)) {
            self.add(number, PruneReason::Checkpoints);
        }
    }

    fn old_checkpoints(&mut self, group: usize, days: u64, now: Time) {
        for number in self.of_kind(group, SnapshotKind::Checkpoint) {
            if self
                .shot(number)
                .is_some_and(|shot| is_older(shot.taken_at, days, now))
            {
                self.add(number, PruneReason::CheckpointDays);
            }
        }
    }

    /// Returns the snapshots that may be deleted to free space, in batches, in the order of deletion.
    ///
    /// Whole sessions come first, those of which nothing can be restored before the others. Then checkpoints and emergency snapshots one by
    /// one. Each oldest first.
    pub(super) fn by_age(&self) -> Vec<Vec<usize>> {
        let in_scope = |shot: &Candidate| {
            let session = self.field.sessions.get(shot.session);
            session.is_some_and(|session| self.scope.covers(session.group))
        };
        let free = |number: &usize| {
            let shot = self.shot(*number);
            shot.is_some_and(|shot| shot.held.is_none() && in_scope(shot)) && !self.goes(*number)
        };
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let mut seen: HashSet<usize> = HashSet::new();
        let over = self.field.sessions.iter().rev();
        let mut over: Vec<&Session> = over
            .filter(|session| session.is_over && !session.is_newest)
            .collect();
        over.sort_by_key(|session| session.is_restorable);
        for session in over {
            let batch: Vec<usize> = session.snapshots.iter().copied().filter(free).collect();
            seen.extend(&batch);
            batches.push(batch);
        }
        let mut numbers: Vec<usize> = (0..self.field.shots.len()).filter(free).collect();
        numbers.retain(|number| !seen.contains(number));
        numbers.retain(|number| {
            let kind = self.shot(*number).map(|shot| shot.row.kind);
            matches!(kind, Some(SnapshotKind::Checkpoint | SnapshotKind::Emergency))
        });
        // Not the time that the record states: the clock may have been set back in between.
        // Of equal times the later one in the list, which is newest first, is the older one.
        numbers.sort_by_key(|number| (self.shot(*number).map(|shot| shot.taken_at), Reverse(*number)));
        batches.extend(numbers.into_iter().map(|number| vec![number]));
        batches.retain(|batch| !batch.is_empty());
        batches
    }

    /// The numbers of what goes, by reason.
    pub(super) fn in_order(&self) -> Vec<(usize, PruneReason)> {
        let mut all: Vec<(usize, PruneReason)> = self.reasons.iter().map(|(at, why)| (*at, *why)).collect();
        all.sort_by_key(|(at, why)| (*why, *at));
        all
    }

    pub(super) fn ids(&self) -> HashSet<SnapshotId> {
        self.reasons
            .keys()
            .filter_map(|number| self.field.id(*number).cloned())
            .collect()
    }

    /// Returns the chosen snapshots, oldest first.
    pub(super) fn chosen(&self) -> Vec<Chosen> {
        let mut all: Vec<Chosen> = self
            .reasons
            .iter()
            .filter_map(|(number, reason)| {
                let row = &self.shot(*number)?.row;
                Some(Chosen {
                    snapshot: PrunedSnapshot {
                        id: row.id.clone(),
                        instance: row.instance.clone(),
                        kind: row.kind,
                        name: row.name.clone(),
                        reason: *reason,
                    },
                    taken_at: row.taken_at,
                })
            })
            .collect();
        all.sort_by(|a, b| (a.taken_at, &a.snapshot.id).cmp(&(b.taken_at, &b.snapshot.id)));
        all
    }

    /// Counts all held snapshots by reason.
    pub(super) fn left(&self) -> BTreeMap<Held, u64> {
        let mut counts = BTreeMap::new();
        for held in self.field.shots.iter().filter_map(|shot| shot.held) {
            *counts.entry(held).or_default() += 1;
        }
        counts
    }

    /// Counts the snapshots that a rule would delete but that are held, by reason.
    pub(super) fn held(&self) -> BTreeMap<Held, u64> {
        let mut counts = BTreeMap::new();
        for held in self.held.values() {
            *counts.entry(*held).or_default() += 1;
        }
        counts
    }
}

/// Returns true if more than `days` days have passed since `then`; never for 0 days.
pub(super) fn is_older(then: Time, days: u64, now: Time) -> bool {
    let limit = i64::try_from(days).ok().and_then(|days| days.checked_mul(DAY));
    days > 0 && limit.is_some_and(|limit| now.sec.saturating_sub(then.sec) > limit)
}
