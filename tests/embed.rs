//! The example `embed` works: it records, compares, restores and undoes with the engine alone.

#![allow(
    clippy::unwrap_used,
    reason = "a test shall stop where it meets the unexpected"
)]

#[path = "../examples/embed.rs"]
#[allow(dead_code, reason = "the test calls what `main` calls")]
mod embed;

use std::fs;

#[test]
fn the_example_puts_its_files_back_and_takes_that_back() {
    let scratch = tempfile::tempdir().unwrap();
    embed::run(scratch.path()).unwrap();
    // It checked the files itself; the store is where it says.
    let store = scratch.path().join("home/.jackin/data/recovery");
    let snapshots = fs::read_dir(store.join("snapshots")).unwrap().count();
    // The baseline, the checkpoint, the closing snapshot, and one before the restore and the undo each.
    assert_eq!(snapshots, 5);
}
