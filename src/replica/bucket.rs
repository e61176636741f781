//! What is asked of an object store: very little, so that any will do, and a test can be one.

use std::sync::Arc;

use crate::model::Digest;

/// Returns true when the caller wants the work to stop; called often.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// What stands beside an object, readable for whoever may read the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// A digest of name and content with a key that only the store and its recipients have: equal means the same content.
    pub mac: Digest,
    /// Of receipts: the number of the last one in it.
    pub last: Option<u64>,
}

/// How a conditional put ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Done,
    /// Something of that name was there already, and is as it was.
    Taken,
}

/// An object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Below the address.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketErrorKind {
    /// Nobody answers, or nobody can serve now.
    Unreachable,
    /// No credentials were found.
    NoCredentials,
    /// They are refused, or do not suffice.
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

/// Why an object store did not do what it was asked. The text never holds a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BucketError {
    /// Which kind.
    pub kind: BucketErrorKind,
    /// In words.
    pub what: String,
}

impl BucketError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: BucketErrorKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
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

    /// What stands beside an object; `None` when there is none, or it stands without one.
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

    /// What stands before the first `/` of all names.
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
