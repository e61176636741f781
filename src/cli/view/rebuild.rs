//! `rebuild`: what is damaged or missing, and what was repaired.

use crate::report::RebuildDocument;
use crate::terminal::{sanitize, size};

/// Returns what remains damaged or missing.
pub(in crate::cli) fn warnings(found: &RebuildDocument) -> Vec<String> {
    let lost = found.lost_records.iter().map(|lost| {
        format!(
            "{lost} is lost: receipt {} names it, and its record is missing; copy snapshots/{}.json from a backup, \
            or discard it with `rebuild --accept-loss`",
            lost.receipt, lost.snapshot
        )
    });
    found.unreadable.iter().cloned().chain(lost).collect()
}

/// Returns what was discarded and repaired.
pub(in crate::cli) fn notes(found: &RebuildDocument) -> Vec<String> {
    let discarded = found.discarded_records.iter();
    let mut notes: Vec<String> = discarded.map(|lost| format!("{lost} is discarded")).collect();
    if let (Some(regained), Some(aside)) = (found.regained, &found.damaged_log) {
        let regained = size::counted(regained, "receipt", "receipts");
        notes.push(format!(
            "the log was damaged: it has {} receipts again, {regained} from the catalog's copy; the damaged file is \
            {}",
            size::count(found.links),
            sanitize::path(&aside.exact)
        ));
    }
    notes
}

/// Returns the result in one line.
pub(in crate::cli) fn result(found: &RebuildDocument) -> String {
    let sessions = size::counted(found.instances, "session", "sessions");
    format!("the catalog was rebuilt: {sessions}")
}
