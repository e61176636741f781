//! The store's copy in an object store: everything that makes a snapshot, encrypted to the operator's own keys, and how it comes
//! back. The local store is the truth; the copy follows, and nothing waits for it.

mod bucket;
mod chain;
mod delete;
mod envelope;
mod name;
mod pull;
mod push;
#[cfg(feature = "s3")]
mod s3;
#[cfg(not(feature = "s3"))]
#[path = "replica/s3_absent.rs"]
mod s3;
mod upload;

#[cfg(test)]
#[cfg(feature = "encrypt")]
mod tests;

pub use bucket::{Bucket, BucketError, BucketErrorKind, Listed, Put, Stop, Tag};
pub use chain::{Chain, Told};
pub use delete::{ForgottenObjects, forgotten_in, remove_earlier};
pub use name::Name;
pub use pull::{Index, Remote, by_instance, stores};
pub use push::{KEPT, Waiting, has_several_recipients, waiting};
pub use s3::S3;
pub use upload::{Copied, Copying};

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::model::StoreId;
use crate::store::StoreError;

/// Error of copying the store to a replica, or of importing from one.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The operator stopped it.
    #[error("interrupted; copied objects stay")]
    Interrupted,
    /// The object store failed.
    #[error("{place}: {source}")]
    Bucket {
        /// `s3://…`
        place: String,
        /// Error of the object store.
        source: BucketError,
    },
    /// An object is there that this store did not write.
    #[error(
        "{place}/{store}/{name} differs from this store: another machine writes the same store, or the object was \
        replaced; nothing was overwritten"
    )]
    Foreign {
        /// `s3://…`
        place: String,
        /// Name of this store in the replica.
        store: StoreId,
        /// The object.
        name: String,
    },
    /// The service ignores the condition of a conditional put.
    #[error("{place}: the service overwrites objects despite `If-None-Match: *`; nothing is copied to it")]
    Unconditional {
        /// `s3://…`
        place: String,
    },
    /// The recipients were refused.
    #[error("cannot encrypt the copy: {0}")]
    Encrypt(String),
    /// There is no store at all below the address.
    #[error("{place} has no replica")]
    NoStore {
        /// `s3://…`
        place: String,
    },
    /// There is no such store there.
    #[error("{place} has no store {store}")]
    UnknownStore {
        /// `s3://…`
        place: String,
        /// Name of the requested store.
        store: StoreId,
    },
    /// None of the private keys fits.
    #[error("none of the given private keys opens {place}/{store}: it was encrypted to other recipients")]
    NoIdentity {
        /// `s3://…`
        place: String,
        /// The store.
        store: StoreId,
    },
    /// An object is not what it should be.
    #[error("{place}/{store}/{name}: {why}")]
    Object {
        /// `s3://…`
        place: String,
        /// The store.
        store: StoreId,
        /// The object.
        name: String,
        /// Description of the problem.
        why: String,
    },
    /// The local store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReplicaError {
    /// Returns true if the next attempt may succeed although the operator does nothing.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Interrupted | Self::Bucket { .. } | Self::Store(_))
    }
}

impl Diagnostic for ReplicaError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Bucket { .. } | Self::Unconditional { .. } => ErrorKind::ObjectStore,
            Self::Foreign { .. } | Self::Object { .. } => ErrorKind::Integrity,
            Self::Encrypt(_) => ErrorKind::Config,
            Self::NoStore { .. } | Self::UnknownStore { .. } => ErrorKind::NothingToRestore,
            Self::NoIdentity { .. } => ErrorKind::Usage,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        let hint = match self {
            Self::Store(error) => return error.hints(),
            Self::Foreign { .. } => {
                return vec![Hint::command(
                    "if this jackin home was copied from another machine or a backup, to give this store a name of its own",
                    "replicate --new-store",
                )];
            }
            Self::Bucket { source, .. } => return source.hint().map(Hint::text).into_iter().collect(),
            Self::NoIdentity { .. } => {
                "--identity takes the private key that belongs to one of the recipients that the store was copied for"
            }
            Self::NoStore { .. } | Self::UnknownStore { .. } => {
                "check the address: use that of `replicate` in [recovery.store] on the other machine; if the key of its store was \
                deleted there, `replicate` on that machine copies it again"
            }
            Self::Unconditional { .. } => {
                "use a service that knows `If-None-Match: *` on puts, as AWS and most others do"
            }
            Self::Interrupted | Self::Encrypt(_) | Self::Object { .. } => return Vec::new(),
        };
        vec![Hint::text(hint)]
    }

    fn wrapped(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }

    fn causes(&self) -> Vec<String> {
        // The message says what the operator can act on. Layers of a network library stand in the chain that `-v` prints.
        self.wrapped().map(Diagnostic::causes).unwrap_or_default()
    }
}
