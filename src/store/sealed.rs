//! Opens encrypted bundles, if the operator provided the key.

use std::collections::BTreeMap;

use super::encryption::{Identities, OpenError, open};
use super::{Blobs, Store, StoreError};
use crate::model::{RelPath, SealedRef};

/// Largest size of an opened bundle, in bytes.
const LARGEST: u64 = 320 << 20;

impl Store {
    /// Takes the operator's private keys, for as long as the store is open.
    #[must_use]
    pub fn unlocked_by(self, identities: Option<Identities>) -> Self {
        Self { identities, ..self }
    }

    /// Returns true if there are keys for opening encrypted bundles.
    #[must_use]
    pub fn is_unlocked(&self) -> bool {
        self.identities.is_some()
    }

    /// The files of a bundle; `None` without keys.
    ///
    /// # Errors
    /// [`StoreError::Sealed`] when none of the keys fits, or it is damaged.
    pub fn unseal(
        &self,
        sealed: &SealedRef,
        blobs: &Blobs,
    ) -> Result<Option<BTreeMap<RelPath, Vec<u8>>>, StoreError> {
        let Some(identities) = &self.identities else {
            return Ok(None);
        };
        let bundle = blobs.whole(&sealed.digest)?;
        let fail = |is_key, reason: String| StoreError::Sealed { is_key, reason };
        let files = open(&bundle, identities, LARGEST)
            .map_err(|error| fail(matches!(error, OpenError::NoIdentity), error.to_string()))?;
        let each = files.into_iter().map(|file| {
            let path = RelPath::new(&file.path).map_err(|error| fail(false, error.to_string()))?;
            Ok((path, file.content))
        });
        each.collect::<Result<_, StoreError>>().map(Some)
    }
}
