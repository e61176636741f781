//! Prompts and tool calls that a restore can go back to before.

use super::receipt::prompt_words;
use super::steps::step_words;
use crate::model::Time;
use crate::report::RestorePoint;
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{sanitize, size, style};

/// Returns the points as lines to choose from: age, changes, and text; calls stand below their prompt.
pub(in crate::cli) fn choices(points: &[&RestorePoint], now: Time, columns: usize) -> Vec<String> {
    let mut table = Table::new([
        Column::new("WHEN"),
        Column::new("CHANGED"),
        Column::new("BEFORE").fit(Fit::Cut),
    ]);
    for point in points {
        table.row([
            size::age(point.at, now).into(),
            point.changed.map(step_words).unwrap_or_default().into(),
            format!("{}{}", indent(point), words(point)).into(),
        ]);
    }
    // A list of choices shows color codes as text.
    let plain = |line: &str| style::parts(line).into_iter().map(|(_, text)| text).collect();
    table.render(columns).lines().skip(1).map(plain).collect()
}

/// Returns the space before a point: a call belongs to the prompt above it.
pub(in crate::cli) fn indent(point: &RestorePoint) -> &'static str {
    if point.turn.is_some() { "" } else { "  " }
}

/// Describes a point: the first line of the prompt with the number of calls, or the call.
pub(in crate::cli) fn words(point: &RestorePoint) -> String {
    let first = |text: &String| sanitize::name(text.lines().next().unwrap_or_default().as_bytes());
    match (point.turn, &point.text) {
        (None, text) => text.as_ref().map(first).unwrap_or_default(),
        (Some((turn, calls)), text) => {
            let prompt = text
                .as_deref()
                .map_or_else(|| format!("turn {turn}"), prompt_words);
            let calls = size::counted(calls as u64, "call", "calls");
            format!("{prompt} ({calls})")
        }
    }
}
