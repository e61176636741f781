//! Stores the storable part of private files: settings without their secrets, and encrypted bundles if there are recipients.

use std::collections::BTreeSet;

use crate::capture::CaptureError;
use crate::capture::pack::Packer;
use crate::capture::private::{Before, Private, Sealed, seal};
use crate::model::{Coverage, Digest, SealedRef};
use crate::store::archive::BlobKind;

/// Stores the private files, and adds the numbers of the older archives that have some of them to `used`.
pub(super) fn keep_private(
    coverage: &Coverage,
    found: &Private,
    before: Option<Before<'_>>,
    packer: &mut Packer<'_>,
    used: &mut BTreeSet<usize>,
) -> Result<Option<SealedRef>, CaptureError> {
    let mut keep = |kind, digest: Digest, bytes: &[u8]| {
        match packer.known().archive_of(&digest) {
            Some(older) => drop(used.insert(older)),
            None => packer.blob(kind, digest, bytes)?,
        }
        Ok::<(), CaptureError>(())
    };
    for parted in found.files.iter().filter_map(|file| file.parted.as_ref()) {
        if !parted.public.is_empty() {
            keep(BlobKind::Settings, Digest::of(&parted.public), &parted.public)?;
        }
    }
    match seal(coverage, &found.facts, &found.files, before)? {
        Sealed::Nothing => Ok(None),
        Sealed::Same(sealed) => {
            // It is certain to be there: else there is no bundle before.
            keep(BlobKind::Sealed, sealed.digest, &[])?;
            Ok(Some(sealed.clone()))
        }
        Sealed::New(sealed, bundle) => {
            keep(BlobKind::Sealed, sealed.digest, &bundle)?;
            Ok(Some(sealed))
        }
    }
}
