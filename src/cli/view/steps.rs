//! A step of a session in words: its name, and what it changed.

use crate::model::{PathCounts, StepRef};
use crate::terminal::{sanitize, size};

/// A step of a session: its name and the id, as far as it has both.
pub(in crate::cli) fn step(step: &StepRef) -> String {
    match step.called() == step.snapshot.as_str() {
        true => step.snapshot.to_string(),
        false => format!("{} ({})", sanitize::name(step.called().as_bytes()), step.snapshot),
    }
}

/// Returns the counts above zero, each with its sign: `+` added, `~` changed, `-` deleted, `R` renamed, `?` unknown.
pub(in crate::cli) fn signed_counts(counts: PathCounts) -> impl Iterator<Item = String> {
    let parts = [
        ('+', counts.added),
        ('~', counts.changed),
        ('-', counts.deleted),
        ('R', counts.renamed),
        ('?', counts.unknown),
    ];
    let parts = parts.into_iter().filter(|(_, count)| *count > 0);
    parts.map(|(sign, count)| format!("{sign}{}", size::count(count)))
}

/// Describes the number of paths that a step changed.
pub(in crate::cli) fn step_words(counts: PathCounts) -> String {
    let told: Vec<String> = signed_counts(counts).collect();
    if told.is_empty() {
        "nothing".to_owned()
    } else {
        told.join(" ")
    }
}
