//! Turns of an agent, one line each.

use super::receipt::{first_line, prompt_words};
use super::steps::step_words;
use crate::model::Time;
use crate::report::TurnDocument;
use crate::terminal::size;
use crate::terminal::table::{Column, Fit, Table};

/// Number of calls that are named.
const NAMED: usize = 3;

/// The turns, newest first.
pub(in crate::cli) fn table(turns: &[TurnDocument], now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("TURN").right(),
        Column::new("WHEN"),
        Column::new("CHANGED"),
        Column::new("PROMPT AND CALLS").fit(Fit::Wrap),
    ]);
    for turn in turns {
        table.row([
            number(turn).into(),
            size::age(turn.started_at, now).into(),
            turn.changed.map(step_words).unwrap_or_default().into(),
            words(turn).into(),
        ]);
    }
    table.render(columns)
}

/// Returns the number of a turn; `-` for calls before the first prompt, which belong to none.
pub(in crate::cli) fn number(turn: &TurnDocument) -> String {
    match turn.turn {
        0 => "-".to_owned(),
        number => number.to_string(),
    }
}

/// Describes a turn: the prompt, and the last calls.
pub(in crate::cli) fn words(turn: &TurnDocument) -> String {
    let prompt = turn.prompt.as_deref().map(prompt_words);
    let skipped = turn.calls.len().saturating_sub(NAMED);
    let calls = turn.calls.iter().skip(skipped);
    let mut calls: Vec<String> = calls.map(|call| first_line(&call.called)).collect();
    if skipped > 0 {
        calls.insert(
            0,
            format!("{} before", size::counted(skipped as u64, "call", "calls")),
        );
    }
    let calls = (!calls.is_empty()).then(|| format!("({})", calls.join("; ")));
    prompt.into_iter().chain(calls).collect::<Vec<_>>().join(" ")
}
