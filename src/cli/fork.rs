//! The document of a fork, for `fork` and the tools of agents.

use super::written_snapshot::problems;
use crate::recovery::Forked;
use crate::report::{ForkDocument, ForkOutcome, Head, HostPathDocument};

/// Returns the document of a fork that was made.
pub(super) fn document(forked: Forked, branch: Option<&str>) -> ForkDocument {
    let place = HostPathDocument::new(&forked.directory);
    let failed = problems(&forked.written);
    ForkDocument {
        head: Head::default(),
        reference: forked.reference,
        instance: forked.target.instance.to_string(),
        branch: branch.map(str::to_owned),
        outcome: match failed.is_empty() {
            true => ForkOutcome::Forked,
            false => ForkOutcome::Partial,
        },
        directory: place.path,
        directory_bytes: place.path_bytes,
        complete: forked.target.complete,
        paths: forked.written.paths,
        unread: forked.written.unread,
        failed,
    }
}
