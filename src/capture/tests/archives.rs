//! Archives that a snapshot writes and needs, and the proof that they read back.

use std::fs;
use std::os::unix::fs::FileExt as _;

use super::{Place, entry, only};
use crate::capture::{CaptureError, Captured, read_back};
use crate::model::{ArchiveId, Content, Digest, Manifest, SnapshotKind, SnapshotRecord};
use crate::observer::Silent;
use crate::store::Blobs;

fn needed(record: &SnapshotRecord) -> Vec<ArchiveId> {
    record.archives.iter().map(|archive| archive.id.clone()).collect()
}

fn contents(manifest: &Manifest) -> Vec<Content> {
    manifest
        .entries()
        .filter_map(|(_, entry)| entry.content().copied())
        .collect()
}

/// Returns the contents of the archive that a capture itself wrote.
fn own(place: &Place, captured: &Captured) -> Blobs {
    let archives = &captured.record.archives;
    let own = archives
        .iter()
        .find(|archive| archive.id == captured.record.id.archive());
    place.store.blobs(std::slice::from_ref(own.unwrap()))
}

/// Flips one bit of an archive.
fn flip(place: &Place, archive: &ArchiveId, at: u64) {
    let path = place.store.layout().archive(archive);
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn an_unchanged_tree_costs_a_record_and_no_archive() {
    let place = Place::with(&[("a", "one"), ("d/b", "two"), ("e/", ""), ("empty", "")]);
    let first = place.take(SnapshotKind::Baseline);
    assert_eq!(needed(&first.record), [first.record.id.archive()]);
    assert_eq!(first.stored, 2, "every file that is not empty");
    place.rest();
    let second = place.take(SnapshotKind::Closing);
    assert_eq!(second.record.archives, first.record.archives);
    assert_eq!(second.record.mounts[0].manifest, first.record.mounts[0].manifest);
    assert_eq!(second.stored, 0);
    assert_eq!(place.stored("archives").len(), 1);
    assert_eq!(place.stored("snapshots").len(), 2);
    assert!(place.stored("tmp").is_empty());
}

#[test]
fn a_snapshot_names_exactly_the_archives_that_it_needs() {
    let place = Place::with(&[("d/a", "one"), ("e/b", "two")]);
    let first = place.take(SnapshotKind::Baseline).record;
    place.write("e/b", "changed");
    let second = place.take(SnapshotKind::Checkpoint);
    assert_eq!(
        needed(&second.record),
        [first.id.archive(), second.record.id.archive()]
    );
    assert_eq!(second.stored, 1);
    assert!(own(&place, &second).contains(&Digest::of(b"changed")));
    // Nothing of the first archive is left.
    fs::remove_dir_all(place.at("d")).unwrap();
    place.rest();
    let third = place.take(SnapshotKind::Checkpoint).record;
    assert_eq!(needed(&third), [second.record.id.archive(), third.id.archive()]);
    for record in [&first, &second.record, &third] {
        let manifest = place.store.manifest(record, &record.mounts[0]).unwrap().unwrap();
        read_back(&place.store, record, contents(&manifest), &Silent).unwrap();
    }
}

#[test]
fn content_that_an_older_archive_holds_is_not_stored_again() {
    let place = Place::with(&[("a", "known"), ("b", "other")]);
    let first = place.take(SnapshotKind::Baseline).record;
    fs::rename(place.at("a"), place.at("moved")).unwrap();
    place.write("copy", "known");
    place.write("new", "new");
    let second = place.take(SnapshotKind::Closing);
    assert_eq!(second.stored, 1);
    assert!(own(&place, &second).contains(&Digest::of(b"new")));
    assert_eq!(needed(&second.record)[0], first.id.archive());
    for at in ["moved", "copy"] {
        assert_eq!(
            entry(only(&second), at).content().unwrap().digest,
            Digest::of(b"known")
        );
    }
}

#[test]
fn after_damage_everything_is_stored_again() {
    let remove: fn(&Place, &ArchiveId) =
        |place, id| fs::remove_file(place.store.layout().archive(id)).unwrap();
    let cut: fn(&Place, &ArchiveId) = |place, id| {
        let path = place.store.layout().archive(id);
        let file = fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(40).unwrap();
    };
    let turn: fn(&Place, &ArchiveId) = |place, id| {
        let path = place.store.layout().archive(id);
        // In the index frame, which lies before the seek table.
        let length = fs::metadata(path).unwrap().len();
        flip(place, id, length - 60);
    };
    for (what, damage) in [("removed", remove), ("cut short", cut), ("one bit", turn)] {
        let place = Place::with(&[("a", "one"), ("d/b", "two")]);
        let first = place.take(SnapshotKind::Baseline).record;
        place.rest();
        damage(&place, &first.id.archive());
        let second = place.take(SnapshotKind::Closing);
        assert!(second.record.complete, "{what}");
        assert_eq!(needed(&second.record), [second.record.id.archive()], "{what}");
        let all = contents(only(&second));
        assert_eq!(second.stored, all.len() as u64, "{what}");
        read_back(&place.store, &second.record, all, &Silent).unwrap();
    }
}

#[test]
fn damage_to_either_of_two_archives_brings_back_what_it_held() {
    for older in [true, false] {
        let place = Place::with(&[("d/a", "one"), ("e/b", "two")]);
        let first = place.take(SnapshotKind::Baseline).record;
        place.rest();
        place.write("e/b", "second");
        let second = place.take(SnapshotKind::Checkpoint).record;
        place.rest();
        let (gone, content) = if older {
            (first.id.archive(), "one")
        } else {
            (second.id.archive(), "second")
        };
        fs::remove_file(place.store.layout().archive(&gone)).unwrap();
        let third = place.take(SnapshotKind::Closing);
        assert!(third.record.complete);
        assert!(
            own(&place, &third).contains(&Digest::of(content.as_bytes())),
            "{content}"
        );
        assert!(!needed(&third.record).contains(&gone), "{content}");
        read_back(&place.store, &third.record, contents(only(&third)), &Silent).unwrap();
    }
}

#[test]
fn reading_back_finds_a_flipped_bit_wherever_content_lies() {
    let place = Place::with(&[("a", &"words ".repeat(300))]);
    let captured = place.take(SnapshotKind::Baseline);
    let (record, all) = (&captured.record, contents(only(&captured)));
    let archive = &record.archives[0];
    let mut found = 0;
    let mut at = 0;
    while at < archive.size {
        flip(&place, &archive.id, at);
        match read_back(&place.store, record, all.clone(), &Silent) {
            Err(CaptureError::ReadBack { snapshot, .. }) => {
                assert_eq!(snapshot, record.id);
                found += 1;
            }
            Ok(()) => panic!("a flipped bit at byte {at} of {} goes unseen", archive.size),
            Err(other) => panic!("{other}"),
        }
        flip(&place, &archive.id, at);
        at += 7;
    }
    assert!(found > 10);
    read_back(&place.store, record, all, &Silent).unwrap();
}

#[test]
fn reading_back_misses_nothing_that_is_asked_for() {
    let place = Place::with(&[("a", "one")]);
    let captured = place.take(SnapshotKind::Baseline);
    let never = Content {
        size: 5,
        digest: Digest::of(b"never"),
        method: crate::model::DigestMethod::Plain,
    };
    let read = |content| read_back(&place.store, &captured.record, [content], &Silent);
    assert!(matches!(read(never), Err(CaptureError::ReadBack { .. })));
    // The right digest with another length is not the same content.
    let longer = Content {
        size: 4,
        digest: Digest::of(b"one"),
        ..never
    };
    assert!(matches!(read(longer), Err(CaptureError::ReadBack { .. })));
}

#[test]
fn what_was_captured_is_what_the_store_gives_back() {
    let place = Place::with(&[("a", "one"), ("d/b", "two"), ("d/e/", "")]);
    let captured = place.take(SnapshotKind::Baseline);
    let record = place.store.record(&captured.record.id).unwrap();
    assert_eq!(record, captured.record);
    let manifest = place.store.manifest(&record, &record.mounts[0]).unwrap().unwrap();
    assert_eq!(&manifest, only(&captured));
    assert_eq!((record.mounts[0].entries, record.mounts[0].bytes), (4, 6));
    let walked: Vec<_> = walkdir::WalkDir::new(&place.root)
        .min_depth(1)
        .into_iter()
        .map(|found| found.unwrap().into_path())
        .collect();
    assert_eq!(walked.len() as u64, record.mounts[0].entries);
    for (at, _) in manifest.entries() {
        assert!(walked.contains(&at.on_host(&place.root)));
    }
}
