//! Stands in for the crate `age-bundle` in a build without it. No key can be read, so nothing is encrypted or decrypted.

use std::convert::Infallible;

use crate::features::{Feature, NotBuilt};

/// Public keys, of which no value exists.
#[derive(Debug)]
pub struct Recipients(Infallible);

/// Private keys, of which no value exists.
#[derive(Debug)]
pub struct Identities(Infallible);

/// A file as it goes into a bundle and comes out of it.
pub struct SealedFile {
    /// The relative path, as raw bytes.
    pub path: Vec<u8>,
    /// Content of the file.
    pub content: Vec<u8>,
}

/// Error of writing a bundle, of which no value exists.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SealError(Infallible);

/// Error of opening a bundle, which never occurs.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// None of the private keys belongs to a recipient of the bundle.
    #[error("none of the given private keys can open this sealed bundle")]
    NoIdentity,
    /// The bundle is damaged.
    #[error("the sealed bundle is damaged: {0}")]
    Damaged(&'static str),
}

/// Error of unusable recipients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct RecipientError(NotBuilt);

/// Error of an unusable private key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct IdentityError(NotBuilt);

impl IdentityError {
    /// Returns false: no key is read.
    pub fn needs_passphrase(&self) -> bool {
        false
    }
}

impl Recipients {
    /// Refuses.
    pub fn parse(_texts: &[String]) -> Result<Self, RecipientError> {
        Err(RecipientError(NotBuilt(Feature::Encrypt)))
    }
}

impl Identities {
    /// Refuses.
    pub fn parse(_content: &[u8], _ask: &dyn Fn() -> Option<String>) -> Result<Self, IdentityError> {
        Err(IdentityError(NotBuilt(Feature::Encrypt)))
    }
}

/// Encrypts files to one bundle.
pub fn seal(_files: &[SealedFile], recipients: &Recipients) -> Result<Vec<u8>, SealError> {
    match recipients.0 {}
}

/// Opens a bundle.
pub fn open(_bundle: &[u8], identities: &Identities, _most: u64) -> Result<Vec<SealedFile>, OpenError> {
    match identities.0 {}
}

/// Encrypts bytes.
pub fn seal_bytes(_bytes: &[u8], recipients: &Recipients) -> Result<Vec<u8>, SealError> {
    match recipients.0 {}
}

/// Decrypts bytes.
pub fn open_bytes(_sealed: &[u8], identities: &Identities, _most: u64) -> Result<Vec<u8>, OpenError> {
    match identities.0 {}
}
