//! The ceiling of the store: what counts against it, and what is said when it cannot be kept.

use std::fs;

use crate::retention::{Session, is_whole, rules};
use crate::support::sandbox::Sandbox;

/// Bytes of a file, or below a directory of the store.
fn bytes(sandbox: &Sandbox, name: &str) -> u64 {
    let path = sandbox.store().join(name);
    match path.is_dir() {
        true => {
            let all = fs::read_dir(path).unwrap();
            all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
        }
        false => path.metadata().unwrap().len(),
    }
}

#[test]
fn all_that_the_store_takes_counts_against_its_ceiling() {
    let sandbox = Sandbox::new();
    let mut session = Session::begin(&sandbox);
    for number in 0..6 {
        session.checkpoint(&sandbox, number).ok();
    }
    let (archives, records) = (bytes(&sandbox, "archives"), bytes(&sandbox, "snapshots"));
    let lasting = bytes(&sandbox, "receipts.log") + bytes(&sandbox, "catalog.sqlite3");
    let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    assert_eq!(planned["archive_bytes"], archives);
    assert_eq!(planned["record_bytes"], records);
    assert_eq!(planned["lasting_bytes"], lasting);
    assert_eq!(planned["size"], archives + records + lasting);
    assert_eq!(planned["outcome"], "nothing");
    sandbox
        .jackin(["prune", "--dry-run"])
        .ok()
        .has("receipts and catalog");
    // What is more than the archives alone is enough, and records are among what becomes free. The archives would fit.
    rules(
        &sandbox,
        &format!("max_bytes = {}", archives + records + lasting - 1),
    );
    let planned = sandbox.jackin(["prune", "--dry-run", "--json"]).ok().json();
    let gone = planned["snapshots"].as_array().unwrap();
    assert_eq!(gone.len(), 1, "{planned}");
    assert_eq!(gone[0]["name"], "c0");
    assert!(planned["freed"].as_u64().unwrap() >= records / 16, "{planned}");
    let shown = sandbox.jackin(["prune", "--dry-run"]).ok();
    shown.has("checkpoint c0");
    assert!(!shown.said().contains("\"\""), "{shown}");
    let pruned = sandbox.jackin(["prune", "--yes", "--json"]).ok().json();
    assert_eq!(pruned["lacking"], 0);
    assert_eq!(
        records - bytes(&sandbox, "snapshots") + archives - bytes(&sandbox, "archives"),
        pruned["freed"].as_u64().unwrap() + pruned["repacked_bytes"].as_u64().unwrap()
    );
    is_whole(&sandbox);
}
