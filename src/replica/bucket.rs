//! Interface to an object store: small, so that any service can implement it, and a test can be one.

use std::error::Error;
use std::sync::Arc;

use crate::model::Digest;

/// Returns true when the caller wants the work to stop; called often.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Metadata of an object, readable by everyone with access to the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Keyed digest of name and content; only the store and its recipients have the key. Equal digests mean equal content.
    pub mac: Digest,
    /// Number of the last receipt in the object; `None` if it has no receipts.
    pub last: Option<u64>,
}

/// Result of a conditional put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The object was written.
    Done,
    /// An object of that name already exists and is unchanged.
    Taken,
    /// Another request for that name is under way; the service asks to repeat it.
    Busy,
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Below the address.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
}

/// Kind of a [`BucketError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketErrorKind {
    /// The service does not answer, or cannot answer now.
    Unreachable,
    /// No credentials were found.
    NoCredentials,
    /// The credentials are rejected, or are not sufficient.
    Refused,
    /// There is no such bucket.
    NoBucket,
    /// The clocks differ too much.
    Skew,
    /// The operator stopped it.
    Interrupted,
    /// This build has no client for it.
    NotBuilt,
    /// Anything else.
    Odd,
}

/// Failure of a request to an object store. The text never contains a credential.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct BucketError {
    /// Kind of the failure.
    pub kind: BucketErrorKind,
    /// Description of the failure.
    pub what: String,
    /// Error of the client library; `None` if the request was not made.
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl BucketError {
    /// Returns advice for the operator.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self.kind {
            BucketErrorKind::Unreachable => Some("check AWS_ENDPOINT_URL, AWS_REGION and the network"),
            BucketErrorKind::NoCredentials => Some(
                "sign in as for AWS's own tools: AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a \
                profile in ~/.aws",
            ),
            BucketErrorKind::Refused => {
                Some("check AWS_PROFILE; it needs permission to list the bucket, and to get and put objects")
            }
            BucketErrorKind::NoBucket => Some(
                "create the bucket, or check its name in [recovery.store], AWS_ENDPOINT_URL and AWS_REGION",
            ),
            BucketErrorKind::Skew => Some("set the clock of this machine"),
            BucketErrorKind::Odd => Some("check AWS_REGION and AWS_ENDPOINT_URL"),
            BucketErrorKind::Interrupted | BucketErrorKind::NotBuilt => None,
        }
    }

    /// An error of this kind.
    #[must_use]
    pub fn new(kind: BucketErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            source: None,
        }
    }

    /// Adds the error of the client library.
    #[must_use]
    pub(super) fn because(self, source: Box<dyn Error + Send + Sync>) -> Self {
        Self {
            source: Some(source),
            ..self
        }
    }
}

/// An object store, from one address on: names are those below it.
pub trait Bucket {
    /// Puts an object that must not be there yet.
    ///
    /// # Errors
    /// [`BucketError`]; then it may be there or not.
    fn put_new(&self, name: &str, bytes: Vec<u8>, tag: &Tag) -> Result<Put, BucketError>;

    /// Returns the metadata of an object; `None` if there is no object, or it has no metadata.
    ///
    /// # Errors
    /// [`BucketError`].
    fn tag(&self, name: &str) -> Result<Option<Tag>, BucketError>;

    /// An object of at most `most` bytes; `None` when there is none.
    ///
    /// # Errors
    /// [`BucketError`]; also when it is longer.
    fn get(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, BucketError>;

    /// Every object whose name begins so, sorted by name.
    ///
    /// # Errors
    /// [`BucketError`].
    fn list(&self, beginning: &str) -> Result<Vec<Listed>, BucketError>;

    /// Returns the names of the folders: the part before the first `/` of each name.
    ///
    /// # Errors
    /// [`BucketError`].
    fn folders(&self) -> Result<Vec<String>, BucketError>;

    /// Removes an object. One that is not there is no error.
    ///
    /// # Errors
    /// [`BucketError`].
    fn delete(&self, name: &str) -> Result<(), BucketError>;

    /// The address, for messages.
    fn place(&self) -> String;
}
