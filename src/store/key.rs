//! Key of digests that must reveal nothing, not even to a process that can guess the content. It never leaves the store.

use super::{Store, StoreError, durable, lock};
use crate::clock::Entropy;

/// Its length in bytes (BLAKE3's keyed mode).
const LENGTH: usize = 32;
/// Lock that is held while the key is created.
const MAKING: &str = "digest-key";

/// The key of digests of secrets.
pub type DigestKey = [u8; LENGTH];

impl Store {
    /// The key; `None` before there was anything to take a keyed digest of.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn digest_key(&self) -> Result<Option<DigestKey>, StoreError> {
        let path = self.layout().digest_key();
        let Some(bytes) = durable::read(&path, LENGTH as u64)? else {
            return Ok(None);
        };
        let key = DigestKey::try_from(bytes.as_slice());
        key.map(Some).map_err(|_| StoreError::Damaged {
            path,
            why: format!("it has {} bytes instead of {LENGTH}", bytes.len()),
        })
    }

    /// The key, made when there is none.
    ///
    /// # Errors
    /// As [`Store::digest_key`]; when it cannot be written.
    pub fn make_digest_key(&self, entropy: &dyn Entropy) -> Result<DigestKey, StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        let _making = lock::wait(layout, MAKING)?;
        // Looked for under the lock: if two captures each made a key, the digests of one could not be compared with those of
        // the other.
        if let Some(key) = self.digest_key()? {
            // Whoever made it may have been killed before its name was on disk, and what is stored now depends on it.
            durable::sync_parent(&layout.digest_key())?;
            return Ok(key);
        }
        let mut key = [0; LENGTH];
        entropy.fill(&mut key);
        let path = layout.digest_key();
        let new = path.with_extension("new");
        if durable::is_there(&new)? {
            // The process that wrote it was killed.
            durable::remove(&new)?;
        }
        durable::write(&new, &[&key])?;
        durable::publish(&new, &path)?;
        Ok(key)
    }
}
