//! Evidence in the store about who changed a path.

use std::fs;

use super::{NOTHING, Operation, Purpose, Scope, path, propose};
use crate::capture::tests::Place;
use crate::capture::{Request, take};
use crate::clock::Clock as _;
use crate::model::{Ending, InstanceId, SnapshotId, SnapshotKind};
use crate::observer::Silent;
use crate::restore::{
    ChangeHistory, MountRequest, RestoreContext, Verdict, execute, of_instance, of_restore,
};
use crate::store::InstanceRow;

fn begin(place: &Place, instance: &InstanceId) {
    let act = Operation::Begin {
        workspace: None,
        mode: "project".to_owned(),
        mounts: vec![place.coverage()],
        keeper: None,
        scripts: Vec::new(),
        boot: "b".to_owned(),
        command: None,
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: crate::model::SessionTitle::default(),
    };
    place
        .store
        .append(place.clock.now(), 1000, instance, act)
        .unwrap();
}

fn end(place: &Place, instance: &InstanceId) {
    let act = Operation::End {
        ending: Ending::Ended,
        survivors: Vec::new(),
    };
    place
        .store
        .append(place.clock.now(), 1000, instance, act)
        .unwrap();
}

fn capture(place: &Place, instance: &InstanceId, kind: SnapshotKind, late: bool) -> SnapshotId {
    let coverages = [place.coverage()];
    let request = Request {
        late,
        ..Request::of(instance, kind, &coverages, (place.clock.now(), 1000))
    };
    take(&place.store, &request, &Silent, &place.entropy)
        .unwrap()
        .record
        .id
}

fn row(place: &Place, instance: &InstanceId) -> InstanceRow {
    place.store.catalog().instance(instance).unwrap().unwrap()
}

fn witness(place: &Place, instance: &InstanceId) -> ChangeHistory {
    let rows = place.store.catalog().snapshots(instance).unwrap();
    let first = rows
        .last()
        .map_or_else(|| SnapshotId::new([0; 12]), |row| row.id.clone());
    of_instance(&place.store, &row(place, instance), &place.coverage(), &first).unwrap()
}

/// Restores and gives the receipt's number.
fn restore(
    place: &Place,
    target: &SnapshotId,
    witness: ChangeHistory,
    scope: Scope,
    purpose: Purpose,
) -> u64 {
    let record = place.store.record(target).unwrap();
    let request = MountRequest {
        coverage: place.coverage(),
        scope,
        witness,
    };
    let proposal = propose(
        &place.store,
        record,
        purpose,
        vec![request],
        NOTHING,
        false,
        &Silent,
    )
    .unwrap();
    let acting = RestoreContext {
        observer: &Silent,
        entropy: &place.entropy,
        now: place.clock.now(),
        uid: 1000,
        inside: false,
        exact_mtimes: false,
    };
    execute(&place.store, &proposal, &acting)
        .unwrap()
        .receipt
        .unwrap()
}

fn content(place: &Place, at: &str) -> String {
    fs::read_to_string(place.at(at)).unwrap_or_default()
}

#[test]
fn a_seen_end_counts_alone_and_a_late_one_not_at_all() {
    use SnapshotKind::{Baseline, Checkpoint, Closing, Emergency};
    type Taken = &'static [(SnapshotKind, bool)];
    let cases: &[(Taken, bool, usize)] = &[
        (&[(Baseline, false)], false, 1),
        (&[(Baseline, false), (Checkpoint, false)], false, 2),
        (&[(Baseline, false), (Closing, false)], true, 0),
        (
            &[(Baseline, false), (Checkpoint, false), (Closing, true)],
            false,
            2,
        ),
        (
            &[(Baseline, false), (Closing, false), (Emergency, false)],
            true,
            0,
        ),
        (&[(Baseline, false), (Emergency, false)], false, 1),
        (&[], false, 0),
    ];
    for (taken, seen, live) in cases {
        let place = Place::with(&[("f", "f")]);
        let instance = place.instance.clone();
        begin(&place, &instance);
        for (kind, late) in *taken {
            capture(&place, &instance, *kind, *late);
        }
        let found = witness(&place, &instance);
        assert_eq!(
            (found.last.is_some(), found.live.len()),
            (*seen, *live),
            "{taken:?}"
        );
    }
}

#[test]
fn what_a_restore_and_its_undo_left_is_nobodys_later_edit() {
    let place = Place::with(&[("f", "before"), ("gone", "gone")]);
    let instance = place.instance.clone();
    begin(&place, &instance);
    let baseline = capture(&place, &instance, SnapshotKind::Baseline, false);
    place.write("f", "after");
    place.write("made", "made");
    fs::remove_file(place.at("gone")).unwrap();
    capture(&place, &instance, SnapshotKind::Closing, false);
    end(&place, &instance);
    let number = restore(
        &place,
        &baseline,
        witness(&place, &instance),
        Scope::All,
        Purpose::Restore,
    );
    assert_eq!(content(&place, "f"), "before");
    assert!(!place.at("made").exists());

    let row = place.store.catalog().restores(&instance).unwrap().remove(0);
    assert_eq!(row.number, number);
    let undo = of_restore(&place.store, &instance, &place.coverage()).unwrap();
    let changed = row.changed.iter().map(|change| change.path.clone()).collect();
    restore(
        &place,
        &row.emergency,
        undo,
        Scope::Exactly(changed),
        Purpose::Undo(number),
    );
    assert_eq!(content(&place, "f"), "after");
    assert_eq!(content(&place, "made"), "made");
    assert!(!place.at("gone").exists());

    // Again, all of it: neither the restore nor the undo stands in the way.
    restore(
        &place,
        &baseline,
        witness(&place, &instance),
        Scope::All,
        Purpose::Restore,
    );
    assert_eq!(content(&place, "f"), "before");
    assert_eq!(content(&place, "gone"), "gone");
    // But an edit after the restore is one.
    place.write("f", "by hand");
    let now = crate::capture::tests::only(&place.take(SnapshotKind::Emergency)).clone();
    let verdict = witness(&place, &instance).judge(&path("f"), None, now.entry(&path("f")));
    assert_eq!(verdict, Verdict::Later);
}

#[test]
fn what_two_sessions_changed_while_both_lived_is_shared() {
    let place = Place::with(&[("both", "0"), ("mine", "0"), ("theirs", "0")]);
    let (one, two) = (place.instance.clone(), InstanceId::new([2; 8], "two"));
    for instance in [&one, &two] {
        begin(&place, instance);
        capture(&place, instance, SnapshotKind::Baseline, false);
    }
    place.write("both", "1");
    place.write("mine", "1");
    capture(&place, &one, SnapshotKind::Closing, false);
    end(&place, &one);
    place.write("theirs", "1");
    capture(&place, &two, SnapshotKind::Closing, false);
    end(&place, &two);
    let verdict = |instance: &InstanceId, at: &str| {
        let now = crate::capture::tests::only(&place.take(SnapshotKind::Emergency)).clone();
        witness(&place, instance).judge(&path(at), None, now.entry(&path(at)))
    };
    // No event tells who changed what while both lived.
    for at in ["both", "mine"] {
        assert_eq!(verdict(&one, at), Verdict::Shared(vec![two.clone()]));
        assert_eq!(verdict(&two, at), Verdict::Shared(vec![one.clone()]));
    }
    assert_eq!(verdict(&two, "theirs"), Verdict::Ours);
    assert_eq!(verdict(&one, "theirs"), Verdict::Later);

    // One that began after the first had ended shares nothing.
    let three = InstanceId::new([3; 8], "three");
    begin(&place, &three);
    capture(&place, &three, SnapshotKind::Baseline, false);
    place.write("both", "3");
    capture(&place, &three, SnapshotKind::Closing, false);
    end(&place, &three);
    assert_eq!(verdict(&three, "both"), Verdict::Ours);
}
