//! `replicate`: what was copied, or waits.

use crate::report::{ReplicateDocument, ReplicateOutcome};
use crate::terminal::size;

/// Warning about a copy that was made for several sets of recipients.
pub(in crate::cli) const EARLIER_RECIPIENTS: &str = "the recipients were changed: what was copied before opens only with the private keys of the earlier ones";

/// Returns the result in one line.
pub(in crate::cli) fn result(found: &ReplicateDocument) -> String {
    let place = &found.place;
    let store = found.store.as_deref().unwrap_or_default();
    match found.outcome {
        ReplicateOutcome::Planned => match (found.waiting.snapshots, found.waiting.receipts) {
            (0, 0) => format!("nothing to copy to {place}"),
            (snapshots, receipts) => format!("{} to copy to {place}", waits(snapshots, receipts)),
        },
        ReplicateOutcome::Busy => {
            format!("another process is copying to {place}, including everything stored so far")
        }
        ReplicateOutcome::Nothing => format!("{place}/{store} is up to date"),
        ReplicateOutcome::Copied | ReplicateOutcome::Partial => {
            let snapshots = size::counted(found.snapshots.len() as u64, "snapshot", "snapshots");
            let receipts = size::counted(found.receipts, "receipt", "receipts");
            let sent = size::bytes(found.bytes);
            let removed = match found.removed {
                0 => String::new(),
                count => format!("; {} removed there", size::counted(count, "object", "objects")),
            };
            format!("{snapshots} and {receipts} copied to {place}/{store}, {sent} sent{removed}")
        }
    }
}

/// Returns what is not copied yet, in words.
pub(in crate::cli) fn waits(snapshots: u64, receipts: u64) -> String {
    let snapshots_words = size::counted(snapshots, "snapshot", "snapshots");
    let receipts_words = size::counted(receipts, "receipt", "receipts");
    match (snapshots, receipts) {
        (0, _) => receipts_words,
        (_, 0) => snapshots_words,
        _ => format!("{snapshots_words} and {receipts_words}"),
    }
}
