//! Manifest chunks that are in memory already.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use foldhash::fast::RandomState;

use crate::model::{Digest, Directory, Part};

/// The chunks of manifests that are in memory, by digest. Two manifests that have a chunk in common share its directories, so
/// that nothing is decoded twice and what is shared needs no comparison.
#[derive(Debug, Default)]
pub(super) struct Decoded(Mutex<HashMap<Digest, Vec<Weak<Directory>>, RandomState>>);

impl Decoded {
    /// The chunk, when all of its directories are still in memory.
    pub(super) fn find(&self, chunk: &Digest) -> Option<Vec<Part>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = known.get(chunk)?.iter();
        held.map(|directory| Some(Part::whole(directory.upgrade()?)))
            .collect()
    }

    pub(super) fn keep(&self, chunk: Digest, parts: &[Part]) {
        let mut directories = Vec::with_capacity(parts.len());
        for part in parts {
            // One that begins or ends in another chunk is put together anew each time.
            let Some(directory) = part.directory() else {
                return;
            };
            directories.push(Arc::downgrade(directory));
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(chunk, directories);
    }
}
