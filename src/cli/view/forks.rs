//! Forks: snapshots that were written into directories of their own.

use crate::model::Time;
use crate::report::{ForkDocument, ForkedDocument};
use crate::terminal::table::{Cell, Column, Fit, Table};
use crate::terminal::{Role, sanitize, size};

/// All forks, two lines each: the second is the directory, which is never cut.
pub(in crate::cli) fn list(rows: &[ForkedDocument], now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("FORK"),
        Column::new("BRANCH").fit(Fit::Cut),
        Column::new("MADE"),
        Column::new("SNAPSHOT"),
        Column::new("OF").fit(Fit::Cut),
    ]);
    for row in rows {
        table.row([
            row.id.clone().into(),
            branch(row),
            size::age(row.at, now).into(),
            row.snapshot.clone().into(),
            row.instance.clone().into(),
        ]);
    }
    with_directories(&table.render(columns), rows.iter())
}

/// The forks of one session; `meant` is the one that was named.
pub(in crate::cli) fn of_instance(
    rows: &[ForkedDocument],
    meant: Option<&ForkedDocument>,
    now: Time,
    columns: usize,
) -> String {
    let mut table = Table::new([
        Column::new("FORK"),
        Column::new("BRANCH").fit(Fit::Cut),
        Column::new("MADE"),
        Column::new("SNAPSHOT"),
        Column::new("PATHS").right(),
    ]);
    for row in rows {
        let role = if meant.is_some_and(|meant| meant.id == row.id) {
            Role::Heading
        } else {
            Role::Path
        };
        table.row([
            Cell::new(role, row.id.clone()),
            branch(row),
            size::age(row.at, now).into(),
            row.snapshot.clone().into(),
            size::count(row.paths).into(),
        ]);
    }
    with_directories(&table.render(columns), rows.iter())
}

/// Describes the origin of a forked session, in one line.
pub(in crate::cli) fn origin(fork: &ForkedDocument) -> String {
    format!("{}: {} of {}", called(fork), fork.snapshot, fork.instance)
}

/// The fork that was named, in one line.
pub(in crate::cli) fn named(fork: &ForkedDocument) -> String {
    format!("the fork {} of {}", called(fork), fork.snapshot)
}

/// A fork that was just made, in one line.
pub(in crate::cli) fn made(fork: &ForkDocument) -> String {
    let paths = size::counted(fork.paths, "path", "paths");
    let read = match fork.unread {
        0 => "each read back".to_owned(),
        some => format!("each read back but {some} that you may not read"),
    };
    format!(
        "forked the {} snapshot {} of {} into {}: {paths}, {read}",
        fork.kind.word(),
        fork.reference.snapshot,
        fork.instance,
        sanitize::path(&fork.place)
    )
}

fn called(fork: &ForkedDocument) -> String {
    match &fork.branch {
        Some(branch) => format!("{} ({})", fork.id, sanitize::name(branch.as_bytes())),
        None => fork.id.clone(),
    }
}

fn branch(row: &ForkedDocument) -> Cell {
    match &row.branch {
        Some(branch) => sanitize::name(branch.as_bytes()).into(),
        None => "-".into(),
    }
}

/// Each line of the table with the directory below it.
fn with_directories<'a>(table: &str, rows: impl Iterator<Item = &'a ForkedDocument>) -> String {
    let mut lines = table.lines();
    let mut text: Vec<String> = lines.next().map(str::to_owned).into_iter().collect();
    for (line, row) in lines.zip(rows) {
        let gone = if row.is_there { "" } else { " (gone)" };
        text.push(line.to_owned());
        text.push(format!("  {}{gone}", sanitize::path(&row.place)));
    }
    text.join("\n")
}
