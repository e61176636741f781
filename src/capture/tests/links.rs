//! Hard link groups: every name but the first knows the first, whatever happens to that one.

use std::fs;

use super::{Meddler, Moment, Place, entry, excluding, only, path};
use crate::model::{Digest, GapReason, SnapshotKind};
use crate::observer::Silent;

/// Makes `d/second`, `first` and `later` one file.
fn group() -> Place {
    let place = Place::with(&[("first", "shared"), ("d/", ""), ("twin", "shared")]);
    for name in ["later", "d/second"] {
        fs::hard_link(place.at("first"), place.at(name)).unwrap();
    }
    place
}

#[test]
fn every_name_but_the_first_names_the_first() {
    let place = group();
    let captured = place.take(SnapshotKind::Baseline);
    let manifest = only(&captured);
    // In manifest order: the entries of a directory come before those of the directories in it.
    for (at, link, nlink) in [
        ("first", None, 3),
        ("later", Some("first"), 3),
        ("d/second", Some("first"), 3),
        ("twin", None, 1),
    ] {
        let entry = entry(manifest, at);
        assert_eq!(entry.link, link.map(path), "{at}");
        assert_eq!(entry.nlink, nlink, "{at}");
        assert_eq!(entry.content().unwrap().digest, Digest::of(b"shared"), "{at}");
    }
    assert_eq!(manifest.totals(), (5, 12), "the group counts once");
    // Known content keeps its groups.
    place.rest();
    let again = place.take(SnapshotKind::Closing);
    assert_eq!(entry(only(&again), "d/second").link, Some(path("first")));
    assert_eq!(place.stored("archives").len(), 1);
}

#[test]
fn an_excluded_first_name_leaves_the_group_to_the_next() {
    let place = group();
    let coverage = excluding(place.coverage(), &["first"]);
    let manifest = place.look_by(&coverage, None, &Silent).manifest.unwrap();
    assert_eq!(entry(&manifest, "later").link, None);
    assert_eq!(
        entry(&manifest, "later").nlink,
        3,
        "so that a restore knows of a name outside"
    );
    assert_eq!(entry(&manifest, "d/second").link, Some(path("later")));
}

#[test]
fn a_first_name_that_vanishes_leaves_the_group_to_the_next() {
    let place = group();
    let done = std::sync::Once::new();
    let meddler = Meddler(|moment| {
        if moment == Moment::Listed {
            done.call_once(|| fs::remove_file(place.at("first")).unwrap());
        }
        false
    });
    let captured = place
        .try_take(
            SnapshotKind::Baseline,
            &[place.coverage()],
            crate::capture::Limits::NONE,
            &meddler,
        )
        .unwrap();
    let manifest = only(&captured);
    let gaps: Vec<_> = manifest
        .gaps()
        .map(|(at, gap)| (at, gap.reason.clone()))
        .collect();
    assert_eq!(gaps, [(path("first"), GapReason::Moving)]);
    assert_eq!(entry(manifest, "later").link, None);
    assert_eq!(
        entry(manifest, "later").content().unwrap().digest,
        Digest::of(b"shared")
    );
    assert_eq!(entry(manifest, "d/second").link, Some(path("later")));
    assert!(!captured.record.complete);
}

#[test]
fn a_name_outside_the_mount_is_counted_and_not_named() {
    let place = Place::with(&[("inside", "i")]);
    fs::hard_link(place.at("inside"), place.base.join("outside")).unwrap();
    let manifest = place.look(None);
    assert_eq!(entry(&manifest, "inside").nlink, 2);
    assert_eq!(entry(&manifest, "inside").link, None);
}

#[test]
fn a_group_that_is_torn_between_two_captures_is_seen_torn() {
    let place = group();
    place.take(SnapshotKind::Baseline);
    fs::remove_file(place.at("later")).unwrap();
    fs::write(place.at("later"), "shared").unwrap();
    let captured = place.take(SnapshotKind::Checkpoint);
    assert_eq!(entry(only(&captured), "later").link, None);
    assert_eq!(entry(only(&captured), "later").nlink, 1);
    assert_eq!(entry(only(&captured), "d/second").link, Some(path("first")));
    assert_eq!(entry(only(&captured), "d/second").nlink, 2);
}
