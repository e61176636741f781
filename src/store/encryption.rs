//! Encryption to the operator's own public keys: the crate `age-bundle`, or what stands in for it in a build without it.

#[cfg(not(feature = "encrypt"))]
pub use super::encryption_absent::{
    Identities, IdentityError, OpenError, RecipientError, Recipients, SealError, SealedFile, open,
    open_bytes, seal, seal_bytes,
};
#[cfg(feature = "encrypt")]
pub use age_bundle::{
    Identities, IdentityError, OpenError, RecipientError, Recipients, SealError, SealedFile, open,
    open_bytes, seal, seal_bytes,
};
