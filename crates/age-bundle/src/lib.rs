//! Files that are encrypted to public keys of age or OpenSSH.
//!
//! A bundle is a tar, compressed by zstd, encrypted by age, so that
//! `age -d -i KEY bundle.age | tar --zstd -x` opens it without this crate.
//! Anyone who knows a public key can write a bundle, so what is opened is not trusted.
//!
//! ```
//! use age_bundle::{Identities, Recipients, SealedFile, open, seal};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let public = "age1c0rq0nhuudd6n8fcrdp8j3rddr6yllzrlq0zu06n5xul73se7vwq7md9vd".to_owned();
//! let private = b"AGE-SECRET-KEY-12PSDE8UXX77UFDCUD2Y3XFKRTLX8ME5HKAP00HRY5QMZLW4T0T2SXF9DJ9";
//! let file = SealedFile {
//!     path: b"etc/token".to_vec(),
//!     content: b"abc".to_vec(),
//! };
//! let bundle = seal(std::slice::from_ref(&file), &Recipients::parse(&[public])?)?;
//! let identities = Identities::parse(private, &|| None)?;
//! assert_eq!(open(&bundle, &identities, 1 << 20)?, [file]);
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::io;

mod bundle;
mod bytes;
mod identities;
mod paths;
mod recipients;
#[cfg(test)]
#[path = "../../../tests/recovery/support/skipped.rs"]
mod skipped;
mod wire;

#[cfg(test)]
mod tests;

pub use bundle::{open, seal};
pub use bytes::{open_bytes, seal_bytes};
pub use identities::{Identities, IdentityError};
pub use paths::PathError;
pub use recipients::{RecipientError, Recipients};

/// A file as it goes into a bundle and comes out of it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedFile {
    /// The relative path, as raw bytes.
    pub path: Vec<u8>,
    /// Content of the file.
    pub content: Vec<u8>,
}

impl fmt::Debug for SealedFile {
    // The content is a secret, so only its length is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.escape_ascii();
        write!(f, "SealedFile({path}, {} bytes)", self.content.len())
    }
}

/// Error of writing a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// A path cannot be stored.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The age library refused the recipients.
    #[error("could not encrypt to these recipients")]
    Encrypt,
    /// Compressing or writing failed.
    #[error("could not write the sealed bundle: {0}")]
    Write(#[from] io::Error),
}

/// Error of opening a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// None of the private keys belongs to a recipient of the bundle.
    #[error("none of the given private keys can open this sealed bundle")]
    NoIdentity,
    /// The bundle unpacks to more than the caller allows.
    #[error("the sealed bundle unpacks to more than {most} bytes")]
    TooLarge {
        /// The limit the caller gave.
        most: u64,
    },
    /// The bundle is not what `seal` writes.
    #[error("the sealed bundle is damaged: {0}")]
    Damaged(&'static str),
}
