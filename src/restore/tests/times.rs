//! Modification times of what is restored: now, in the recorded order; what was not touched keeps its own.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use super::wrecked;
use crate::capture::tests::Place;
use crate::model::Time;
use crate::restore::tree_writer::Times;

fn at(sec: i64) -> Time {
    Time { sec, nsec: 7 }
}

#[test]
fn ranks_keep_the_recorded_order_and_none_lies_before_now() {
    let now = at(1000);
    for recorded in [
        vec![at(3), at(1), at(2), at(1)],
        vec![at(5000), at(-7), at(1000)],
        vec![at(1)],
        vec![],
    ] {
        let none = HashSet::new();
        let Times::Ranked { ranks, .. } = Times::rank(now, recorded.iter().copied(), none) else {
            panic!("these are ranks");
        };
        for a in &recorded {
            assert!(ranks[a] >= now);
            assert!(ranks[a] < now.plus_nanos(1_000_000), "close to now");
            for b in &recorded {
                assert_eq!(a.cmp(b), ranks[a].cmp(&ranks[b]));
            }
        }
    }
}

fn set(place: &Place, name: &str, age: u64) {
    let file = fs::File::options().write(true).open(place.at(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age))
        .unwrap();
}

fn mtime(place: &Place, name: &str) -> (i64, i64) {
    let meta = fs::metadata(place.at(name)).unwrap();
    (meta.mtime(), meta.mtime_nsec())
}

#[test]
fn what_comes_back_is_new_in_its_old_order_and_what_stayed_is_old() {
    let place = Place::with(&[
        ("older", "1"),
        ("newer", "2"),
        ("middle", "3"),
        ("still", "s"),
        ("d/in", "i"),
    ]);
    for (name, age) in [
        ("older", 3000),
        ("middle", 2000),
        ("newer", 1000),
        ("still", 2500),
    ] {
        set(&place, name, age);
    }
    let baseline = place.take(crate::model::SnapshotKind::Baseline);
    for name in ["older", "newer"] {
        place.write(name, "wrecked");
    }
    fs::remove_file(place.at("middle")).unwrap();
    let closing = place.take(crate::model::SnapshotKind::Closing);
    let session = super::Wrecked {
        place,
        baseline,
        closing,
    };
    let place = &session.place;
    let identity = |name: &str| (fs::metadata(place.at(name)).unwrap().ino(), mtime(place, name));
    let kept = ["still", "d", "d/in"].map(identity);
    let begun = handle_fs::file_clock();
    session.execute(&session.propose()).unwrap();
    let [older, middle, newer] = ["older", "middle", "newer"].map(|name| mtime(place, name));
    assert!(older < middle && middle < newer, "{older:?} {middle:?} {newer:?}");
    assert!(
        older >= (begun.sec, i64::from(begun.nsec)),
        "not older than what the agent built"
    );
    assert_eq!(["still", "d", "d/in"].map(identity), kept);
}

#[test]
fn exact_times_come_back_when_they_are_asked_for() {
    let session = wrecked(&[("d/f", "before")], |place| place.write("d/f", "after"));
    let place = &session.place;
    let recorded = |name: &str| {
        let manifest = session.baseline.manifests[0].as_ref().unwrap();
        let time = manifest.entry(&super::path(name)).unwrap().mtime;
        (time.sec, i64::from(time.nsec))
    };
    let acting = super::RestoreContext {
        observer: &crate::observer::Silent,
        entropy: &place.entropy,
        now: crate::clock::Clock::now(&place.clock),
        uid: 1000,
        inside: false,
        exact_mtimes: true,
    };
    super::execute(&place.store, &session.propose(), &acting).unwrap();
    for name in ["d/f", "d"] {
        assert_eq!(mtime(place, name), recorded(name), "{name}");
    }
}
