//! Records and receipts that do not tell of the same snapshots, and a catalog or a log that came from another store.

use super::*;
use crate::model::{PruneReason, PrunedSnapshot};
use crate::store::{Survey, mend_chain};

/// Publishes a record and stops before its receipt.
fn killed_before_the_receipt(store: &Store, n: u8) {
    store.draft(snapshot(n)).unwrap().publish(&record(n)).unwrap();
}

/// A session with a baseline.
fn begun(place: &Place) -> Store {
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    capture(&store, &record(1));
    store
}

#[test]
fn a_kill_before_a_receipt_explains_one_record() {
    let place = Place::new();
    let store = begun(&place);
    killed_before_the_receipt(&store, 2);
    assert_eq!(store.untold().unwrap(), []);
    assert_eq!(Survey::of(&place.root).unwrap().without_receipt, [snapshot(2)]);
    // The session goes on, and another one of its snapshots is killed.
    capture(&store, &record(3));
    killed_before_the_receipt(&store, 4);
    assert_eq!(store.untold().unwrap(), []);
    assert!(store.check_told().is_ok());
    // Two in a row no kill leaves.
    killed_before_the_receipt(&store, 5);
    assert_eq!(store.untold().unwrap(), [snapshot(4), snapshot(5)]);
    let seen = Survey::of(&place.root).unwrap();
    assert_eq!(seen.untold, [snapshot(4), snapshot(5)]);
    assert_eq!(seen.without_receipt, [snapshot(2)]);
    assert!(matches!(store.check_told(), Err(StoreError::Untold { .. })));
    let snapshots = store.untold().unwrap();
    store
        .append(at(9), 0, None, accepted(snapshots, Vec::new()))
        .unwrap();
    assert_eq!(store.untold().unwrap(), []);
}

/// Checks that a draft stays until the receipt is written, and leads the next process to it.
#[test]
fn who_comes_after_a_kill_before_a_receipt_tells_of_the_record() {
    let place = Place::new();
    let store = begun(&place);
    for n in [2, 3, 4] {
        killed_before_the_receipt(&store, n);
        // Its process did not get so far as to remove it.
        fs::create_dir(place.layout().draft(&snapshot(n))).unwrap();
        let next = place.write();
        assert!(next.warnings().is_empty());
        assert!(!place.layout().draft(&snapshot(n)).exists());
        assert_eq!(next.untold().unwrap(), []);
        assert_eq!(Survey::of(&place.root).unwrap().without_receipt, []);
    }
    let told: Vec<Receipt> = store.receipts().unwrap();
    let last = told.last().unwrap();
    assert!(
        matches!(&last.act, Operation::Capture { snapshot: told, record: digest, .. }
        if *told == snapshot(4) && *digest == Digest::of(&fs::read(place.layout().record(&snapshot(4))).unwrap()))
    );
    // One that was told of already is told of once.
    fs::create_dir(place.layout().draft(&snapshot(4))).unwrap();
    assert_eq!(place.write().receipts().unwrap().len(), told.len());
    // Where nothing can be told, the draft waits.
    let log = fs::read(place.layout().receipts()).unwrap();
    killed_before_the_receipt(&store, 5);
    fs::create_dir(place.layout().draft(&snapshot(5))).unwrap();
    let mut damaged = log.clone();
    damaged[30] ^= 1;
    fs::write(place.layout().receipts(), damaged).unwrap();
    let _ = Store::open_write(&place.root);
    assert!(place.layout().draft(&snapshot(5)).exists());
    fs::write(place.layout().receipts(), log).unwrap();
    assert_eq!(place.write().untold().unwrap(), []);
    assert!(!place.layout().draft(&snapshot(5)).exists());
}

#[test]
fn a_record_of_a_session_that_never_began_lost_its_receipts() {
    let place = Place::new();
    let store = place.write();
    killed_before_the_receipt(&store, 1);
    assert_eq!(store.untold().unwrap(), [snapshot(1)]);
}

#[test]
fn a_record_that_is_gone_is_lost_unless_it_was_given_up() {
    let place = Place::new();
    let store = begun(&place);
    capture(&store, &record(2));
    capture(&store, &record(3));
    let given_up = PrunedSnapshot {
        id: snapshot(2),
        instance: instance(1),
        kind: SnapshotKind::Checkpoint,
        name: None,
        reason: PruneReason::Checkpoints,
    };
    let act = Operation::Prune {
        automatic: false,
        snapshots: vec![given_up],
        bytes: 0,
    };
    store.append(at(8), 0, None, act).unwrap();
    for n in [2, 3] {
        fs::remove_file(place.layout().record(&snapshot(n))).unwrap();
    }
    let lost = store.lost_records().unwrap();
    let told: Vec<String> = lost.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [format!("the checkpoint snapshot {} \"step-3\"", snapshot(3))]
    );
    assert!(matches!(
        store.record(&snapshot(2)),
        Err(StoreError::NoSnapshot { .. })
    ));
    assert!(matches!(
        store.record(&snapshot(3)),
        Err(StoreError::LostRecord { .. })
    ));
}

#[test]
fn archives_wait_for_a_record_that_is_lost() {
    let place = Place::new();
    drop(begun(&place));
    let archive = place.layout().archive(&snapshot(1).archive());
    fs::write(&archive, "abc").unwrap();
    fs::remove_file(place.layout().record(&snapshot(1))).unwrap();
    let store = place.write();
    let sole = store.exclusive(Patience::Short).unwrap();
    let swept = sole.sweep(&crate::observer::Silent).unwrap();
    assert_eq!(swept.unreadable, [snapshot(1)]);
    assert!(archive.exists());
    // One that was given up needs nothing any more.
    let given_up = accepted(Vec::new(), vec![snapshot(1)]);
    store.append(at(9), 0, None, given_up).unwrap();
    assert_eq!(store.lost_records().unwrap(), []);
    assert!(matches!(
        store.record(&snapshot(1)),
        Err(StoreError::NoSnapshot { .. })
    ));
    let swept = sole.sweep(&crate::observer::Silent).unwrap();
    assert_eq!((swept.unreadable, swept.archives), (Vec::new(), 1));
    assert!(!archive.exists());
}

fn accepted(snapshots: Vec<SnapshotId>, records: Vec<SnapshotId>) -> Operation {
    Operation::AcceptLoss { snapshots, records }
}

/// A store of which nothing is in the other ones.
fn stranger() -> Place {
    let place = Place::new();
    let store = place.write();
    store
        .append(at(50), 0, &instance(9), begin("/srv/theirs"))
        .unwrap();
    for n in [50, 51, 52] {
        let foreign = SnapshotRecord {
            instance: instance(9),
            ..record(n)
        };
        capture(&store, &foreign);
    }
    place
}

#[test]
fn the_catalog_of_another_store_is_laid_aside_and_the_log_stays() {
    let (place, other) = (Place::new(), stranger());
    let expected = answers(begun(&place).catalog());
    let (path, log) = (place.layout().catalog(), place.layout().receipts());
    let good = fs::read(&log).unwrap();
    fs::copy(other.layout().catalog(), &path).unwrap();
    let reader = place.read();
    assert!(matches!(reader.warnings(), [StoreError::Damaged { path: named, .. }] if *named == path));
    assert_eq!(answers(reader.catalog()), expected);
    assert_eq!(reader.receipts().unwrap().len(), 2);
    let facts = Survey::of(&place.root).unwrap();
    assert!(facts.receipts.is_ok());
    assert!(matches!(facts.catalog.error, Some(StoreError::Damaged { .. })));
    assert!(mend_chain(&place.layout(), false).unwrap().is_none());
    let store = place.write();
    assert_eq!(answers(store.catalog()), expected);
    assert!(place.layout().damaged_catalog().exists());
    assert_eq!(fs::read(&log).unwrap(), good);
}

#[test]
fn the_log_of_another_store_is_no_log_of_ours() {
    let (place, other) = (Place::new(), stranger());
    let expected = answers(begun(&place).catalog());
    let log = place.layout().receipts();
    let good = fs::read(&log).unwrap();
    fs::copy(other.layout().receipts(), &log).unwrap();
    let is_told = |error: &StoreError| matches!(error, StoreError::Chain { number: 1, .. });
    assert!(place.read().warnings().iter().any(is_told));
    assert!(matches!(Store::open_write(&place.root), Err(error) if is_told(&error)));
    let mended = mend_chain(&place.layout(), false).unwrap().unwrap();
    assert_eq!((mended.links, mended.regained, mended.lost), (2, 2, false));
    assert_eq!(fs::read(&log).unwrap(), good);
    assert_eq!(answers(place.write().catalog()), expected);
}

#[test]
fn a_hurt_log_is_never_replaced_by_the_copy_of_another_store() {
    let (place, other) = (Place::new(), stranger());
    drop(begun(&place));
    let log = place.layout().receipts();
    // Nothing is whole before the break, so nothing there speaks against the copy.
    change(&log, 3, b'x');
    fs::copy(other.layout().catalog(), place.layout().catalog()).unwrap();
    let before = fs::read(&log).unwrap();
    assert!(matches!(
        mend_chain(&place.layout(), false),
        Err(StoreError::Chain { number: 1, .. })
    ));
    assert_eq!(fs::read(&log).unwrap(), before);
}

#[test]
fn a_catalog_that_says_something_else_is_found() {
    let place = Place::new();
    drop(begun(&place));
    let connection = rusqlite::Connection::open(place.layout().catalog()).unwrap();
    connection
        .execute("UPDATE snapshots SET name = 'step-x'", [])
        .unwrap();
    drop(connection);
    let facts = Survey::of(&place.root).unwrap().catalog;
    assert!(facts.current && facts.error.is_none());
    assert_eq!(facts.faults, ["it does not say what records and receipts say"]);
    place.write().rebuild().unwrap();
    assert!(Survey::of(&place.root).unwrap().catalog.faults.is_empty());
}

#[test]
fn half_a_transaction_that_a_kill_left_is_no_damage() {
    let (place, killed) = (Place::new(), Place::new());
    drop((begun(&place), begun(&killed)));
    let (path, copy) = (place.layout().catalog(), killed.layout().catalog());
    let connection = rusqlite::Connection::open(&path).unwrap();
    // So little is kept in memory that pages come into the file before the end.
    connection
        .execute_batch("PRAGMA cache_size = 1; PRAGMA journal_mode = truncate; BEGIN IMMEDIATE;")
        .unwrap();
    for n in 0..500 {
        connection
            .execute("INSERT INTO pins VALUES (?1, '')", [format!("rc-{n:0>500}")])
            .unwrap();
    }
    fs::copy(&path, &copy).unwrap();
    fs::copy(
        path.with_extension("sqlite3-journal"),
        copy.with_extension("sqlite3-journal"),
    )
    .unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    let facts = Survey::of(&killed.root).unwrap().catalog;
    assert!(
        !facts.current && facts.error.is_none() && facts.faults.is_empty(),
        "{facts:?}"
    );
    let verified = killed.read().verify(false, &crate::observer::Silent).unwrap();
    let of_catalog = |finding: &&Finding| finding.what.contains("catalog");
    assert_eq!(verified.findings.iter().find(of_catalog), None);
    // Who writes takes it back.
    drop(killed.write());
    assert!(Survey::of(&killed.root).unwrap().catalog.current);
}
