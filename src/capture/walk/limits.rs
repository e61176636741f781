//! Totals of a walk, added up by all walker threads and compared with the limits.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::capture::Limits;
use crate::model::add_sizes;
use handle_fs::{NodeKind, Stat};

/// Totals of one walk.
#[derive(Default)]
pub(super) struct Tally {
    /// True if holes cost nothing. Where the file system reports them wrongly, all of a file is read and stored.
    shows_holes: bool,
    entries: AtomicU64,
    bytes: AtomicU64,
    /// Inodes of files with several links, so that their bytes count once.
    linked: Mutex<HashSet<u64>>,
    /// 0: nothing is exceeded; 1: bytes; 2: entries.
    exceeded: AtomicU8,
}

/// Totals of one directory. They are added at once, so that threads do not wait for each other at every entry.
#[derive(Default)]
pub(super) struct Share {
    entries: u64,
    bytes: u64,
    /// Inode and bytes of files with several links.
    linked: Vec<(u64, u64)>,
}

impl Share {
    /// Counts an entry.
    pub(super) fn count(&mut self, stat: &Stat, tally: &Tally) {
        self.entries += 1;
        if stat.kind != NodeKind::File {
            return;
        }
        let bytes = match tally.shows_holes {
            true => stat.size.min(stat.allocated.max(1)),
            false => stat.size,
        };
        if stat.nlink > 1 {
            self.linked.push((stat.ino, bytes));
        } else {
            self.bytes = add_sizes(self.bytes, bytes);
        }
    }
}

impl Tally {
    /// Starts to count on a file system that reports holes rightly, or not.
    pub(super) fn new(shows_holes: bool) -> Self {
        Self {
            shows_holes,
            ..Self::default()
        }
    }

    /// Returns the exceeded limit, if any: `true` for entries, `false` for bytes.
    pub(super) fn exceeded(&self) -> Option<bool> {
        match self.exceeded.load(Ordering::Relaxed) {
            0 => None,
            which => Some(which == 2),
        }
    }

    /// Returns the totals so far.
    pub(super) fn taken(&self) -> Limits {
        Limits {
            max_entries: self.entries.load(Ordering::Relaxed),
            max_bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    /// Adds the totals of a directory.
    pub(super) fn add(&self, mut share: Share, limits: &Limits) {
        if !share.linked.is_empty() {
            let mut seen = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
            let first = share.linked.iter().filter(|(ino, _)| seen.insert(*ino));
            share.bytes = first.fold(share.bytes, |sum, (_, bytes)| add_sizes(sum, *bytes));
        }
        let entries = self.entries.fetch_add(share.entries, Ordering::Relaxed) + share.entries;
        let bytes = self.bytes.fetch_add(share.bytes, Ordering::Relaxed);
        if entries > limits.max_entries {
            self.exceeded.store(2, Ordering::Relaxed);
        } else if bytes.saturating_add(share.bytes) > limits.max_bytes {
            self.exceeded.store(1, Ordering::Relaxed);
        }
    }
}
