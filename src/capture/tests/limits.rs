//! A mount that exceeds a limit is refused before a byte is written, and the error names the biggest directories.

use std::fs;

use super::{Place, coverage, shows_holes};
use crate::capture::{CaptureError, Captured, Limits};
use crate::model::SnapshotKind;
use crate::observer::Silent;

fn try_take(place: &Place, max_entries: u64, max_bytes: u64) -> Result<Captured, CaptureError> {
    let limits = Limits {
        max_entries,
        max_bytes,
    };
    place.try_take(SnapshotKind::Baseline, &[place.coverage()], limits, &Silent)
}

fn tree() -> Place {
    let place = Place::with(&[("few/one", &"b".repeat(9000)), ("z", "z")]);
    for number in 0..12 {
        place.write(&format!("many/deep/er/{number}"), "c");
    }
    place
}

#[test]
fn entries_and_bytes_are_limited_to_the_last_one() {
    // few, few/one, many, many/deep, many/deep/er, twelve files in it, z
    let (entries, bytes) = (18, 9000 + 12 + 1);
    let place = tree();
    for (max_entries, max_bytes, refused) in [
        (entries, bytes, None),
        (entries - 1, bytes, Some((true, entries - 1))),
        (entries, bytes - 1, Some((false, bytes - 1))),
        (0, 0, Some((true, 0))),
    ] {
        match (try_take(&place, max_entries, max_bytes), refused) {
            (Ok(_), None) => {}
            (Err(CaptureError::Limit { entries, limit, .. }), Some(expected)) => {
                assert_eq!((entries, limit), expected);
            }
            (other, _) => panic!("{max_entries} {max_bytes}: {:?}", other.map(|c| c.record)),
        }
    }
}

#[test]
fn the_biggest_directories_are_named_and_nothing_is_written() {
    let place = tree();
    for (max_entries, max_bytes, expected) in [
        (17, 1 << 20, ["many", "many/deep", "few"]),
        (1000, 9010, ["few", "many", "many/deep"]),
    ] {
        let Err(CaptureError::Limit { biggest, path, .. }) = try_take(&place, max_entries, max_bytes) else {
            panic!("it must be refused");
        };
        assert_eq!(path, place.root);
        let paths: Vec<_> = biggest.iter().map(|big| big.path.as_bytes()).collect();
        assert_eq!(paths, expected.map(str::as_bytes));
    }
    for directory in ["archives", "snapshots", "tmp"] {
        assert!(place.stored(directory).is_empty(), "{directory}");
    }
}

#[test]
fn holes_and_second_names_cost_nothing() {
    let place = Place::with(&[("file", &"b".repeat(5000))]);
    fs::hard_link(place.at("file"), place.at("again")).unwrap();
    try_take(&place, 10, 5000).unwrap();
    if !shows_holes(&place) {
        crate::skipped::skipped("what this system says of holes is not believed");
        return;
    }
    let holes = fs::File::create(place.at("holes")).unwrap();
    holes.set_len(1 << 40).unwrap();
    try_take(&place, 10, 5000 + 4096).unwrap();
}

#[test]
fn the_limit_holds_over_all_mounts_and_counts_each_as_the_walk_does() {
    let place = Place::with(&[("one/a", "a"), ("two/b", "b")]);
    let holes = fs::File::create(place.at("one/holes")).unwrap();
    // Less than the limit where holes cost as much as data.
    holes
        .set_len(if shows_holes(&place) { 1 << 40 } else { 1 << 10 })
        .unwrap();
    let both = [
        coverage(&place.at("one"), "one"),
        coverage(&place.at("two"), "two"),
    ];
    let take = |max_entries, max_bytes| {
        let limits = Limits {
            max_entries,
            max_bytes,
        };
        place.try_take(SnapshotKind::Baseline, &both, limits, &Silent)
    };
    take(3, 1 << 20).unwrap();
    let Err(CaptureError::Limit { path, limit, .. }) = take(2, 1 << 20) else {
        panic!("three entries are more than two");
    };
    assert_eq!(path, place.at("two"));
    assert_eq!(limit, 2, "what was agreed, not what the first mount left");
}
