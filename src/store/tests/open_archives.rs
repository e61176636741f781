//! Archives that several snapshots need are opened once, and few stay open.

use std::sync::Arc;

use super::{Place, snapshot};
use crate::model::ArchiveRef;
use crate::store::Store;
use crate::store::archive::Writer;

/// Writes an empty archive of snapshot `n` into the store.
fn archive(store: &Store, n: u8) -> ArchiveRef {
    let id = snapshot(n).archive();
    let (bytes, finished) = Writer::new(Vec::new(), 3).finish().unwrap();
    std::fs::write(store.layout().archive(&id), bytes).unwrap();
    ArchiveRef {
        id,
        size: finished.size,
        digest: finished.digest,
        index: finished.index,
    }
}

/// Opens archives, and returns how many of them were open already.
fn known(store: &Store, refs: &[ArchiveRef]) -> usize {
    let before: Vec<bool> = refs
        .iter()
        .map(|wanted| store.opened.find(wanted).is_some())
        .collect();
    let opened = store.open_archives(refs);
    assert_eq!(opened.refs, refs);
    assert!(opened.damaged.is_empty());
    before.into_iter().filter(|was_open| *was_open).count()
}

#[test]
fn an_archive_that_two_snapshots_need_is_opened_once() {
    let place = Place::new();
    let store = place.write();
    let all: Vec<ArchiveRef> = (1..=3).map(|n| archive(&store, n)).collect();
    // What is open is shared.
    let first = store.open_archives(&all[..2]);
    let second = store.open_archives(&all[1..]);
    assert!(Arc::ptr_eq(&first.archives[1], &second.archives[0]));
    // Nothing stays open behind its last user, but for a reader that says so.
    drop((first, second));
    assert_eq!(known(&store, &all), 0);
    {
        let _open = store.keep_archives_open();
        assert_eq!(known(&store, &all[..2]), 0);
        assert_eq!(known(&store, &all[1..]), 1);
        assert_eq!(known(&store, &all), 3);
        let _again = store.keep_archives_open();
    }
    assert_eq!(known(&store, &all), 0);
}

#[test]
fn few_archives_stay_open_and_always_those_that_were_needed_last() {
    let place = Place::new();
    let store = place.write();
    let all: Vec<ArchiveRef> = (1..=200).map(|n| archive(&store, n)).collect();
    let _open = store.keep_archives_open();
    // More than stay otherwise, for one snapshot needs them.
    assert_eq!(known(&store, &all[..150]), 0);
    assert_eq!(known(&store, &all[..150]), 150);
    assert_eq!(known(&store, &all[150..]), 0);
    assert_eq!(known(&store, &all[150..]), 50);
    // Of the others as many as there is room for.
    assert_eq!(known(&store, &all[136..]), 64);
    assert_eq!(known(&store, &all[..136]), 0);
}

#[test]
fn an_archive_in_the_place_of_another_is_not_taken_for_it() {
    let place = Place::new();
    let store = place.write();
    let one = archive(&store, 1);
    let held = store.open_archives(std::slice::from_ref(&one));
    let other = ArchiveRef {
        size: one.size + 1,
        ..one
    };
    let opened = store.open_archives(std::slice::from_ref(&other));
    assert!(opened.archives.is_empty() && opened.damaged.len() == 1);
    assert_eq!(held.archives.len(), 1);
}
