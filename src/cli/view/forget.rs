//! Plan of a `forget`, as text.

use std::collections::{BTreeMap, BTreeSet};

use super::prune::held_words;
use crate::model::Time;
use crate::report::{ForgetDocument, ForgottenPathDocument, OutsideKind};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{Role, sanitize, size, style, width};

/// So many rows are named one by one; the rest is counted.
const NAMED: usize = 20;

/// Returns the plan, without the notes on copies elsewhere.
pub(in crate::cli) fn plan(document: &ForgetDocument, now: Time, columns: usize) -> String {
    let mut lines = Vec::new();
    if !document.sessions.is_empty() {
        lines.push(sessions(document, now, columns));
        lines.extend(more(document.sessions.len()));
        lines.push(String::new());
    }
    for (path, held) in by_path(document) {
        lines.push(format!("{}:", sanitize::path(path)));
        lines.push(snapshots(&held, now, columns));
        lines.extend(more(held.len()));
        lines.push(String::new());
    }
    for (held, count) in &document.kept_sessions {
        let count = size::counted(*count, "session", "sessions");
        lines.push(format!("  {count}: {}", held_words(*held)));
    }
    if document.sessions.is_empty() && document.paths.is_empty() {
        lines.push("No session is old enough to forget.".to_owned());
        return lines.join("\n");
    }
    if document.ends_undo {
        let text = "The last restore of a session cannot be undone any more.";
        lines.extend(width::wrap(&style::paint(Role::Warning, text), columns));
    }
    lines.extend(copies(document, columns));
    lines.extend(width::wrap(&total(document), columns));
    lines.join("\n")
}

/// Returns what lies outside of the store and is not deleted.
pub(in crate::cli) fn elsewhere(document: &ForgetDocument) -> Vec<String> {
    let mut lines = Vec::new();
    for path in &document.on_disk {
        lines.push(format!(
            "{} still exists: the next session records it again, unless you delete or exclude it",
            sanitize::path(&path.exact)
        ));
    }
    for copy in &document.outside {
        let what = match copy.kind {
            OutsideKind::Fork => "the fork",
            OutsideKind::Export => "the export",
        };
        lines.push(format!(
            "{what} {} is a copy outside of the store; delete it yourself",
            sanitize::path(&copy.at.exact)
        ));
    }
    lines
}

fn more(all: usize) -> Option<String> {
    let more = all.saturating_sub(NAMED);
    (more > 0).then(|| format!("and {} more (--json has them)", size::count(more as u64)))
}

fn sessions(document: &ForgetDocument, now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("SESSION").fit(Fit::Cut),
        Column::new("ENDED"),
        Column::new("SNAPSHOTS"),
    ]);
    for session in document.sessions.iter().take(NAMED) {
        let ended = session
            .ended_at
            .map_or_else(|| "-".to_owned(), |at| size::age(at, now));
        table.row([
            session.instance.clone().into(),
            ended.into(),
            size::count(session.snapshots).into(),
        ]);
    }
    table.render(columns)
}

type Rows<'d> = Vec<&'d ForgottenPathDocument>;

fn by_path(document: &ForgetDocument) -> BTreeMap<&std::path::Path, Rows<'_>> {
    let mut all: BTreeMap<_, Rows<'_>> = BTreeMap::new();
    for held in &document.paths {
        all.entry(held.at.exact.as_path()).or_default().push(held);
    }
    all
}

fn snapshots(held: &Rows<'_>, now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("KIND AND NAME").fit(Fit::Cut),
        Column::new("TAKEN"),
        Column::new("VERSION"),
        Column::new("SIZE"),
        Column::new("SESSION").fit(Fit::Cut),
    ]);
    for one in held.iter().take(NAMED) {
        let mut called = one.kind.word().to_owned();
        if let Some(name) = &one.name {
            called.push_str(&format!(" {}", sanitize::name(name.as_bytes())));
        }
        table.row([
            one.snapshot.clone().into(),
            called.into(),
            size::age(one.taken_at, now).into(),
            size::count(one.version).into(),
            size::bytes(one.bytes).into(),
            one.instance.clone().into(),
        ]);
    }
    table.render(columns)
}

/// Names the paths that keep the same content.
fn copies(document: &ForgetDocument, columns: usize) -> Vec<String> {
    if document.copies.is_empty() {
        return Vec::new();
    }
    let text = "The same content stays in the store for other paths (--content forgets these as well):";
    let mut lines = width::wrap(&style::paint(Role::Warning, text), columns);
    for copy in document.copies.iter().take(NAMED) {
        lines.push(format!(
            "  {} in {} of {}",
            sanitize::path(&copy.at.exact),
            size::counted(copy.snapshots, "snapshot", "snapshots"),
            copy.instance
        ));
    }
    lines.extend(more(document.copies.len()));
    lines
}

fn total(document: &ForgetDocument) -> String {
    let archives = match document.archives {
        0 => String::new(),
        count => format!(
            "{} to rewrite or delete; ",
            size::counted(count, "archive", "archives")
        ),
    };
    let free = size::bytes(document.freed);
    let what = match document.paths.as_slice() {
        [] => format!(
            "{} with {} to forget",
            size::counted(document.sessions.len() as u64, "session", "sessions"),
            size::counted(document.snapshots.len() as u64, "snapshot", "snapshots")
        ),
        paths => {
            let snapshots: BTreeSet<&str> = paths.iter().map(|held| held.snapshot.as_str()).collect();
            let sessions: BTreeSet<&str> = paths.iter().map(|held| held.instance.as_str()).collect();
            format!(
                "{} to forget in {} of {}",
                size::counted(by_path(document).len() as u64, "path", "paths"),
                size::counted(snapshots.len() as u64, "snapshot", "snapshots"),
                size::counted(sessions.len() as u64, "session", "sessions")
            )
        }
    };
    format!("{what}; {archives}about {free} will be freed.")
}
