//! The catalog as a projection: lost, behind, garbage or strange, it comes out right again.

use super::*;

/// A store with two instances, three snapshots and a restore.
fn filled(place: &Place) -> Store {
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    capture(
        &store,
        &SnapshotRecord {
            kind: SnapshotKind::Baseline,
            name: None,
            ..record(1)
        },
    );
    capture(&store, &record(2));
    store.append(at(3), 0, &instance(1), end()).unwrap();
    store.append(at(4), 0, &instance(2), begin("/srv/two")).unwrap();
    capture(
        &store,
        &SnapshotRecord {
            kind: SnapshotKind::Emergency,
            name: None,
            ..record(5)
        },
    );
    store.append(at(6), 0, &instance(1), restore(1, 5)).unwrap();
    store
}

#[test]
fn a_lost_catalog_is_made_again() {
    let place = Place::new();
    let expected = answers(filled(&place).catalog());
    fs::remove_file(place.layout().catalog()).unwrap();
    assert_eq!(answers(place.read().catalog()), expected);
    assert!(!place.layout().catalog().exists());
    let store = place.write();
    assert_eq!(answers(store.catalog()), expected);
    assert!(store.warnings().is_empty());
}

#[test]
fn a_catalog_that_is_behind_catches_up() {
    let place = Place::new();
    let store = filled(&place);
    let path = place.layout().catalog();
    let copy = fs::read(&path).unwrap();
    capture(&store, &record(7));
    // A record whose process was killed before the receipt, and a receipt that was not mirrored.
    let bytes = serde_json::to_vec(&record(8)).unwrap();
    fs::write(place.layout().record(&snapshot(8)), bytes).unwrap();
    store.append(at(9), 0, &instance(2), end()).unwrap();
    drop(store);
    fs::write(&path, copy).unwrap();
    let before = tree(&place.root);
    place.read();
    assert_eq!(tree(&place.root), before);
    let store = place.write();
    // The receipt that is missing is written by the next process that writes, and no reader saw anything else.
    let told = |act: &Operation| matches!(act, Operation::Capture { snapshot: of, .. } if *of == snapshot(8));
    let receipts = store.receipts().unwrap();
    assert_eq!(receipts.iter().filter(|receipt| told(&receipt.act)).count(), 1);
    let read = answers(place.read().catalog());
    assert_eq!(answers(store.catalog()), read);
    let newest = store.catalog().snapshots(&instance(1)).unwrap();
    let expected: Vec<SnapshotId> = [8, 7, 5, 2, 1].map(snapshot).into();
    assert_eq!(newest.into_iter().map(|row| row.id).collect::<Vec<_>>(), expected);
    assert!(
        store
            .catalog()
            .instance(&instance(2))
            .unwrap()
            .unwrap()
            .ended_at
            .is_some()
    );
    store.rebuild().unwrap();
    assert_eq!(answers(store.catalog()), read);
}

#[test]
fn another_process_that_fell_behind_is_seen() {
    // One handle appends while another one, opened before, is asked and appends itself.
    let place = Place::new();
    let (one, two) = (place.write(), filled(&place));
    assert_eq!(answers(one.catalog()), answers(two.catalog()));
    one.rebuild().unwrap();
    capture(&one, &record(9));
    assert_eq!(answers(one.catalog()), answers(two.catalog()));
    assert_eq!(two.append(at(9), 0, &instance(2), end()).unwrap().number, 9);
}

#[test]
fn garbage_in_the_place_of_the_catalog_is_laid_aside() {
    for garbage in [
        &b"not a database, but long enough to be one"[..],
        &[0xff; 5000],
        b"SQLite format 3\0xxxx",
    ] {
        let place = Place::new();
        let expected = answers(filled(&place).catalog());
        let path = place.layout().catalog();
        fs::write(&path, garbage).unwrap();
        let before = tree(&place.root);
        let reader = place.read();
        assert_eq!(answers(reader.catalog()), expected);
        assert!(matches!(reader.warnings(), [StoreError::Damaged { path: named, .. }] if *named == path));
        assert_eq!(tree(&place.root), before);
        let store = place.write();
        assert_eq!(answers(store.catalog()), expected);
        assert!(matches!(store.warnings(), [StoreError::Damaged { path: named, .. }] if *named == path));
        assert_eq!(fs::read(place.layout().damaged_catalog()).unwrap(), garbage);
        assert!(place.write().warnings().is_empty());
    }
}

#[test]
fn an_emptied_catalog_is_filled_again() {
    let place = Place::new();
    let expected = answers(filled(&place).catalog());
    fs::write(place.layout().catalog(), "").unwrap();
    assert_eq!(answers(place.read().catalog()), expected);
    assert_eq!(answers(place.write().catalog()), expected);
}

#[test]
fn flipped_bytes_never_panic_and_a_rebuild_helps() {
    let place = Place::new();
    let expected = answers(filled(&place).catalog());
    let path = place.layout().catalog();
    let good = fs::read(&path).unwrap();
    for (turn, position) in (0..good.len()).step_by(2039).chain(16..100).enumerate() {
        let mut bad = good.clone();
        bad[position] ^= 0x55;
        fs::write(&path, &bad).unwrap();
        if let Ok(Some(store)) = Store::open_read(&place.root) {
            let _ = store
                .catalog()
                .instances()
                .and_then(|_| store.catalog().snapshots(&instance(1)));
        }
        if turn % 12 == 0 {
            // Where it is still taken for a catalog at all.
            if let Ok(store) = Store::open_write(&place.root) {
                store.rebuild().unwrap();
                assert_eq!(answers(store.catalog()), expected, "byte {position}");
            }
        }
    }
}

#[test]
fn a_snapshot_whose_record_is_gone_is_not_listed() {
    let place = Place::new();
    drop(filled(&place));
    fs::remove_file(place.layout().record(&snapshot(2))).unwrap();
    for store in [place.read(), place.write(), place.read()] {
        let rows = store.catalog().snapshots(&instance(1)).unwrap();
        assert_eq!(
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>(),
            [snapshot(5), snapshot(1)]
        );
        assert_eq!(store.catalog().receipts_of(&instance(1)).unwrap().len(), 6);
    }
}

#[test]
fn a_lost_record_does_not_cover_up_a_shortened_log() {
    let place = Place::new();
    drop(filled(&place));
    fs::remove_file(place.layout().record(&snapshot(2))).unwrap();
    let log = fs::read_to_string(place.layout().receipts()).unwrap();
    let shorter: String = log.split_inclusive('\n').take(5).collect();
    fs::write(place.layout().receipts(), shorter).unwrap();
    let before = fs::read(place.layout().catalog()).unwrap();
    assert!(matches!(
        Store::open_write(&place.root),
        Err(StoreError::Chain { number: 7, .. })
    ));
    let read = Store::open_read(&place.root).unwrap().unwrap();
    let is_told = |error: &StoreError| matches!(error, StoreError::Chain { number: 7, .. });
    assert!(read.warnings().iter().any(is_told));
    assert_eq!(fs::read(place.layout().catalog()).unwrap(), before);
}

#[test]
fn snapshots_outlive_a_lost_log() {
    let place = Place::new();
    drop(filled(&place));
    fs::remove_file(place.layout().receipts()).unwrap();
    fs::remove_file(place.layout().catalog()).unwrap();
    for store in [place.read(), place.write()] {
        let rows = store.catalog().instances().unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!(
            (&row.id, row.mode.as_str(), row.started_at),
            (&instance(1), "unknown", at(1))
        );
        assert_eq!(row.mounts, [coverage("/srv/one")]);
        assert_eq!(store.catalog().find_instances("rc-1").unwrap(), rows);
        assert_eq!(store.catalog().instances_of_workspace("demo").unwrap(), rows);
        assert_eq!(store.catalog().instances_on_root(b"/srv/one").unwrap(), rows);
        let snapshots = store.catalog().snapshots(&instance(1)).unwrap();
        let expected: Vec<SnapshotId> = [5, 2, 1].map(snapshot).into();
        assert_eq!(
            snapshots.into_iter().map(|row| row.id).collect::<Vec<_>>(),
            expected
        );
        assert!(store.record(&snapshot(2)).is_ok());
    }
}
