//! Reuse of an earlier snapshot: files that it proves unchanged are not read, all others are.
//!
//! The proof of "not read": the reference names a digest that the file does not have, and it comes out again.

use super::{Moment, Place, at, earlier, entry, long_after, path};
use crate::capture::walk::FAULT_NANOS;
use crate::capture::{Earlier, LiveScan, Request, look, take_unless_same};
use crate::clock::Clock as _;
use crate::model::{
    Content, Digest, Entry, EntryKind, Manifest, PathCounts, SnapshotKind, SnapshotRecord, Time,
};
use crate::observer::Silent;
use handle_fs::TICK_NANOS;
use handle_fs::remote::Transports;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FORGED: Digest = Digest([7; 32]);

/// A doubt, and whether it must make the file be read.
type Doubt = (&'static str, fn(&mut Entry), bool);

fn forge(manifest: &Manifest, at: &str, change: impl FnOnce(&mut Entry)) -> Manifest {
    let mut manifest = manifest.clone();
    let (parent, name) = path(at).split().unwrap();
    let dir = manifest
        .directories
        .iter_mut()
        .find(|dir| dir.path == parent)
        .unwrap();
    let dir = Arc::make_mut(dir);
    let entry = dir.entries.iter_mut().find(|entry| entry.name == name).unwrap();
    let content = *entry.content().unwrap();
    entry.kind = EntryKind::File(Content {
        digest: FORGED,
        ..content
    });
    change(entry);
    manifest
}

fn resize(entry: &mut Entry) {
    let content = *entry.content().unwrap();
    entry.kind = EntryKind::File(Content {
        size: content.size + 1,
        ..content
    });
}

const DOUBTS: &[Doubt] = &[
    ("nothing", |_| {}, false),
    ("attributes and links are no stat data", |e| e.nlink = 1, false),
    ("inode", |e| e.ino += 1, true),
    ("size", resize, true),
    ("mtime", |e| e.mtime = e.mtime.plus_nanos(-1), true),
    ("ctime", |e| e.ctime = e.ctime.plus_nanos(-1), true),
    ("mode", |e| e.mode ^= 0o100, true),
    ("owner", |e| e.uid += 1, true),
    ("group", |e| e.gid += 1, true),
    ("type", |e| e.kind = EntryKind::Fifo, true),
    ("unstable then", |e| e.unstable = true, true),
];

#[test]
fn a_file_is_read_when_and_only_when_something_casts_a_doubt_on_it() {
    let place = Place::with(&[("d/file", "content")]);
    place.rest();
    let honest = place.look(None);
    for (what, change, read) in DOUBTS {
        let forged = forge(&honest, "d/file", change);
        let now = place.look(Some((&forged, long_after())));
        let expected = if *read { Digest::of(b"content") } else { FORGED };
        let found = entry(&now, "d/file");
        assert_eq!(found.content().unwrap().digest, expected, "{what}");
        assert!(!found.unstable, "{what}");
    }
}

#[test]
fn contents_that_were_not_written_back_before_they_were_read_are_read_again() {
    let place = Place::with(&[("d/file", "content"), ("d/empty", "")]);
    place.rest();
    let forged = forge(&place.look(None), "d/file", |_| {});
    for (written_back, expected) in [(true, FORGED), (false, Digest::of(b"content"))] {
        let request = LiveScan {
            layout: place.store.layout(),
            coverage: &place.coverage(),
            reference: Some(Earlier {
                written_back,
                ..earlier((&forged, long_after()))
            }),
            check_content: false,
        };
        let now = look(&request, &Silent).unwrap().manifest.unwrap();
        assert_eq!(entry(&now, "d/file").content().unwrap().digest, expected);
    }
}

#[test]
fn what_changed_shortly_before_the_reference_is_read_again() {
    let place = Place::with(&[("file", "content"), ("empty", "")]);
    place.rest();
    // An empty file has no page that a store could still reach.
    for (name, shortly) in [("file", FAULT_NANOS), ("empty", TICK_NANOS)] {
        let forged = forge(&place.look(None), name, |_| {});
        let changed = entry(&forged, name).ctime;
        for (late, read) in [
            (-TICK_NANOS, true),
            (0, true),
            (shortly, true),
            (shortly + 1, false),
            (shortly * 50, false),
        ] {
            let now = place.look(Some((&forged, changed.plus_nanos(late))));
            let was_read = entry(&now, name).content().unwrap().digest != FORGED;
            assert_eq!(
                was_read, read,
                "the reference began {late} ns after {name} changed"
            );
        }
    }
}

#[test]
fn a_time_that_was_set_back_does_not_make_a_fresh_file_old() {
    let place = Place::with(&[("file", "content")]);
    let dir = handle_fs::Dir::open(&Transports::default(), &place.root).unwrap();
    let past = Time {
        sec: 1_000_000_000,
        nsec: 0,
    };
    handle_fs::set_mtime(&dir, "file".as_ref(), past).unwrap();
    place.rest();
    let forged = forge(&place.look(None), "file", |_| {});
    let changed = entry(&forged, "file").ctime;
    for (late, read) in [(FAULT_NANOS, true), (FAULT_NANOS + 1, false)] {
        let now = place.look(Some((&forged, changed.plus_nanos(late))));
        let was_read = entry(&now, "file").content().unwrap().digest != FORGED;
        assert_eq!(was_read, read, "the reference began {late} ns after the change");
    }
}

#[test]
fn a_time_in_the_future_is_never_trusted() {
    let place = Place::with(&[("file", "content")]);
    let dir = handle_fs::Dir::open(&Transports::default(), &place.root).unwrap();
    let future = Time {
        sec: 4_000_000_000,
        nsec: 0,
    };
    handle_fs::set_mtime(&dir, "file".as_ref(), future).unwrap();
    place.rest();
    let forged = forge(&place.look(None), "file", |_| {});
    let now = place.look(Some((&forged, long_after())));
    assert_eq!(
        entry(&now, "file").content().unwrap().digest,
        Digest::of(b"content")
    );
}

/// Counts the files whose content differs.
fn differences(from: Option<&Manifest>, to: Option<&Manifest>) -> PathCounts {
    let contents = |manifest: Option<&Manifest>| {
        let entries = manifest.into_iter().flat_map(Manifest::entries);
        entries
            .map(|(path, entry)| (path, entry.content().copied()))
            .collect::<Vec<_>>()
    };
    let (from, to) = (contents(from), contents(to));
    let changed = from.iter().zip(&to).filter(|(from, to)| from != to).count();
    PathCounts {
        changed: changed as u64,
        ..PathCounts::default()
    }
}

/// Takes a snapshot unless nothing changed since the latest; returns whether it did, and how often a file was read.
fn take_if_changed(place: &Place) -> (bool, usize) {
    let store = &place.store;
    let latest = store.catalog().latest_snapshot_on_root(&place.coverage().root.0);
    let last = store.record(&latest.unwrap().unwrap()).unwrap();
    let coverages = [place.coverage()];
    let request = Request {
        count: Some(differences),
        ..Request::of(
            &place.instance,
            SnapshotKind::Checkpoint,
            &coverages,
            (place.clock.now(), 1000),
        )
    };
    let reads = AtomicUsize::new(0);
    let counting = at(Moment::Read, || {
        reads.fetch_add(1, Ordering::Relaxed);
    });
    let taken = take_unless_same(store, &request, &last, &counting, &place.entropy).unwrap();
    drop(counting);
    (taken.is_some(), reads.into_inner())
}

#[test]
fn a_look_that_found_nothing_changed_proves_as_much_as_a_snapshot() {
    let Some(place) = Place::on_disk() else { return };
    place.write("file", "content");
    place.write("other", "content");
    let id = place.take(SnapshotKind::Baseline).record.id;
    // Both changed shortly before the snapshot.
    let (taken, reads) = take_if_changed(&place);
    assert!(!taken && reads > 0, "{reads}");
    let first = place.store.unchanged_at(&id, 0).unwrap();
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(matches!(take_if_changed(&place), (false, 1..)));
    let second = place.store.unchanged_at(&id, 0).unwrap();
    assert!(second > first);
    // That look began long enough after the changes.
    assert_eq!(take_if_changed(&place), (false, 0));
    assert_eq!(place.store.unchanged_at(&id, 0), Some(second));
    // What changes from then on is seen, also with the old length and modification time.
    let file = fs::File::options().write(true).open(place.at("file")).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"CONTENT", 0).unwrap();
    file.set_modified(before).unwrap();
    assert!(matches!(take_if_changed(&place), (true, 1..)));
    // What was noted for the earlier snapshot says nothing about the new one.
    assert!(matches!(take_if_changed(&place), (false, 1..)));
    assert_eq!(place.stored("unchanged").len(), 2);
}

#[test]
fn what_cannot_be_read_of_looks_proves_nothing() {
    let place = Place::with(&[("file", "content")]);
    let id = place.take(SnapshotKind::Baseline).record.id;
    for text in [
        "",
        "{}",
        r#"{"format":2,"mounts":["2999-01-01T00:00:00.000000000Z"]}"#,
    ] {
        let noted = place.store.layout().unchanged(&id);
        fs::create_dir_all(noted.parent().unwrap()).unwrap();
        fs::write(&noted, text).unwrap();
        assert_eq!(place.store.unchanged_at(&id, 0), None, "{text}");
    }
    // Of a deleted snapshot.
    let gone = crate::model::SnapshotId::new([9; 12]);
    place.store.note_unchanged(&gone, vec![Some(long_after())]);
    place.store.note_unchanged(&id, vec![None]);
    assert_eq!(place.store.unchanged_at(&id, 0), None);
    place.store.note_unchanged(&id, vec![None, Some(long_after())]);
    assert_eq!(place.store.unchanged_at(&id, 0), None);
    assert!(place.store.unchanged_at(&id, 1).is_some());
    assert_eq!(place.stored("unchanged"), [format!("{id}.json")]);
}

#[test]
fn checking_content_reads_whatever_the_stat_data_say() {
    let place = Place::with(&[("file", "content")]);
    place.rest();
    let forged = forge(&place.look(None), "file", |_| {});
    let request = LiveScan {
        layout: place.store.layout(),
        coverage: &place.coverage(),
        reference: Some(earlier((&forged, long_after()))),
        check_content: true,
    };
    let now = look(&request, &Silent).unwrap().manifest.unwrap();
    assert_eq!(
        entry(&now, "file").content().unwrap().digest,
        Digest::of(b"content")
    );
}

#[test]
fn a_link_target_and_a_name_that_moved_are_looked_at_anew() {
    let place = Place::with(&[("one", "content")]);
    std::os::unix::fs::symlink("before", place.at("link")).unwrap();
    place.rest();
    let forged = forge(&place.look(None), "one", |_| {});
    fs::rename(place.at("one"), place.at("two")).unwrap();
    fs::remove_file(place.at("link")).unwrap();
    std::os::unix::fs::symlink("after!", place.at("link")).unwrap();
    let now = place.look(Some((&forged, long_after())));
    assert!(now.entry(&path("one")).is_none());
    assert_eq!(
        entry(&now, "two").content().unwrap().digest,
        Digest::of(b"content")
    );
    assert_eq!(
        entry(&now, "link").kind,
        EntryKind::Symlink(b"after!".as_slice().into())
    );
}

#[test]
fn what_two_snapshots_have_in_common_is_in_memory_once() {
    let place = Place::with(&[("d/a", "one"), ("e/b", "two")]);
    let first = place.take(SnapshotKind::Baseline).record;
    place.rest();
    let second = place.take(SnapshotKind::Checkpoint).record;
    place.write("e/b", "other");
    let third = place.take(SnapshotKind::Closing).record;
    let load = |record: &SnapshotRecord| place.store.manifest(record, &record.mounts[0]).unwrap().unwrap();
    let (one, two, three) = (load(&first), load(&second), load(&third));
    assert!(one.shares_all(&two));
    assert!(!one.shares_all(&three) && one != three);
    drop((one, two, three));
    // Nothing is kept for its own sake.
    assert_eq!(
        load(&first).entry(&path("e/b")).unwrap().content().unwrap().size,
        3
    );
    assert_eq!(
        load(&third).entry(&path("e/b")).unwrap().content().unwrap().size,
        5
    );
}
