//! The private files of one mount in one bundle, encrypted to the operator's own public keys.

use super::PrivateFile;
use crate::capture::CaptureError;
use crate::model::{Coverage, Digest, SealedRef, WithheldFact};
use crate::store::encryption::{Recipients, SealedFile, seal as encrypt};

/// Maximum bytes of all private files of a mount.
const LARGEST: u64 = 256 << 20;

/// Private files of the same mount in the parent snapshot.
#[derive(Clone, Copy)]
pub(in crate::capture) struct Before<'a> {
    pub(in crate::capture) sealed: &'a SealedRef,
    pub(in crate::capture) facts: &'a [WithheldFact],
}

/// Result of encrypting the private files.
pub(in crate::capture) enum Sealed<'a> {
    /// No private files, or all of them are withheld.
    Nothing,
    /// The same content as before, so the stored bundle is reused.
    Same(&'a SealedRef),
    /// A new bundle.
    New(SealedRef, Vec<u8>),
}

/// Encrypts the content of `files`, unless the parent snapshot has the same.
pub(in crate::capture) fn seal<'a>(
    coverage: &Coverage,
    facts: &[WithheldFact],
    files: &[PrivateFile],
    before: Option<Before<'a>>,
) -> Result<Sealed<'a>, CaptureError> {
    let regular = || files.iter().filter(|file| file.entry.content().is_some());
    if coverage.recipients.is_empty() || regular().next().is_none() {
        return Ok(Sealed::Nothing);
    }
    let fail = |reason: String| CaptureError::Seal {
        path: coverage.root.to_path(),
        reason,
    };
    let contents = |facts: &[WithheldFact]| -> Vec<_> {
        let entries = facts
            .iter()
            .filter_map(|fact| Some((&fact.path, fact.entry.as_ref()?)));
        entries
            .map(|(path, entry)| (path.clone(), entry.0.content().copied()))
            .collect()
    };
    if let Some(before) = before
        && before.sealed.recipients == coverage.recipients
        && contents(before.facts) == contents(facts)
    {
        return Ok(Sealed::Same(before.sealed));
    }
    let size: u64 = regular().map(|file| file.whole.len() as u64).sum();
    if size > LARGEST {
        return Err(fail(format!(
            "there are {size} bytes of them, and at most {LARGEST} are encrypted"
        )));
    }
    let recipients = Recipients::parse(&coverage.recipients).map_err(|error| fail(error.to_string()))?;
    let each = regular().map(|file| SealedFile {
        path: file.path.as_bytes().to_vec(),
        content: file.whole.clone(),
    });
    let bundle = encrypt(&each.collect::<Vec<_>>(), &recipients).map_err(|error| fail(error.to_string()))?;
    let sealed = SealedRef {
        digest: Digest::of(&bundle),
        size: bundle.len() as u64,
        recipients: coverage.recipients.clone(),
    };
    Ok(Sealed::New(sealed, bundle))
}
