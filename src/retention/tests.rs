//! The rules on small fields that are made by hand.

mod simulation;

use super::Rules;
use super::inventory::{Candidate, Group, Held, Inventory, Session};
use super::policy::{Choice, Scope};
use crate::config::{Retention, Room, Sourced, ValueSource};
use crate::model::{InstanceId, PruneReason, SnapshotId, SnapshotKind, Time};
use crate::store::SnapshotRow;

const DAY: i64 = 86_400;

/// Builds a field, newest session first.
struct Plot(Inventory);

impl Plot {
    fn new() -> Self {
        Self(Inventory {
            groups: vec![Group::Workspace("shop".to_owned())],
            sessions: Vec::new(),
            shots: Vec::new(),
        })
    }

    /// A session that ended `age` days ago, with snapshots newest first.
    fn session(mut self, age: i64, kinds: &[SnapshotKind]) -> Self {
        let session = self.0.sessions.len();
        let first = self.0.shots.len();
        for (at, kind) in kinds.iter().enumerate() {
            let number = u8::try_from(first + at).unwrap();
            let [a, b] = [number / 32, number % 32];
            let taken = Time {
                sec: -age * DAY - i64::from(number),
                nsec: 0,
            };
            self.0.shots.push(Candidate {
                row: SnapshotRow {
                    id: SnapshotId::new([a, b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                    instance: InstanceId::new([u8::try_from(session).unwrap(); 8], "shop"),
                    kind: *kind,
                    late: false,
                    name: None,
                    message: None,
                    taken_at: taken,
                    complete: true,
                    entries: 0,
                    bytes: 0,
                    receipt: None,
                },
                taken_at: taken,
                session,
                held: None,
            });
        }
        let is_restorable = kinds.iter().any(|kind| matches!(kind, Baseline | Checkpoint));
        let is_first = self.0.sessions.iter().all(|session| !session.is_restorable);
        self.0.sessions.push(Session {
            group: 0,
            is_over: true,
            is_restorable,
            is_newest: is_restorable && is_first,
            is_pinned: false,
            ended_at: Time {
                sec: -age * DAY,
                nsec: 0,
            },
            snapshots: (first..first + kinds.len()).collect(),
        });
        self
    }

    fn hold(mut self, number: usize, held: Held) -> Self {
        self.0.shots[number].held = Some(held);
        self
    }

    /// Makes all sessions go on.
    fn hold_all_sessions(mut self) -> Self {
        self.0
            .sessions
            .iter_mut()
            .for_each(|session| session.is_over = false);
        self
    }

    fn goes(&self, change: impl Fn(&mut Retention)) -> Vec<(usize, PruneReason)> {
        let mut rules = Retention::unlimited();
        change(&mut rules);
        let mut choice = Choice::new(&self.0, Scope::All);
        choice.by_rules(
            &Rules {
                of: &|_| rules.clone(),
                room: Room::default(),
                own: None,
            },
            Time::default(),
        );
        choice.in_order()
    }
}

fn set(value: u64) -> Sourced<u64> {
    Sourced {
        value,
        source: ValueSource::Flag { name: "test" },
    }
}

use SnapshotKind::{Baseline, Checkpoint, Closing, Emergency};

#[test]
fn without_limits_everything_stays() {
    let plot = Plot::new()
        .session(900, &[Closing, Checkpoint, Baseline])
        .session(999, &[Baseline]);
    assert_eq!(plot.goes(|_| {}), []);
}

#[test]
fn sessions_go_by_number_and_by_age_and_the_newest_never() {
    let plot = Plot::new()
        .session(40, &[Closing, Baseline])
        .session(41, &[Closing, Baseline])
        .session(42, &[Baseline]);
    let by_number = plot.goes(|rules| rules.instances = set(2));
    assert_eq!(by_number, [(4, PruneReason::Instances)]);
    let by_age = plot.goes(|rules| rules.days = set(30));
    assert_eq!(
        by_age,
        [
            (2, PruneReason::Days),
            (3, PruneReason::Days),
            (4, PruneReason::Days)
        ]
    );
    assert_eq!(plot.goes(|rules| rules.days = set(41)), [(4, PruneReason::Days)]);
}

#[test]
fn sessions_without_a_baseline_go_first_and_push_out_no_other() {
    let plot = Plot::new()
        .session(1, &[Closing])
        .session(2, &[Closing])
        .session(3, &[Closing, Baseline])
        .session(4, &[Closing, Baseline]);
    let by_number = |instances| plot.goes(move |rules| rules.instances = set(instances));
    assert_eq!(by_number(3), [(1, PruneReason::Instances)]);
    assert_eq!(
        by_number(2),
        [(0, PruneReason::Instances), (1, PruneReason::Instances)]
    );
    // The newest that can be restored stays.
    assert_eq!(
        by_number(1).into_iter().map(|(at, _)| at).collect::<Vec<_>>(),
        [0, 1, 4, 5]
    );
    let batches = Choice::new(&plot.0, Scope::All).by_age();
    assert_eq!(batches, [vec![1], vec![0], vec![4, 5]]);
}

#[test]
fn what_is_held_stays_and_what_is_pinned_does_not_count() {
    let plot = Plot::new()
        .session(1, &[Closing, Baseline])
        .session(2, &[Emergency, Closing, Baseline])
        .hold(2, Held::LastRestore)
        .hold(4, Held::LastRestore);
    assert_eq!(
        plot.goes(|rules| rules.instances = set(1)),
        [(3, PruneReason::Instances)]
    );
    let mut pinned = Plot::new()
        .session(1, &[Baseline])
        .session(2, &[Baseline])
        .session(3, &[Baseline]);
    pinned.0.sessions[1].is_pinned = true;
    assert_eq!(pinned.goes(|rules| rules.instances = set(2)), []);
}

#[test]
fn a_session_that_lives_goes_by_no_rule_of_sessions() {
    let mut plot = Plot::new()
        .session(1, &[Baseline])
        .session(99, &[Checkpoint, Checkpoint, Baseline]);
    plot.0.sessions[1].is_over = false;
    assert_eq!(
        plot.goes(|rules| (rules.instances, rules.days) = (set(1), set(3))),
        []
    );
    assert_eq!(
        plot.goes(|rules| rules.checkpoints = set(1)),
        [(2, PruneReason::Checkpoints)]
    );
}

#[test]
fn a_ring_counts_over_sessions_and_leaves_pinned_ones_out() {
    let plot = Plot::new()
        .session(1, &[Checkpoint, Checkpoint, Baseline])
        .session(2, &[Emergency, Checkpoint, Checkpoint, Emergency, Baseline])
        .hold(1, Held::Pinned);
    assert_eq!(
        plot.goes(|rules| rules.checkpoints = set(2)),
        [(5, PruneReason::Checkpoints)]
    );
    assert_eq!(
        plot.goes(|rules| rules.checkpoints = set(1)),
        [
            (4, PruneReason::Checkpoints),
            (5, PruneReason::Checkpoints),
            (6, PruneReason::Checkpoints)
        ]
    );
    assert_eq!(
        plot.goes(|rules| rules.checkpoint_days = set(1)),
        [(4, PruneReason::CheckpointDays), (5, PruneReason::CheckpointDays)]
    );
}

/// A session of which two snapshots were taken before those of a younger one, and one after them.
fn beside_each_other() -> Plot {
    // 0 and 1 are the younger session's.
    let mut plot = Plot::new()
        .session(3, &[Checkpoint, Checkpoint])
        .session(5, &[Checkpoint, Checkpoint, Checkpoint]);
    // In the order of the chain, newest first: the older session's newest one, both of the younger, the rest of the older.
    plot.0.shots.swap(0, 2);
    plot.0.shots.swap(1, 2);
    for (number, age) in (0..).zip([1, 3, 3, 5, 5]) {
        let taken = Time {
            sec: -age * DAY - number,
            nsec: 0,
        };
        let shot = &mut plot.0.shots[usize::try_from(number).unwrap()];
        (shot.row.taken_at, shot.taken_at) = (taken, taken);
    }
    for session in 0..2 {
        let shots = plot.0.shots.iter().zip(0..);
        let own = shots.filter(|(shot, _)| shot.session == session);
        plot.0.sessions[session].snapshots = own.map(|(_, number)| number).collect();
    }
    plot.0.sessions[1].ended_at = Time { sec: -DAY, nsec: 0 };
    plot.0.never_back();
    plot
}

#[test]
fn of_sessions_beside_each_other_the_older_snapshots_go() {
    use PruneReason::{CheckpointDays, Checkpoints};
    let plot = beside_each_other();
    assert_eq!(
        plot.goes(|rules| rules.checkpoints = set(3)),
        [(3, Checkpoints), (4, Checkpoints)]
    );
    assert_eq!(
        plot.goes(|rules| rules.checkpoint_days = set(4)),
        [(3, CheckpointDays), (4, CheckpointDays)]
    );
    let singly = Choice::new(&plot.hold_all_sessions().0, Scope::All).by_age();
    assert_eq!(singly, [[4], [3], [2], [1], [0]]);
}

#[test]
fn a_session_that_ended_while_an_older_one_went_on_is_as_old_as_its_end() {
    let plot = beside_each_other();
    let day = |session: usize| plot.0.sessions[session].ended_at.sec / DAY;
    assert_eq!((day(0), day(1)), (-3, -1));
}

#[test]
fn for_want_of_room_the_older_one_goes_first_though_the_clock_was_set_back() {
    let mut plot = Plot::new()
        .session(1, &[Closing, Checkpoint, Checkpoint, Baseline])
        .hold(0, Held::Newest)
        .hold(3, Held::Newest);
    let late = Time { sec: DAY, nsec: 0 };
    (plot.0.shots[2].row.taken_at, plot.0.shots[2].taken_at) = (late, late);
    plot.0.never_back();
    let batches = Choice::new(&plot.0, Scope::All).by_age();
    assert_eq!(batches, [vec![2], vec![1]]);
}

#[test]
fn for_want_of_room_old_sessions_go_before_checkpoints_and_what_frames_the_newest_never() {
    let plot = Plot::new()
        .session(1, &[Closing, Checkpoint, Checkpoint, Baseline])
        .session(2, &[Closing, Baseline])
        .session(3, &[Baseline])
        .hold(0, Held::Newest)
        .hold(3, Held::Newest)
        .hold(5, Held::Pinned);
    let batches = Choice::new(&plot.0, Scope::All).by_age();
    assert_eq!(batches, [vec![6], vec![4], vec![2], vec![1]]);
}
