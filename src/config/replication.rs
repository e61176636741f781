//! The settings of `[recovery.store]`, in `config.toml` alone: the bucket that the store is copied to, and who can read it there.

use serde::Serialize;

use super::Sourced;
use super::error::{ConfigError, Place};
use crate::model::Digest;

/// Maximum length of a prefix, in bytes: an object's name has at most 1024, some of them jackin's.
const LONGEST_PREFIX: usize = 512;

/// A bucket of an object store, and the prefix in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct BucketPlace {
    bucket: String,
    prefix: String,
}

impl BucketPlace {
    /// Reads `s3://bucket` or `s3://bucket/prefix`.
    ///
    /// # Errors
    /// Returns the required form in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let rest = text
            .strip_prefix("s3://")
            .ok_or("it must be an address such as s3://bucket/prefix")?;
        if rest.contains('@') {
            return Err("it must not hold credentials: they come from the environment or AWS's files");
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let is_bucket = (3..=63).contains(&bucket.len())
            && bucket.bytes().all(|b| is_plain(b) || matches!(b, b'-' | b'.'))
            && bucket.bytes().next().is_some_and(is_plain)
            && bucket.bytes().last().is_some_and(is_plain)
            && !bucket.contains("..");
        if !is_bucket {
            return Err(
                "a bucket's name has 3 to 63 lower-case letters, digits, dots and dashes, and begins and ends with a \
                letter or digit",
            );
        }
        let prefix = prefix.trim_end_matches('/');
        let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"!-_.*'()=".contains(&b);
        let is_part =
            |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(is_letter);
        if !prefix.is_empty() && (prefix.len() > LONGEST_PREFIX || !prefix.split('/').all(is_part)) {
            return Err("the prefix after the bucket must be plain words separated by `/`");
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// Returns the bucket's name.
    #[must_use]
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the prefix of every name in the bucket; empty, or with a `/` at its end.
    #[must_use]
    pub fn prefix(&self) -> String {
        match self.prefix.as_str() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        }
    }
}

impl From<BucketPlace> for String {
    fn from(place: BucketPlace) -> Self {
        place.to_string()
    }
}

impl std::fmt::Display for BucketPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        match self.prefix.as_str() {
            "" => Ok(()),
            prefix => write!(f, "/{prefix}"),
        }
    }
}

/// Settings of the copy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replication {
    /// Bucket and prefix of the copy.
    pub place: Sourced<BucketPlace>,
    /// Public keys from `config.toml` that everything is encrypted to. Never empty.
    pub recipients: Vec<Sourced<String>>,
    /// True if data deleted here is deleted there as well.
    pub prune: bool,
}

impl Replication {
    /// Returns the digest by which the store knows the place.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.place.value.to_string().as_bytes())
    }
}

/// The settings of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreLayer {
    pub(super) replicate: Option<(Place, Sourced<BucketPlace>)>,
    pub(super) prune_replica: Option<(Place, bool)>,
}

impl StoreLayer {
    /// Sets `store.replicate`; an empty text unsets it.
    pub(super) fn set_place(&mut self, place: &Place, text: &str) -> Result<(), ConfigError> {
        if text.is_empty() {
            self.replicate = None;
            return Ok(());
        }
        let value = BucketPlace::parse(text).map_err(|problem| ConfigError::BadValue {
            place: place.clone(),
            value: without_secret(text),
            problem: problem.to_owned(),
        })?;
        let source = (&place.origin).into();
        self.replicate = Some((place.clone(), Sourced { value, source }));
        Ok(())
    }

    /// Refuses these settings in the table of a workspace.
    pub(super) fn refuse_of_store(&self) -> Result<(), ConfigError> {
        let replicate = self
            .replicate
            .iter()
            .map(|(place, sourced)| (place, sourced.value.to_string()));
        let prune = self
            .prune_replica
            .iter()
            .map(|(place, on)| (place, on.to_string()));
        match replicate.chain(prune).next() {
            None => Ok(()),
            Some((place, value)) => Err(ConfigError::BadValue {
                place: place.clone(),
                value,
                problem: "it applies to the whole store; set it in [recovery.store] of config.toml"
                    .to_owned(),
            }),
        }
    }

    /// Refuses a bucket without recipients, whose content no key could decrypt.
    pub(super) fn refuse_without_recipients(
        &self,
        recipients: &[Sourced<String>],
    ) -> Result<(), ConfigError> {
        match &self.replicate {
            Some((place, sourced)) if recipients.is_empty() => Err(ConfigError::BadValue {
                place: place.clone(),
                value: sourced.value.to_string(),
                problem: "the copy must be encrypted, and there are no recipients: set recipients in \
                    [recovery.state] of config.toml to your public keys (age1… or ssh-ed25519 …)"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the text for display, without the part before an `@`, which could be a secret.
fn without_secret(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => text.to_owned(),
    }
}
