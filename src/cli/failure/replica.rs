//! Kinds and hints for errors of an object store.

use crate::cli::error::{CliError, ErrorKind};
use crate::replica::{BucketErrorKind, ReplicaError};

impl From<ReplicaError> for CliError {
    fn from(error: ReplicaError) -> Self {
        let kind = match &error {
            ReplicaError::Store(_) => {
                let ReplicaError::Store(error) = error else {
                    return Self::new(ErrorKind::Failed, error.to_string());
                };
                return error.into();
            }
            ReplicaError::Interrupted => ErrorKind::Interrupted,
            ReplicaError::Bucket { .. } | ReplicaError::Unconditional { .. } => ErrorKind::ObjectStore,
            ReplicaError::Foreign { .. } | ReplicaError::Object { .. } => ErrorKind::Integrity,
            ReplicaError::Encrypt(_) => ErrorKind::Config,
            ReplicaError::NoStore { .. } | ReplicaError::UnknownStore { .. } => ErrorKind::NothingToRestore,
            ReplicaError::NoIdentity { .. } => ErrorKind::Usage,
        };
        let hint = hint(&error);
        let made = Self::new(kind, error.to_string());
        match (hint, &error) {
            (_, ReplicaError::Foreign { .. }) => made
                .hint(
                    "if this jackin home was copied from another machine, give this store a name of its own",
                )
                .command("that is", "replicate --new-store"),
            (Some(hint), _) => made.hint(hint),
            (None, _) => made,
        }
    }
}

fn hint(error: &ReplicaError) -> Option<&'static str> {
    let ReplicaError::Bucket { source, .. } = error else {
        return match error {
            ReplicaError::NoIdentity { .. } => Some(
                "--identity takes the private key that belongs to one of the recipients that the store was copied for",
            ),
            ReplicaError::NoStore { .. } | ReplicaError::UnknownStore { .. } => Some(
                "look at the address: it is the one that `replicate` in [recovery.store] names on the other machine",
            ),
            ReplicaError::Unconditional { .. } => {
                Some("use a service that knows `If-None-Match: *` on puts, as AWS and most others do")
            }
            _ => None,
        };
    };
    match source.kind {
        BucketErrorKind::Unreachable => Some(
            "look at AWS_ENDPOINT_URL, AWS_REGION and the network; an attempt follows with the next snapshot",
        ),
        BucketErrorKind::NoCredentials => Some(
            "sign in as for AWS's own tools: AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws",
        ),
        BucketErrorKind::Refused => Some(
            "look at who is signed in (AWS_PROFILE); it must be allowed to list the bucket, and to get and put objects in it",
        ),
        BucketErrorKind::NoBucket => Some(
            "make the bucket, or look at its name in [recovery.store] and at AWS_ENDPOINT_URL and AWS_REGION",
        ),
        BucketErrorKind::Skew => Some("set the clock of this machine"),
        BucketErrorKind::Odd => Some("look at AWS_REGION and AWS_ENDPOINT_URL"),
        BucketErrorKind::Interrupted | BucketErrorKind::NotBuilt => None,
    }
}
