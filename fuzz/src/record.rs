//! Snapshot records: what is let in names nothing outside its mounts, has sums that fit, and is the same when it is written again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;

use jackin_recovery::contract::Matcher;
use jackin_recovery::model::{SnapshotId, SnapshotRecord};
use jackin_recovery::observer::Silent;
use jackin_recovery::store::{Store, StoreError};

use super::names;
use super::store::Home;

thread_local! {
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

/// The id that the record's file has.
pub(crate) const ID: [u8; 12] = [1; 12];

/// The file `snapshots/<id>.json`.
pub fn record(bytes: &[u8]) -> bool {
    HOME.with_borrow_mut(|home| of(home.get_or_insert_with(Home::new), bytes))
}

/// Whether it was let in.
fn of(home: &Home, bytes: &[u8]) -> bool {
    let id = SnapshotId::new(ID);
    let path = home.store.layout().record(&id);
    fs::write(&path, bytes).expect("a file");
    let record = match home.store.record(&id) {
        Ok(record) => record,
        Err(error) => {
            assert!(
                matches!(error, StoreError::Damaged { .. } | StoreError::Newer { .. }),
                "{error}"
            );
            return false;
        }
    };
    check(&record, &id);
    let again = serde_json::to_vec(&record).expect("a record has a form");
    fs::write(&path, again).expect("a file");
    assert_eq!(
        home.store.record(&id).expect("our own form"),
        record,
        "it is another one when it was read again"
    );
    // Whoever opens the store sees it, and says what it lacks.
    let opened = Store::open_read(home.root())
        .expect("the store opens")
        .expect("it is there");
    assert!(opened.catalog().snapshot(&id).expect("a query").is_some());
    let verified = opened
        .verify(true, &Silent)
        .expect("its directories can be listed");
    assert_eq!(verified.snapshots, 1);
    let lacks = record.mounts.iter().any(|mount| mount.manifest.is_some()) || !record.archives.is_empty();
    assert_eq!(verified.findings.is_empty(), !lacks, "{:?}", verified.findings);
    true
}

fn check(record: &SnapshotRecord, id: &SnapshotId) {
    assert_eq!(&record.id, id);
    assert!(
        (1..=SnapshotRecord::FORMAT).contains(&record.format),
        "{}",
        record.format
    );
    let mut labels = BTreeSet::new();
    for mount in &record.mounts {
        let coverage = &mount.coverage;
        assert!(names::is_name(coverage.label.as_bytes()), "{:?}", coverage.label);
        assert!(
            labels.insert(&coverage.label),
            "{:?} is there twice",
            coverage.label
        );
        assert!(names::is_host(&coverage.root.0), "{:?}", coverage.root);
        coverage.tracked.iter().for_each(names::check);
        coverage
            .withheld
            .iter()
            .for_each(|withheld| names::check(&withheld.path));
        mount.gaps.iter().for_each(|gap| names::check(&gap.path));
        let _ = Matcher::new(coverage).is_ok();
    }
    assert!(i64::try_from(record.entries()).is_ok() && i64::try_from(record.bytes()).is_ok());
}
