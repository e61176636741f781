//! Bytes that leave the machine: encrypted as they are, without a bundle around them.

use std::io::{Read as _, Write as _};

use crate::bundle::decrypt;
use crate::{Identities, OpenError, Recipients, SealError};

/// Encrypts bytes to an age file (binary) that any one of the recipients can open.
///
/// # Errors
/// [`SealError`].
pub fn seal_bytes(bytes: &[u8], recipients: &Recipients) -> Result<Vec<u8>, SealError> {
    let encryptor = age::Encryptor::with_recipients(recipients.iter()).map_err(|_| SealError::Encrypt)?;
    let mut sealed = Vec::new();
    let mut cipher = encryptor.wrap_output(&mut sealed)?;
    cipher.write_all(bytes)?;
    cipher.finish()?;
    Ok(sealed)
}

/// Reads such a file back. `most` bounds what comes out, in bytes.
///
/// # Errors
/// [`OpenError`].
pub fn open_bytes(sealed: &[u8], identities: &Identities, most: u64) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    decrypt(sealed, identities)?
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|_| OpenError::Damaged("its content cannot be decrypted"))?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        true => Ok(bytes),
        false => Err(OpenError::TooLarge { most }),
    }
}
