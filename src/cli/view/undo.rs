//! `undo`: the restore that it is about.

use crate::model::Time;
use crate::report::UndoneRestore;
use crate::terminal::size;

/// Returns the line that names the restore: its receipt, its time, and the number of sessions since.
pub(in crate::cli) fn undone(undone: &UndoneRestore, now: Time) -> String {
    let UndoneRestore {
        receipt,
        at,
        sessions_since,
    } = *undone;
    let since = match sessions_since {
        0 => String::new(),
        some => format!(
            "; {} begun here since",
            size::counted(some, "session has", "sessions have")
        ),
    };
    format!(
        "undoing the restore of {} ({}, receipt {receipt}){since}",
        size::moment(at),
        size::age(at, now)
    )
}
