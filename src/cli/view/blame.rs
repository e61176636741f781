//! `blame` and `log PATH`: who wrote each line of a file, and who changed it when.

use std::path::Path;

use super::host_path::below_home;
use super::receipt::{first_line, prompt_words};
use crate::model::Time;
use crate::report::{BlameDocument, PathLogDocument, PathStepDocument, StepAuthor, StepKind, WorkerDocument};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{sanitize, size, width};

/// Text in the place of a hidden line.
const HIDDEN: &str = "(hidden; --show-secrets shows it)";
/// Columns of the beginning of a session's id, which names it.
const SHORT_ID: usize = 11;
/// Minimum width of a description of a change, in columns.
const NARROWEST: usize = 32;
/// Mark of a line that is older than all snapshots.
const BEFORE: &str = "-";

/// Returns the sentence about a file that is gone or has no lines; `None` if its lines say everything.
pub(in crate::cli) fn heading(found: &BlameDocument, now: Time) -> Option<String> {
    let path = sanitize::path(&found.file.exact);
    let step = found.changes.last()?;
    let seen = match step.snapshot {
        Some(_) => when(step, now),
        None => "after the last snapshot".to_owned(),
    };
    let by = format!("{seen} by {}", who(step, usize::MAX));
    match (&found.whole, found.deleted) {
        (_, true) => {
            let snapshot = found.snapshot.as_ref();
            let had = match (&found.whole, snapshot) {
                (Some(why), _) => format!(" ({})", sanitize::text(why)),
                (None, Some(snapshot)) => format!("; its lines in snapshot {snapshot}:"),
                (None, None) => String::new(),
            };
            Some(format!("{path} was deleted {by}{had}"))
        }
        (Some(why), false) if step.by == StepAuthor::Before => {
            let why = sanitize::text(why);
            Some(format!("{path}: {why}; not changed since the first snapshot"))
        }
        (Some(why), false) => Some(format!("{path}: {}; last change {by}", sanitize::text(why))),
        (None, false) => None,
    }
}

/// Returns one line for each line of the file. With `columns`, long descriptions of changes are shortened to fit a terminal.
pub(in crate::cli) fn lines(found: &BlameDocument, now: Time, columns: usize) -> Vec<String> {
    // What is long gives way to the file itself.
    let room = match columns {
        usize::MAX => usize::MAX,
        columns => (columns * 6 / 10).saturating_sub(16).max(NARROWEST),
    };
    let told: Vec<(String, String)> = found
        .changes
        .iter()
        .map(|step| match step.by {
            StepAuthor::Before => (BEFORE.to_owned(), String::new()),
            _ => (who(step, room), when(step, now)),
        })
        .collect();
    let used = || found.lines.iter().filter_map(|line| told.get(line.change));
    let widest = |of: &dyn Fn(&(String, String)) -> usize| used().map(of).max().unwrap_or(0);
    let (who, when) = (
        widest(&|told| width::of(&told.0)),
        widest(&|told| width::of(&told.1)),
    );
    let last = found.lines.last().map_or(0, |line| line.line);
    let digits = size::count(last).len();
    found
        .lines
        .iter()
        .map(|line| {
            let empty = (String::new(), String::new());
            let told = told.get(line.change).unwrap_or(&empty);
            let text = match &line.exact {
                Some(exact) => sanitize::line(exact),
                None => HIDDEN.to_owned(),
            };
            let (who, when) = (width::pad(&told.0, who), width::pad(&told.1, when));
            let number = format!("{:>digits$}", line.line);
            format!("{who}  {when}  {number}) {text}").trim_end().to_owned()
        })
        .collect()
}

/// Returns the changes of a file, newest first.
pub(in crate::cli) fn history(
    found: &PathLogDocument,
    now: Time,
    columns: usize,
    home: Option<&Path>,
) -> String {
    let mut table = Table::new([
        Column::new("WHEN"),
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("CHANGE").fit(Fit::Wrap),
        Column::new("BY").fit(Fit::Wrap),
    ]);
    for step in &found.changes {
        let by = match step.by {
            StepAuthor::Before => BEFORE.to_owned(),
            _ => who(step, usize::MAX),
        };
        let snapshot = match (&step.snapshot, &step.name) {
            (Some(id), Some(name)) => format!("{id} {}", sanitize::name(name.as_bytes())),
            (Some(id), None) => id.clone(),
            (None, _) => BEFORE.to_owned(),
        };
        table.row([
            when(step, now).into(),
            snapshot.into(),
            change(step, home).into(),
            by.into(),
        ]);
    }
    table.render(columns)
}

/// Returns the number of lines that no snapshot shows yet.
pub(in crate::cli) fn unstored(found: &BlameDocument) -> u64 {
    let of = |at: usize| found.changes.get(at);
    let is_new = |at: usize| of(at).is_some_and(|step| step.snapshot.is_none());
    found.lines.iter().filter(|line| is_new(line.change)).count() as u64
}

/// Returns the warning about snapshots that cannot be read.
pub(in crate::cli) fn passed_over(unreadable: u64) -> Option<String> {
    let some = Some(unreadable).filter(|count| *count > 0)?;
    let snapshots = size::counted(some, "snapshot", "snapshots");
    Some(format!(
        "{snapshots} cannot be read, so changes around them have several possible authors; `verify` names the damage"
    ))
}

fn when(step: &PathStepDocument, now: Time) -> String {
    match (step.at, &step.snapshot) {
        (Some(at), _) => size::age(at, now),
        (None, None) => "not stored yet".to_owned(),
        (None, Some(_)) => String::new(),
    }
}

fn change(step: &PathStepDocument, home: Option<&Path>) -> String {
    let lines = match (step.added, step.removed) {
        (0, 0) => String::new(),
        (added, removed) => format!(" +{added} -{removed}"),
    };
    let word = match step.change {
        StepKind::Found => "found",
        StepKind::Added => "added",
        StepKind::Modified => "modified",
        StepKind::Metadata => "mode or owner",
        StepKind::Renamed => {
            let from = step.from.as_ref();
            let from = from.map(|from| below_home(&from.exact, home));
            return format!("renamed from {}{lines}", from.unwrap_or_default());
        }
        StepKind::Deleted => "deleted",
    };
    format!("{word}{lines}")
}

/// Describes the author of a change in at most `room` columns.
fn who(step: &PathStepDocument, room: usize) -> String {
    let text = match step.by {
        StepAuthor::Before => "recovery began later".to_owned(),
        StepAuthor::Operator => "you".to_owned(),
        StepAuthor::Restore => {
            let word = if step.is_undo { "undo" } else { "restore" };
            let number = step.receipt.map(|number| number.to_string());
            format!("{word} {}", number.unwrap_or_default())
        }
        StepAuthor::Session | StepAuthor::Unknown => {
            let you = step.operator.then(|| "you".to_owned());
            let sessions = step.sessions.iter().map(|session| worker(session, room));
            sessions.chain(you).collect::<Vec<_>>().join(" or ")
        }
    };
    match room {
        usize::MAX => text,
        room => beginning(&text, room),
    }
}

/// Returns as much of the beginning of a text as fits.
fn beginning(text: &str, room: usize) -> String {
    if width::of(text) <= room {
        return text.to_owned();
    }
    let mut taken = String::new();
    for c in text.chars() {
        if width::of(&taken) + width::of_char(c) >= room {
            break;
        }
        taken.push(c);
    }
    taken.push('…');
    taken
}

/// Describes a session with its prompt and tool call.
fn worker(session: &WorkerDocument, room: usize) -> String {
    let id: String = session.instance.chars().take(SHORT_ID).collect();
    let prompt = session.prompt.as_deref().map(prompt_words);
    let turn = || session.last_turn.map(|turn| format!("turn {turn}"));
    let call = match session.calls.as_slice() {
        [] => None,
        [one] => Some(first_line(&one.called)),
        some => Some(size::counted(some.len() as u64, "call", "calls")),
    };
    let named = session.agent.as_ref().or(session.program.as_ref());
    let named = || named.map(|name| sanitize::name(name.as_bytes()));
    let parts: Vec<String> = match (prompt.or_else(turn), call) {
        (None, None) => named().into_iter().collect(),
        (prompt, call) => prompt.into_iter().chain(call).collect(),
    };
    // A long prompt leaves room for the call.
    let each = match room {
        usize::MAX => usize::MAX,
        room => room.saturating_sub(SHORT_ID + 1) / parts.len().max(1),
    };
    let parts: Vec<String> = parts.iter().map(|part| beginning(part, each)).collect();
    match parts.is_empty() {
        true => id,
        false => format!("{id} {}", parts.join(" ")),
    }
}
