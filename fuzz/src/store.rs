//! Stores for the targets, each in a directory of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};

use jackin_recovery::clock::Entropy;
use jackin_recovery::store::Store;
use tempfile::TempDir;

/// A store that goes with it.
pub(crate) struct Home {
    _directory: TempDir,
    /// The directory's real path.
    pub(crate) base: PathBuf,
    pub(crate) store: Store,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let base = directory.path().canonicalize().expect("its path");
        let store = Store::open_write(&base.join("data/recovery")).expect("a store");
        Self {
            _directory: directory,
            base,
            store,
        }
    }

    /// Where the store lies.
    pub(crate) fn root(&self) -> &Path {
        self.store.layout().root()
    }
}

/// Other bytes each time, and the same in every process.
#[derive(Default)]
pub(crate) struct Counter(AtomicU8);

impl Entropy for Counter {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0.fetch_add(1, Ordering::Relaxed));
    }
}
