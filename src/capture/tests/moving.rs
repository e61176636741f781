//! Files that change while they are read: read again until they hold still, or flagged.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Meddler, Moment, Place, at, entry, excluding, only, path};
use crate::capture::{Captured, Limits};
use crate::model::{Digest, GapReason, SnapshotKind};

/// Size of a file that is not read at once into memory.
const LARGE: usize = (4 << 20) + 4096;

fn append(place: &Place) {
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(place.at("file"))
        .unwrap();
    file.write_all(b"+").unwrap();
}

/// Captures, and calls `deed` at the given reads of a file, counted from 0.
fn take_while(place: &Place, at: impl Fn(usize) -> bool + Send + Sync, deed: fn(&Place)) -> Captured {
    let reads = AtomicUsize::new(0);
    let meddler = Meddler(|moment| {
        if moment == Moment::Read && at(reads.fetch_add(1, Ordering::Relaxed)) {
            deed(place);
        }
        false
    });
    place
        .try_take(
            SnapshotKind::Baseline,
            &[place.coverage()],
            Limits::NONE,
            &meddler,
        )
        .unwrap()
}

#[test]
fn a_file_that_moves_once_is_read_again() {
    for size in [10, LARGE] {
        let place = Place::with(&[("calm", "calm")]);
        place.write("file", vec![b'a'; size]);
        // The first read is that of `calm`.
        let captured = take_while(&place, |number| number == 1, append);
        let found = entry(only(&captured), "file");
        assert!(!found.unstable, "{size}");
        assert!(captured.record.complete, "{size}");
        let now = fs::read(place.at("file")).unwrap();
        assert_eq!(now.len(), size + 1, "{size}: it did move");
        assert_eq!(
            found.content().unwrap().digest,
            Digest::of(&now),
            "{size}: what it is in the end"
        );
        let contents = only(&captured)
            .entries()
            .filter_map(|(_, e)| e.content().copied())
            .collect::<Vec<_>>();
        crate::capture::read_back(&place.store, &captured.record, contents, &crate::observer::Silent)
            .unwrap();
    }
}

#[test]
fn a_file_that_will_not_hold_still_is_kept_and_flagged() {
    for size in [10, LARGE] {
        let place = Place::with(&[("calm", "calm")]);
        place.write("file", vec![b'a'; size]);
        let captured = take_while(&place, |number| number > 0, append);
        let found = entry(only(&captured), "file");
        assert!(found.unstable, "{size}");
        assert!(!captured.record.complete, "{size}");
        assert_eq!(captured.record.mounts[0].gaps[0].path, path("file"), "{size}");
        assert!(!entry(only(&captured), "calm").unstable, "{size}");
        // What the manifest says is what is stored, whatever the file is by now.
        let content = *found.content().unwrap();
        crate::capture::read_back(
            &place.store,
            &captured.record,
            [content],
            &crate::observer::Silent,
        )
        .unwrap();
    }
}

#[test]
fn a_flagged_file_is_read_again_the_next_time() {
    let place = Place::with(&[("calm", "calm"), ("file", "moving")]);
    assert!(entry(only(&take_while(&place, |number| number > 0, append)), "file").unstable);
    place.rest();
    let next = place.take(SnapshotKind::Closing);
    let now = fs::read(place.at("file")).unwrap();
    let found = entry(only(&next), "file");
    assert!(!found.unstable);
    assert_eq!(found.content().unwrap().digest, Digest::of(&now));
    assert!(next.record.complete);
}

#[test]
fn a_file_that_shrinks_or_vanishes_under_the_reader_never_ends_the_capture() {
    let cut: fn(&Place) = |place| {
        let file = fs::OpenOptions::new().write(true).open(place.at("file")).unwrap();
        file.set_len(1).unwrap();
    };
    let place = Place::with(&[("calm", "calm")]);
    place.write("file", vec![b'a'; LARGE]);
    let captured = take_while(&place, |number| number == 1, cut);
    assert_eq!(
        entry(only(&captured), "file").content().unwrap().digest,
        Digest::of(b"a")
    );

    let remove: fn(&Place) = |place| fs::remove_file(place.at("file")).unwrap();
    let place = Place::with(&[("calm", "calm"), ("file", "soon gone")]);
    let captured = take_while(&place, |number| number == 0, remove);
    let gaps: Vec<_> = only(&captured)
        .gaps()
        .map(|(at, gap)| (at, gap.reason.clone()))
        .collect();
    assert_eq!(gaps, [(path("file"), GapReason::Moving)]);
}

#[test]
fn a_writer_that_never_rests_gives_a_whole_version_or_a_flag() {
    let place = Place::new();
    let versions: Vec<Vec<u8>> = (b'a'..b'd').map(|letter| vec![letter; 1 << 16]).collect();
    place.write("file", &versions[0]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut turn = 0;
            while !stop.load(Ordering::Relaxed) {
                turn += 1;
                place.write("file.new", &versions[turn % versions.len()]);
                fs::rename(place.at("file.new"), place.at("file")).unwrap();
            }
        });
        for _ in 0..3 {
            let manifest = place.look(None);
            if let Some(found) = manifest.entry(&path("file")) {
                let digest = found.content().unwrap().digest;
                let whole = versions.iter().any(|version| digest == Digest::of(version));
                assert!(whole || found.unstable, "a mix that says nothing");
            } else {
                assert!(!manifest.lacks(&[]).is_empty(), "the file was always there");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_comes_while_one_beside_it_is_read_is_named() {
    let place = Place::with(&[("d/db", "half a transaction"), ("e/f", "f")]);
    let coverage = excluding(place.coverage(), &["*.log"]);
    let meddler = at(Moment::Read, || {
        place.write("d/db-journal", "the other half");
        place.write("d/x.log", "excluded");
        fs::create_dir_all(place.at("d/directory")).unwrap();
    });
    let taken = place.try_take(SnapshotKind::Baseline, &[coverage], Limits::NONE, &meddler);
    let record = taken.unwrap().record;
    assert_eq!(record.mounts[0].changed_meanwhile, [path("d/db-journal")]);
}
