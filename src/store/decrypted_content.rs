//! Content that was decrypted and lies in memory alone.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::Digest;

/// Content that lies in memory and in no archive, by its digest.
#[derive(Clone, Default)]
pub struct DecryptedContent(HashMap<Digest, Arc<[u8]>>);

impl DecryptedContent {
    /// Adds content.
    pub fn lend(&mut self, digest: Digest, bytes: impl Into<Arc<[u8]>>) {
        self.0.entry(digest).or_insert_with(|| bytes.into());
    }

    /// Adds all content of another one.
    pub fn extend(&mut self, other: &Self) {
        let all = other.0.iter();
        self.0
            .extend(all.map(|(digest, bytes)| (*digest, Arc::clone(bytes))));
    }

    /// The content with this digest.
    #[must_use]
    pub fn get(&self, digest: &Digest) -> Option<&[u8]> {
        self.0.get(digest).map(|bytes| &**bytes)
    }
}
