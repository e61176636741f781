//! Plan of a `forget`, as text.

use std::collections::{BTreeMap, BTreeSet};

use std::path::Path;

use super::instances::place;
use super::plan::Listed;
use super::prune::held_words;
use crate::model::Time;
use crate::report::{
    EarlierReplicaDocument, ForgetDocument, ForgetOutcome, ForgottenPathDocument, KeptCopyDocument,
    OutsideKind,
};
use crate::terminal::table::{Column, Fit, Table};
use crate::terminal::{Role, sanitize, size, style, width};

/// Number of rows that are named one by one unless all are asked for; the rest is counted.
const NAMED: usize = 20;

/// Form of a plan.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Form<'a> {
    /// The time to compare with.
    pub(in crate::cli) now: Time,
    /// Width in columns.
    pub(in crate::cli) columns: usize,
    /// Rows that are listed.
    pub(in crate::cli) listed: Listed,
    /// True if sessions were asked for by their age.
    pub(in crate::cli) is_by_age: bool,
    /// Home directory of the reader, if paths in it begin with `~`.
    pub(in crate::cli) home: Option<&'a Path>,
}

impl Form<'_> {
    /// Returns the number of rows that are listed.
    fn named(&self) -> usize {
        match self.listed {
            Listed::All => usize::MAX,
            Listed::Folded => NAMED,
        }
    }

    /// Returns the line that counts the rows that are not listed.
    fn more(&self, all: usize) -> Option<String> {
        let more = all.saturating_sub(self.named());
        (more > 0).then(|| format!("and {} more (--all lists them)", size::count(more as u64)))
    }

    fn path(&self, path: &Path, room: usize) -> String {
        match self.home {
            Some(home) => place(path, home, room),
            None => sanitize::path(path),
        }
    }
}

/// Returns the plan, without the notes on copies elsewhere.
pub(in crate::cli) fn plan(document: &ForgetDocument, form: &Form<'_>) -> String {
    let columns = form.columns;
    let mut lines = Vec::new();
    let covering = document.covering.as_ref();
    let covering = covering.map(|directory| form.path(&directory.exact, usize::MAX));
    if !document.sessions.is_empty() {
        if let Some(directory) = &covering {
            let heading = format!("Sessions that cover {directory}:");
            lines.push(style::paint(Role::Heading, &heading));
        }
        lines.push(sessions(document, form));
        lines.extend(form.more(document.sessions.len()));
        lines.push(String::new());
    }
    for (path, held) in by_path(document) {
        lines.push(format!("{}:", sanitize::path(path)));
        lines.push(snapshots(&held, form));
        lines.extend(form.more(held.len()));
        lines.push(String::new());
    }
    for (held, count) in &document.kept_sessions {
        let count = size::counted(*count, "session", "sessions");
        lines.push(format!("  {count}: {}", held_words(*held)));
    }
    if document.sessions.is_empty() && document.paths.is_empty() {
        let which = covering.map_or_else(String::new, |directory| format!(" that covers {directory}"));
        let text = match form.is_by_age {
            true => format!("No session{which} is old enough to forget."),
            false => "Nothing to forget: no snapshot has it.".to_owned(),
        };
        lines.extend(width::wrap(&text, columns));
        return lines.join("\n");
    }
    if let Some(text) = ends_undo(&document.ends_undo) {
        lines.extend(width::wrap(&style::paint(Role::Warning, &text), columns));
    }
    lines.extend(copies(document, form));
    lines.extend(in_git(document, form));
    lines.extend(width::wrap(&total(document), columns));
    lines.join("\n")
}

/// Says what is deleted in an object store.
pub(in crate::cli) fn in_replica(place: &str, columns: usize) -> String {
    let text = format!("Objects that this store no longer needs are deleted in {place}.");
    width::wrap(&text, columns).join("\n")
}

/// Names the earlier copies that still have it; `is_certain` is false for a plan.
pub(in crate::cli) fn in_earlier(document: &ForgetDocument, is_certain: bool) -> Vec<String> {
    let has = if is_certain {
        "still has it"
    } else {
        "may still have it"
    };
    let line = |copy: &EarlierReplicaDocument| {
        let place = sanitize::text(&copy.place);
        match &copy.failed {
            None => format!("the earlier copy in {place} {has}"),
            Some(why) => format!("the earlier copy in {place} {has}: {}", sanitize::text(why)),
        }
    };
    let keeps = |copy: &&EarlierReplicaDocument| copy.removed.is_none() || copy.failed.is_some();
    document.earlier_replicas.iter().filter(keeps).map(line).collect()
}

/// Returns what lies outside of the store and is not deleted.
pub(in crate::cli) fn elsewhere(document: &ForgetDocument) -> Vec<String> {
    let mut lines = Vec::new();
    for path in &document.on_disk {
        lines.push(format!(
            "{} still exists: snapshots of later sessions store it again, unless you delete \
             or exclude it",
            sanitize::path(&path.exact)
        ));
    }
    for copy in &document.outside {
        let what = match copy.kind {
            OutsideKind::Fork => "the fork",
            OutsideKind::Export => "the export",
            OutsideKind::Replica => {
                lines.push(format!(
                    "the session was imported from {}, which still has it; delete the objects there yourself",
                    sanitize::path(&copy.at.exact)
                ));
                continue;
            }
        };
        lines.push(format!(
            "{what} {} is a copy outside of the store; delete it yourself",
            sanitize::path(&copy.at.exact)
        ));
    }
    lines
}

/// Maximum number of sessions that a warning names.
const WARNED: usize = 3;

/// Returns the warning about last restores that can be undone no more.
fn ends_undo(sessions: &[String]) -> Option<String> {
    let named = sessions.get(..sessions.len().min(WARNED))?.join(", ");
    match sessions.len() {
        0 => None,
        1 => Some(format!(
            "The last restore of {named} cannot be undone after this."
        )),
        some if some > WARNED => Some(format!(
            "The last restores of {some} sessions cannot be undone after this, among them {named}."
        )),
        _ => Some(format!(
            "The last restores of {named} cannot be undone after this."
        )),
    }
}

/// Returns the table of the sessions. Their directory has a column unless all cover the one that the heading names.
fn sessions(document: &ForgetDocument, form: &Form<'_>) -> String {
    let mut columns = vec![
        Column::new("SESSION").fit(Fit::Keep),
        Column::new("ENDED"),
        Column::new("SNAPSHOTS"),
    ];
    let has_places = document.covering.is_none();
    columns.extend(has_places.then(|| Column::new("WHERE").fit(Fit::Wrap)));
    let mut table = Table::new(columns);
    for session in document.sessions.iter().take(form.named()) {
        let ended = session
            .ended_at
            .map_or_else(|| "-".to_owned(), |at| size::age(at, form.now));
        let mut cells = vec![
            session.instance.clone().into(),
            ended.into(),
            size::count(session.snapshots).into(),
        ];
        if has_places {
            let first = session.roots.first();
            let first = first.map_or_else(String::new, |root| form.path(root, form.columns / 2));
            let more = match session.roots.len() {
                0 | 1 => String::new(),
                some => format!(" and {} more", some - 1),
            };
            cells.push(format!("{first}{more}").into());
        }
        table.row(cells);
    }
    table.render(form.columns)
}

type Rows<'d> = Vec<&'d ForgottenPathDocument>;

fn by_path(document: &ForgetDocument) -> BTreeMap<&Path, Rows<'_>> {
    let mut all: BTreeMap<_, Rows<'_>> = BTreeMap::new();
    for held in &document.paths {
        all.entry(held.at.exact.as_path()).or_default().push(held);
    }
    all
}

fn snapshots(held: &Rows<'_>, form: &Form<'_>) -> String {
    let mut table = Table::new([
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("KIND AND NAME").fit(Fit::Cut),
        Column::new("TAKEN"),
        Column::new("VERSION"),
        Column::new("SIZE"),
        Column::new("SESSION").fit(Fit::Cut),
    ]);
    for one in held.iter().take(form.named()) {
        let mut called = one.kind.word().to_owned();
        if let Some(name) = &one.name {
            called.push_str(&format!(" {}", sanitize::name(name.as_bytes())));
        }
        table.row([
            one.snapshot.clone().into(),
            called.into(),
            size::age(one.taken_at, form.now).into(),
            size::count(one.version).into(),
            size::bytes(one.bytes).into(),
            one.instance.clone().into(),
        ]);
    }
    table.render(form.columns)
}

/// Names the paths that keep the same content.
fn copies(document: &ForgetDocument, form: &Form<'_>) -> Vec<String> {
    if document.copies.is_empty() {
        return Vec::new();
    }
    let text = match document.outcome {
        ForgetOutcome::Forgotten => {
            "The same content stays in the store for other paths (forget these by their names):"
        }
        _ => "The same content stays in the store for other paths (--content forgets these as well):",
    };
    listed(text, &document.copies, form)
}

/// Names the git directories that keep the same content.
fn in_git(document: &ForgetDocument, form: &Form<'_>) -> Vec<String> {
    let unknown = document.in_git_unknown;
    let mut lines = Vec::new();
    if unknown > 0 {
        let count = size::counted(unknown, "content was", "contents were");
        let text = format!("{count} not looked for in git's objects: too large, or unreadable.");
        lines.extend(width::wrap(&style::paint(Role::Warning, &text), form.columns));
    }
    if document.in_git.is_empty() {
        return lines;
    }
    let text = "Git has the same content in its history, which stays in the store (forget --path with the git directory deletes that, too):";
    lines.extend(listed(text, &document.in_git, form));
    lines
}

fn listed(text: &str, copies: &[KeptCopyDocument], form: &Form<'_>) -> Vec<String> {
    let mut lines = width::wrap(&style::paint(Role::Warning, text), form.columns);
    for copy in copies.iter().take(form.named()) {
        lines.push(format!(
            "  {} in {} of {}",
            sanitize::path(&copy.at.exact),
            size::counted(copy.snapshots, "snapshot", "snapshots"),
            copy.instance
        ));
    }
    lines.extend(form.more(copies.len()));
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
