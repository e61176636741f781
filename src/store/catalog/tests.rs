//! The database itself: its version, its journal, its speed, and that the order of applying does not matter.

use std::fs;

use proptest::prelude::*;
use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::diagnostic::{Diagnostic as _, ErrorKind};
use crate::model::{Digest, Operation, Receipt, SnapshotId, SnapshotKind, SnapshotRecord};
use crate::store::log::{Link, Place as LogPlace};
use crate::store::tests::{Place, answers, at, begin, capture, end, instance, record, restore, snapshot};
use crate::store::{Store, StoreError};

#[test]
fn sqlite_is_new_enough() {
    // Before 3.51.3 two connections that write could corrupt a database.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[test]
fn a_commit_of_the_database_is_whole_after_a_power_loss() {
    let place = Place::new();
    let store = place.write();
    let connection = store.catalog.lock();
    let ask = |name| -> String {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|v| format!("{v:?}"))
            .unwrap()
    };
    assert_eq!(ask("journal_mode"), "Text(\"truncate\")");
    assert_eq!(ask("synchronous"), "Integer(1)");
    assert_eq!(ask("fullfsync"), "Integer(1)");
    assert_eq!(ask("user_version"), "Integer(4)");
}

#[test]
fn a_newer_catalog_is_refused_and_left_alone() {
    let place = Place::new();
    drop(place.write());
    let path = place.layout().catalog();
    let set = |version: i64| {
        Connection::open(&path)
            .unwrap()
            .pragma_update(None, "user_version", version)
            .unwrap();
    };
    set(5);
    let bytes = fs::read(&path).unwrap();
    let opened = [
        Store::open_read(&place.root).map(drop),
        Store::open_write(&place.root).map(drop),
    ];
    for result in opened {
        assert!(
            matches!(result, Err(StoreError::Newer { path: named, found: 5, known: 4 }) if named == path)
        );
    }
    assert_eq!(fs::read(&path).unwrap(), bytes);
    set(-1);
    assert!(matches!(place.write().warnings(), [StoreError::Damaged { .. }]));
}

#[test]
fn many_may_open_a_new_store_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let place = &place;
            scope.spawn(move || {
                place
                    .write()
                    .append(at(0), 0, &instance(n), begin("/srv/one"))
                    .unwrap()
            });
        }
    });
    assert_eq!(place.read().catalog().instances().unwrap().len(), 6);
}

/// A process killed in the middle of a commit leaves a journal that has to be played back, which a reader
/// must not do.
#[test]
fn a_hot_journal_neither_stops_a_reader_nor_a_writer() {
    let place = Place::new();
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    capture(&store, &record(1));
    let expected = answers(store.catalog());
    drop(store);
    let path = place.layout().catalog();
    let journal = place.root.join("catalog.sqlite3-journal");
    let killed = {
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE")
            .unwrap();
        // More than the cache holds, so that changed pages reach the file before the commit.
        for number in 100..400 {
            let sql = "INSERT INTO receipts VALUES (?1, 1, 2, 'h', 'a', 'i', 'x', hex(zeroblob(400)))";
            connection.execute(sql, [number]).unwrap();
        }
        connection.execute("DELETE FROM instances", []).unwrap();
        connection.execute("DELETE FROM snapshots", []).unwrap();
        (fs::read(&path).unwrap(), fs::read(&journal).unwrap())
    };
    fs::write(&path, &killed.0).unwrap();
    fs::write(&journal, &killed.1).unwrap();
    assert!(killed.1.len() > 4096, "the journal is not hot");
    let reader = place.read();
    assert_eq!(answers(reader.catalog()), expected);
    assert_eq!(fs::read(&path).unwrap(), killed.0, "a reader changed the file");
    // It is no fault that somebody would have to do something about.
    assert!(reader.warnings().is_empty(), "{:?}", reader.warnings());
    drop(reader);
    let store = place.write();
    assert_eq!(answers(store.catalog()), expected);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
}

#[test]
fn only_the_code_of_sqlite_says_that_the_disk_is_full() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE some (bytes BLOB)")
        .unwrap();
    connection.pragma_update(None, "max_page_count", 4).unwrap();
    let is_full = |sql: &str| {
        let error = connection.execute(sql, []).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
        let error = failure(Path::new("/s/catalog.sqlite3"), error);
        assert_eq!(error.kind(), ErrorKind::Io);
        !error.hints().is_empty()
    };
    assert!(is_full("INSERT INTO some VALUES (zeroblob(100000))"));
    assert!(!is_full("INSERT INTO \"full\" VALUES (1)"));
}

#[test]
fn a_catalog_that_lacks_a_write_for_want_of_room_says_so() {
    let place = Place::new();
    let store = place.write();
    // SQLite raises the limit to the pages that are there.
    store
        .catalog
        .lock()
        .pragma_update(None, "max_page_count", 1)
        .unwrap();
    let error = (1..=u8::MAX).find_map(|number| {
        // The receipt is written all the same.
        let _ = store.append(at(0), 0, &instance(number), begin("/srv/one"));
        store.catalog().instances().err()
    });
    assert!(
        matches!(
            error,
            Some(StoreError::Catalog {
                fault: CatalogFault::Full,
                ..
            })
        ),
        "{error:?}"
    );
}

#[test]
fn a_catalog_that_failed_refuses_until_it_has_caught_up() {
    let place = Place::new();
    let store = place.write();
    store.append(at(0), 0, &instance(1), begin("/srv/one")).unwrap();
    let forbid = |value: bool| {
        store
            .catalog
            .lock()
            .pragma_update(None, "query_only", value)
            .unwrap()
    };
    forbid(true);
    // The truth is written all the same.
    store.draft(snapshot(1)).unwrap().publish(&record(1)).unwrap();
    assert!(matches!(
        store.catalog().instances(),
        Err(StoreError::Catalog { .. })
    ));
    assert!(
        store.append(at(1), 0, &instance(1), end()).is_err(),
        "it cannot catch up yet"
    );
    assert_eq!(store.receipts().unwrap().len(), 1);
    forbid(false);
    assert_eq!(store.append(at(1), 0, &instance(1), end()).unwrap().number, 2);
    assert_eq!(store.catalog().snapshots(&instance(1)).unwrap().len(), 1);
    forbid(true);
    assert_eq!(
        store
            .append(at(2), 0, &instance(2), begin("/srv/two"))
            .unwrap()
            .number,
        3
    );
    assert!(store.catalog().latest_instance().is_err());
    assert_eq!(
        place.read().catalog().latest_instance().unwrap().unwrap().id,
        instance(2)
    );
}

fn link(number: u64, act: Operation, seconds: i64, of: u8) -> Link {
    let receipt = Receipt {
        number,
        previous: Digest([0; 32]),
        at: at(seconds),
        uid: 0,
        instance: Some(instance(of)),
        act,
    };
    let json = serde_json::to_string(&receipt).unwrap();
    Link {
        receipt,
        json,
        place: LogPlace {
            number,
            start: 0,
            stop: 1,
            hash: Digest([0; 32]),
        },
    }
}

fn captured(snapshot: SnapshotId, kind: SnapshotKind) -> Operation {
    Operation::Capture {
        snapshot,
        kind,
        record: Digest([0; 32]),
        name: None,
        withheld: 0,
        sealed_to: Vec::new(),
        step: None,
        call: None,
        since: None,
    }
}

#[test]
fn a_thousand_snapshots_answer_quickly() {
    let catalog = Catalog::in_memory(Path::new("c")).unwrap();
    catalog
        .write(|tables| {
            for n in 0..2000_u64 {
                let of = u8::try_from(n % 20).unwrap();
                let mut record = record(1);
                let low = u8::try_from(n % 32).unwrap();
                let middle = u8::try_from(n / 32 % 32).unwrap();
                let high = u8::try_from(n / 1024).unwrap();
                record.id = SnapshotId::new([0, 0, 0, 0, 0, 0, 0, 0, 0, high, middle, low]);
                record.instance = instance(of);
                tables.apply_record(&record)?;
                // One in ten never got its receipt.
                let act = captured(record.id, record.kind);
                let act = if n % 10 == 0 { end() } else { act };
                tables.apply_receipt(&link(n + 1, act, 0, of))?;
            }
            Ok(())
        })
        .unwrap();
    // Other processes count for nothing.
    let spent = || {
        let spent = clock_gettime(ClockId::ThreadCPUTime);
        spent.tv_sec * 1000 + spent.tv_nsec / 1_000_000
    };
    let begun = spent();
    assert_eq!(catalog.snapshots(&instance(3)).unwrap().len(), 100);
    assert!(catalog.latest_snapshot_on_root(b"/srv/one").unwrap().is_some());
    assert!(catalog.latest_baseline_on_root(b"/srv/one").unwrap().is_none());
    assert_eq!(catalog.instances().unwrap().len(), 20);
    let took = spent() - begun;
    // Some 20 ms on a slow machine; without indexes it would be seconds.
    assert!(took < 1000, "{took} ms");
}

#[test]
fn the_step_before_is_found_behind_any_number_of_emergency_snapshots() {
    let catalog = Catalog::in_memory(Path::new("c")).unwrap();
    let captured = |n, kind| captured(snapshot(n), kind);
    catalog
        .write(|tables| {
            tables.apply_receipt(&link(1, captured(1, SnapshotKind::Checkpoint), 1, 1))?;
            // A baseline may be stored after a checkpoint.
            tables.apply_receipt(&link(2, captured(2, SnapshotKind::Baseline), 2, 1))?;
            for n in 3..200 {
                tables.apply_receipt(&link(n.into(), captured(n, SnapshotKind::Emergency), 3, 1))?;
            }
            tables.apply_receipt(&link(200, captured(200, SnapshotKind::Checkpoint), 4, 1))
        })
        .unwrap();
    let before = |number| catalog.captured_before(&instance(1), number).unwrap();
    assert_eq!(before(u64::MAX), Some(snapshot(200)));
    assert_eq!(before(200), Some(snapshot(1)));
    assert_eq!(before(1), Some(snapshot(2)));
    assert_eq!(catalog.captured_before(&instance(2), 200).unwrap(), None);
}

#[derive(Clone, Debug)]
enum Step {
    Receipt(Box<Operation>, i64, u8),
    Record(Box<SnapshotRecord>),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(SnapshotKind::Baseline), Just(SnapshotKind::Checkpoint)];
    let record =
        (0_u8..12, 0_i64..5, 0_u8..4, kind, any::<bool>()).prop_map(|(n, seconds, of, kind, two)| {
            let mut record = SnapshotRecord {
                instance: instance(of),
                taken_at: at(seconds),
                kind,
                ..record(n)
            };
            if two {
                record.mounts[0].coverage = crate::store::tests::coverage("/srv/two");
            }
            Step::Record(Box::new(record))
        });
    let act = prop_oneof![
        Just(begin("/srv/one")),
        Just(begin("/srv/two")),
        Just(end()),
        (0_u8..12).prop_map(|n| Operation::Capture {
            snapshot: snapshot(n),
            kind: SnapshotKind::Checkpoint,
            record: Digest([n; 32]),
            name: None,
            withheld: 0,
            sealed_to: Vec::new(),
            step: None,
            call: None,
            since: None,
        }),
        (0_u8..12).prop_map(|n| restore(n, n)),
    ];
    prop_oneof![
        record,
        (act, 0_i64..5, 0_u8..4).prop_map(|(act, seconds, of)| Step::Receipt(Box::new(act), seconds, of))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// However receipts and records come in, one by one or all at once as a rebuild does it, the answers are
    /// the same.
    #[test]
    fn a_rebuild_answers_as_the_original(steps in proptest::collection::vec(step(), 0..40)) {
        let grown = Catalog::in_memory(Path::new("c")).unwrap();
        let (mut links, mut records) = (Vec::new(), std::collections::BTreeMap::new());
        for step in steps {
            match step {
                Step::Receipt(act, seconds, of) => {
                    let link = link(links.len() as u64 + 1, *act, seconds, of);
                    grown.write(|tables| tables.apply_receipt(&link)).unwrap();
                    links.push(link);
                }
                Step::Record(record) => {
                    // A record is written once.
                    let record = records.entry(record.id.clone()).or_insert(*record);
                    grown.write(|tables| tables.apply_record(record)).unwrap();
                }
            }
        }
        let rebuilt = Catalog::in_memory(Path::new("c")).unwrap();
        for _ in 0..2 {
            rebuilt.write(|tables| {
                tables.reset()?;
                links.iter().try_for_each(|link| tables.apply_receipt(link))?;
                records.values().rev().try_for_each(|record| tables.apply_record(record))
            }).unwrap();
            prop_assert_eq!(answers(&rebuilt), answers(&grown));
        }
    }
}
