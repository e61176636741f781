//! Names of a directory that did not change since the reference are taken from there; any doubt makes it be listed.
//!
//! The proof of "not listed": the reference does not name a file that is there, and it stays unnamed.

use std::fs;
use std::sync::Arc;

use super::{Place, excluding, names, path};
use crate::capture::{Earlier, LiveScan, look};
use crate::model::{Coverage, Directory, Gap, GapReason, Listing, Manifest, Name, Time};
use crate::observer::Silent;

const FILES: [(&str, &str); 3] = [("dir/seen", "1"), ("dir/unseen", "2"), ("dir/deep/file", "3")];

/// Returns the manifest without `dir/unseen`, with another change to the directory.
fn forge(manifest: &Manifest, change: impl FnOnce(&mut Directory)) -> Manifest {
    let mut manifest = manifest.clone();
    let directory = manifest
        .directories
        .iter_mut()
        .find(|dir| dir.path == path("dir"));
    let directory = Arc::make_mut(directory.unwrap());
    directory
        .entries
        .retain(|entry| entry.name != Name::new(b"unseen").unwrap());
    change(directory);
    manifest
}

fn sees(place: &Place, forged: &Manifest, started_at: Time, same_rules: bool) -> bool {
    let reference = Some(Earlier {
        manifest: forged,
        started_at,
        same_rules,
        written_back: true,
    });
    let request = LiveScan {
        layout: place.store.layout(),
        coverage: &place.coverage(),
        reference,
        check_content: false,
    };
    let seen = look(&request, &Silent).unwrap().manifest.unwrap();
    assert!(seen.entry(&path("dir/seen")).is_some() && seen.entry(&path("dir/deep/file")).is_some());
    seen.entry(&path("dir/unseen")).is_some()
}

#[test]
fn a_directory_that_stood_still_is_not_listed() {
    let place = Place::with(&FILES);
    place.rest();
    let forged = forge(&place.look(None), |_| {});
    assert!(!sees(&place, &forged, handle_fs::file_clock(), true));
}

#[test]
fn every_doubt_makes_it_be_listed() {
    type Doubt = (&'static str, fn(&mut Directory));
    let doubts: [Doubt; 4] = [
        ("something was left out", |dir| dir.all_named = false),
        ("it was not settled", |dir| dir.listing = Listing::Unsettled),
        ("only some names were asked for", |dir| {
            dir.listing = Listing::Partial
        }),
        ("a name is missing", |dir| {
            dir.gaps.push(Gap {
                name: Name::new(b"unseen").unwrap(),
                reason: GapReason::Moving,
            });
        }),
    ];
    let place = Place::with(&FILES);
    place.rest();
    let plain = place.look(None);
    let now = handle_fs::file_clock();
    for (what, doubt) in doubts {
        assert!(sees(&place, &forge(&plain, doubt), now, true), "{what}");
    }
    let forged = forge(&plain, |_| {});
    assert!(sees(&place, &forged, now, false), "another coverage");
    let made = plain.entry(&path("dir")).unwrap().ctime;
    assert!(
        sees(&place, &forged, made, true),
        "it changed when the reference began"
    );
}

#[test]
fn what_is_made_removed_or_renamed_in_a_known_directory_is_seen() {
    type Change = (&'static str, fn(&Place));
    let changes: [Change; 4] = [
        ("made", |place| place.write("dir/new", "4")),
        ("removed", |place| fs::remove_file(place.at("dir/seen")).unwrap()),
        ("renamed", |place| {
            fs::rename(place.at("dir/seen"), place.at("dir/moved")).unwrap()
        }),
        ("replaced", |place| {
            fs::remove_dir_all(place.at("dir/deep")).unwrap();
            place.write("dir/deep", "a file now");
        }),
    ];
    for (what, change) in changes {
        let place = Place::with(&FILES);
        place.rest();
        let before = place.look(None);
        let now = handle_fs::file_clock();
        change(&place);
        let by_reference = place.look(Some((&before, now)));
        assert_eq!(by_reference, place.look(None), "{what}");
        assert_ne!(by_reference, before, "{what}");
    }
}

#[test]
fn a_change_within_a_file_of_a_known_directory_is_seen_and_the_rest_is_shared() {
    let place = Place::with(&FILES);
    place.rest();
    let before = place.look(None);
    let now = super::long_after();
    place.write("dir/deep/file", "other");
    let after = place.look(Some((&before, now)));
    assert_eq!(after, place.look(None));
    let shared = |at: &str| {
        Arc::ptr_eq(
            before.directory(&path(at)).unwrap(),
            after.directory(&path(at)).unwrap(),
        )
    };
    assert!(shared("dir") && !shared("dir/deep"));
    assert!(!before.shares_all(&after) && before.shares_all(&before.clone()));
}

#[test]
fn what_excludes_left_out_is_told_again() {
    let place = Place::with(&[
        ("src/main.rs", "1"),
        ("target/huge", "2"),
        ("src/deep/x.log", "3"),
        ("src/deep/y", "4"),
    ]);
    place.rest();
    let coverage: Coverage = excluding(place.coverage(), &["target/", "*.log"]);
    let first = place.look_by(&coverage, None, &Silent);
    let manifest = first.manifest.unwrap();
    let again = place.look_by(&coverage, Some((&manifest, handle_fs::file_clock())), &Silent);
    let told = |skipped: &[crate::capture::Skipped]| names(skipped.iter().map(|skipped| &skipped.path));
    assert_eq!(told(&first.skipped), ["src/deep/x.log", "target"]);
    assert_eq!(again.skipped, first.skipped);
    assert_eq!(again.manifest.unwrap(), manifest);
}
