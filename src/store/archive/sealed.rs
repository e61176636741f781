//! Files stored only encrypted to the operator's own public keys.
//!
//! A bundle is a tar, compressed by zstd, encrypted by age, so that
//! `age -d -i KEY bundle.age | tar --zstd -x` opens it without this program.
//! Anyone who knows a public key can write a bundle, so what is opened is not trusted.

use std::fmt;
use std::io;

#[cfg(not(feature = "encrypt"))]
mod absent;
#[cfg(feature = "encrypt")]
mod bundle;
#[cfg(feature = "encrypt")]
mod identities;
#[cfg(feature = "encrypt")]
mod paths;
#[cfg(feature = "encrypt")]
mod recipients;
#[cfg(feature = "encrypt")]
mod whole;
#[cfg(feature = "encrypt")]
mod wire;

#[cfg(test)]
#[cfg(feature = "encrypt")]
mod tests;

#[cfg(not(feature = "encrypt"))]
pub use absent::{Identities, IdentityError, RecipientError, Recipients, open, open_bytes, seal, seal_bytes};
#[cfg(feature = "encrypt")]
pub use bundle::{open, seal};
#[cfg(feature = "encrypt")]
pub use identities::{Identities, IdentityError};
#[cfg(feature = "encrypt")]
use paths::PathError;
#[cfg(feature = "encrypt")]
pub use recipients::{RecipientError, Recipients};
#[cfg(feature = "encrypt")]
pub use whole::{open_bytes, seal_bytes};

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
    #[cfg(feature = "encrypt")]
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
