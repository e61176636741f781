//! `list` and `show`: instances and their snapshots.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use super::host_path::below_home;
use super::receipt::prompt_words;
use super::steps::step_words;
use super::{aside, changes, forks, repository, steps, turns};
use crate::model::{
    AgentRef, Coverage, Ending, RestoreKind, SnapshotKind, Time, WithheldPath, WithheldReason,
};
use crate::report::{
    ChangedMeanwhileDocument, ConversationDocument, ImportedDocument, InstanceDocument, JackinDocument,
    RestoredDocument, SessionReport, SnapshotDocument, Status,
};
use crate::terminal::table::{Cell, Column, Fit, Table};
use crate::terminal::{Role, sanitize, shell, size, style, width};

/// One line an instance, newest first.
///
/// `home` is the reader's home on a terminal: paths in it begin with `~`, and what is too long loses whole directories at its left.
/// Without it, for a program, every path is written in full.
pub(in crate::cli) fn list(
    sessions: &[&InstanceDocument],
    now: Time,
    columns: usize,
    home: Option<&Path>,
) -> String {
    let mut table = Table::new([
        Column::new("SESSION").fit(Fit::Keep),
        Column::new("WHEN"),
        Column::new("LASTED"),
        Column::new("COMMAND"),
        Column::new("CHANGED"),
        Column::new("WHERE"),
    ]);
    let mut others = Vec::new();
    let mut names = HashSet::new();
    for session in sessions {
        // A name is that of the newest session which has it.
        let is_own = session.name_taken_by.is_none();
        let name = session
            .name
            .as_deref()
            .filter(|name| names.insert(*name) && is_own);
        let more = match session.roots.len() {
            0 | 1 => String::new(),
            some => format!(" and {} more", some - 1),
        };
        let cells = [
            name.map_or_else(|| session.id.clone(), |name| sanitize::name(name.as_bytes()))
                .into(),
            size::age(session.started_at, now).into(),
            Cell::new(role(session.status), lasted(session)),
            command(session, true).unwrap_or_else(|| "-".to_owned()).into(),
            changed(session).into(),
        ];
        table.row(cells.clone());
        others.push((cells, session.roots.first(), more));
    }
    // What the other columns leave; a path stands in the last one.
    let taken = table.render(usize::MAX);
    let taken = taken.lines().map(width::of).max().unwrap_or(0);
    let room = columns.saturating_sub(taken + 2);
    let mut table = table.emptied();
    for (cells, first, more) in others {
        let first = first.map(|mount| match home {
            Some(home) => place(mount, home, room.saturating_sub(width::of(&more))),
            None => sanitize::path(mount),
        });
        let first = first.unwrap_or_default();
        table.row(cells.into_iter().chain([format!("{first}{more}").into()]));
    }
    table.render(usize::MAX)
}

/// Returns the sessions in a short table: name or id, age and place. Paths in `home` begin with `~`.
pub(in crate::cli) fn brief(sessions: &[&InstanceDocument], now: Time, home: Option<&Path>) -> String {
    let mut table = Table::new([
        Column::new("SESSION").fit(Fit::Keep),
        Column::new("WHEN"),
        Column::new("WHERE").fit(Fit::Keep),
    ]);
    let mut names = HashSet::new();
    for session in sessions {
        let name = session.name.as_deref().filter(|name| names.insert(*name));
        let root = session.roots.first();
        let root = root.map(|root| below_home(root, home)).unwrap_or_default();
        let mark = if session.is_imported() { " (imported)" } else { "" };
        table.row([
            sanitize::name(name.unwrap_or(&session.id).as_bytes()).into(),
            size::age(session.started_at, now).into(),
            format!("{root}{mark}").into(),
        ]);
    }
    let table = table.render(usize::MAX);
    // A hint shows color codes as text.
    let plain = |line: &str| -> String { style::parts(line).into_iter().map(|(_, text)| text).collect() };
    table.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Maximum width of a command in a list, in columns.
const COMMAND: usize = 24;
/// Mark of arguments that were not recorded.
const UNRECORDED: &str = "…";

/// Returns the time that a session took, or the word for one that has not ended properly or was imported.
fn lasted(session: &InstanceDocument) -> String {
    if session.is_interrupted_import() {
        return "import interrupted".to_owned();
    }
    if session.is_imported() && session.status != Status::Failed {
        return "imported".to_owned();
    }
    match (session.status, session.ended_at) {
        (Status::Ended, Some(ended)) => {
            let nanos = ended.nanos().saturating_sub(session.started_at.nanos());
            size::duration(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)))
        }
        (status, _) => status.word().to_owned(),
    }
}

/// Returns the command of a session, with its arguments where they are recorded, or what the operator asked the agent last; `None` if
/// neither is known. `marks` arguments that were not recorded.
fn command(session: &InstanceDocument, marks: bool) -> Option<String> {
    let asked = session.prompt.as_deref().map(prompt_words);
    let Some(program) = session.program.as_ref() else {
        return asked.map(|asked| width::cut(&asked, COMMAND));
    };
    let words = std::iter::once(program).chain(&session.arguments);
    let mut words: Vec<String> = words.map(|word| sanitize::name(word.as_bytes())).collect();
    if marks && session.unrecorded > 0 {
        words.push(UNRECORDED.to_owned());
    }
    Some(width::cut(&words.join(" "), COMMAND))
}

/// Returns the number of paths that a session changed in words; `-` if it is unknown.
fn changed(session: &InstanceDocument) -> String {
    session.changed.map_or_else(|| "-".to_owned(), step_words)
}

/// Returns the sessions as lines to choose from: name or id, age, command, changes and place.
pub(in crate::cli) fn choices(
    sessions: &[&InstanceDocument],
    now: Time,
    columns: usize,
    home: Option<&Path>,
) -> Vec<String> {
    let table = list(sessions, now, columns, home);
    // A list of choices shows color codes as text.
    let plain = |line: &str| style::parts(line).into_iter().map(|(_, text)| text).collect();
    table.lines().skip(1).map(plain).collect()
}

/// Returns the line that tells which session was chosen.
pub(in crate::cli) fn chosen(session: &InstanceDocument, now: Time, home: Option<&Path>) -> String {
    let mut facts: Vec<String> = [&session.name, &session.message]
        .into_iter()
        .flatten()
        .map(|text| sanitize::name(text.as_bytes()))
        .collect();
    facts.extend(command(session, false));
    facts.extend(session.is_imported().then(|| "imported".to_owned()));
    facts.push(size::age(session.started_at, now));
    let root = session.roots.first().map(|root| match home {
        Some(home) => place(root, home, usize::MAX),
        None => sanitize::path(root),
    });
    let root = root.map_or_else(String::new, |root| format!(" in {root}"));
    format!("session {} ({}){root}", session.id, facts.join(", "))
}

/// A path for a terminal: below the home as `~/…`, and without as many directories at its left as do not fit.
pub(super) fn place(path: &Path, home: &Path, room: usize) -> String {
    let (mut shown, parts) = match path.strip_prefix(home) {
        Ok(rest) if home.parent().is_some() => (Path::new("~").join(rest), rest),
        _ => (path.to_path_buf(), path),
    };
    let mut parts = parts.components();
    while width::of(&sanitize::path(&shown)) > room && parts.clone().count() > 1 {
        parts.next();
        shown = Path::new("…").join(parts.as_path());
    }
    sanitize::path(&shown)
}

/// jackin's own instances, one line each.
pub(in crate::cli) fn jackin(all: &[JackinDocument], columns: usize) -> String {
    let mut table = Table::new([
        Column::new("CONTAINER").fit(Fit::Keep),
        Column::new("STATUS"),
        Column::new("WORKSPACE"),
        Column::new("AGENT"),
        Column::new("SESSION").fit(Fit::Cut),
    ]);
    let word = |word: &Option<String>| match word {
        Some(word) => sanitize::name(word.as_bytes()),
        None => "-".to_owned(),
    };
    for instance in all {
        let role = if instance.active { Role::Added } else { Role::Dim };
        table.row([
            sanitize::name(instance.container.as_bytes()).into(),
            Cell::new(role, word(&instance.status)),
            word(&instance.workspace).into(),
            word(&instance.agent).into(),
            word(&instance.session).into(),
        ]);
    }
    table.render(columns)
}

/// Returns the role that a status is painted with.
pub(in crate::cli) fn role(status: Status) -> Role {
    match status {
        Status::Active => Role::Added,
        Status::Ended => Role::Dim,
        Status::Lost | Status::Failed => Role::Warning,
    }
}

/// One instance in full.
pub(in crate::cli) fn show(known: &SessionReport, now: Time, columns: usize) -> String {
    let mut lines = facts(known, now, columns);
    if !known.turns.is_empty() {
        lines.push(String::new());
        lines.push(turns::table(&known.turns, now, columns));
    }
    if !known.instance.snapshots.is_empty() {
        lines.push(String::new());
        lines.push(snapshots(known, now, columns));
    }
    lines.extend(lost(known));
    lacking(known, &mut lines);
    if !known.changed_meanwhile.is_empty() {
        lines.push(String::new());
        lines.extend(known.changed_meanwhile.iter().map(ChangedMeanwhileDocument::line));
    }
    if !known.restores.is_empty() {
        lines.push(String::new());
        lines.push(restores(&known.restores, now, columns));
        for row in known.restores.iter().filter(|row| !row.aside.is_empty()) {
            let told = row.aside.iter().map(aside::receipt);
            lines.extend(told.map(|told| format!("{:7} {told}", row.receipt)));
        }
    }
    if !known.forks.is_empty() {
        lines.push(String::new());
        lines.push(forks::of_instance(&known.forks, known.named_fork(), now, columns));
    }
    lines.join("\n")
}

/// Returns the facts about a session, apart from its history.
pub(in crate::cli) fn facts(known: &SessionReport, now: Time, columns: usize) -> Vec<String> {
    let row = &known.instance;
    let mut lines = vec![style::paint(Role::Heading, &row.id)];
    let mut fact = |name: &str, value: String| lines.push(format!("{name:10} {value}"));
    if let Some(name) = &row.name {
        let name = sanitize::name(name.as_bytes());
        fact(
            "name",
            match &row.name_taken_by {
                Some(newer) => format!("{name} (now the name of {newer}; use the id for this session)"),
                None => name,
            },
        );
    }
    if let Some(message) = &row.message {
        fact("message", sanitize::name(message.as_bytes()));
    }
    fact("status", style::paint(role(row.status), &status(row)));
    if let Some(workspace) = &row.workspace {
        fact("workspace", sanitize::name(workspace.as_bytes()));
    }
    fact("mode", row.mode.clone());
    fact(
        "began",
        format!(
            "{} ({})",
            size::moment(row.started_at),
            size::age(row.started_at, now)
        ),
    );
    if let Some(at) = row.ended_at {
        fact("ended", format!("{} ({})", size::moment(at), ending(row)));
    }
    if let Some(reason) = &row.closing_error {
        fact("closing", style::paint(Role::Warning, &no_closing(reason)));
    }
    if !row.arguments.is_empty() {
        let words = row.program.iter().chain(&row.arguments);
        let words: Vec<String> = words.map(|word| shell::word(OsStr::new(word))).collect();
        fact("command", sanitize::text(&words.join(" ")));
    } else if let Some((program, arguments)) = &known.command {
        let with = size::counted(u64::from(*arguments), "argument", "arguments");
        fact(
            "command",
            format!("{} with {with}", sanitize::name(program.as_bytes())),
        );
    }
    if let Some(agent) = &known.agent {
        fact("agent", agent_words(agent));
    }
    if let Some(conversation) = &row.conversation {
        if known.agent.is_none() {
            let ConversationDocument { agent, id, .. } = conversation;
            fact(
                "agent",
                agent_words(&AgentRef {
                    name: agent.clone(),
                    session: id.clone(),
                }),
            );
        }
        if let Some(command) = &conversation.command {
            fact("continue", command.clone());
        }
    }
    if !known.conversation_sessions.is_empty() {
        let others = known.conversation_sessions.join(", ");
        fact("also in", format!("{others} (the same conversation)"));
    }
    for coverage in &known.coverage {
        fact("mount", changes::host(coverage));
        for rule in coverage.excludes.iter().filter(|rule| rule.leaves_out()) {
            fact("", format!("exclude {}", sanitize::name(rule.pattern.as_bytes())));
        }
        if let Some(skipped) = skipped(coverage) {
            fact("", skipped);
        }
    }
    if let Some(fork) = &row.origin {
        fact("forked from", forks::origin(fork));
    }
    if let Some(ImportedDocument {
        file,
        snapshot,
        instance,
        ..
    }) = &known.imported
    {
        let file = sanitize::path(&file.exact);
        fact("imported", format!("from {file}: {snapshot} of {instance}"));
    }
    if let Some(fork) = known.named_fork() {
        fact("named by", forks::named(fork));
    }
    if let Some(container) = &known.container {
        fact("container", sanitize::name(container.name.as_bytes()));
    }
    if let Some(policy) = &known.cleanup_policy {
        fact(
            "cleanup",
            format!("{} (of a dirty work tree, by jackin)", sanitize::text(policy)),
        );
    }
    for mount in &known.watched {
        fact("watched", changes::host(&mount.coverage));
        if mount.more > 0 {
            let more = size::counted(mount.more, "more repository", "more repositories");
            fact("", format!("{more} were not recorded"));
        }
        if let Some(error) = &mount.error {
            fact(
                "",
                format!("its git repositories are unknown: {}", sanitize::text(error)),
            );
        }
    }
    for found in &known.git {
        lines.extend(repository::facts(found, known.has_baseline, columns));
    }
    lines
}

/// In words.
pub(in crate::cli) fn status(session: &InstanceDocument) -> String {
    if session.status != Status::Active {
        return session.status.word().to_owned();
    }
    let shown: Vec<&str> = session.reasons.iter().take(4).map(String::as_str).collect();
    format!("active ({})", shown.join(", "))
}

/// In words.
pub(in crate::cli) fn ending(row: &InstanceDocument) -> String {
    match &row.ending {
        Some(Ending::Status(status)) => format!("status {status}"),
        Some(Ending::Signal(signal)) => format!("by signal {signal}"),
        Some(Ending::Ended) | None => "ended".to_owned(),
        Some(Ending::Unseen) => "no closing snapshot".to_owned(),
        Some(Ending::Failed(why)) => format!("failed to start: {}", sanitize::text(why)),
    }
}

/// Describes the missing closing snapshot, with the reason.
pub(in crate::cli) fn no_closing(reason: &str) -> String {
    format!("no closing snapshot ({})", sanitize::text(reason))
}

/// The agent of a session.
pub(in crate::cli) fn agent_words(agent: &AgentRef) -> String {
    let [name, session] = [&agent.name, &agent.session].map(|text| sanitize::name(text.as_bytes()));
    match session.is_empty() {
        true => name,
        false => format!("{name}, its session {session}"),
    }
}

/// Returns the kind of a snapshot in words.
pub(in crate::cli) fn kind_words(row: &SnapshotDocument) -> String {
    let late = row.late && row.kind == SnapshotKind::Closing;
    format!("{}{}", if late { "late " } else { "" }, row.kind.word())
}

/// Returns the notes on a snapshot: its name, its purpose, whether it is complete or pinned.
pub(in crate::cli) fn notes(known: &SessionReport, row: &SnapshotDocument) -> Vec<String> {
    let own = [&row.name, &row.message].into_iter().flatten();
    let mut notes: Vec<String> = own.map(|text| sanitize::name(text.as_bytes())).collect();
    if !row.complete {
        notes.push("not complete".to_owned());
    }
    if known.is_pinned(row) {
        notes.push("pinned".to_owned());
    }
    notes
}

fn snapshots(known: &SessionReport, now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("SNAPSHOT").fit(Fit::Keep),
        Column::new("KIND"),
        Column::new("TAKEN"),
        Column::new("ENTRIES").right(),
        Column::new("SIZE").right(),
        Column::new("CHANGED"),
        Column::new("").fit(Fit::Wrap),
    ]);
    for row in &known.instance.snapshots {
        table.row([
            row.id.clone().into(),
            kind_words(row).into(),
            size::age(row.taken_at, now).into(),
            size::count(row.entries).into(),
            size::bytes(row.bytes).into(),
            known
                .steps
                .get(&row.id)
                .map(|step| step_words(*step))
                .unwrap_or_default()
                .into(),
            Cell::new(
                if row.complete { Role::Dim } else { Role::Warning },
                notes(known, row).join(", "),
            ),
        ]);
    }
    table.render(columns)
}

/// Returns the line about snapshots that were deleted.
pub(in crate::cli) fn lost(known: &SessionReport) -> Option<String> {
    if let Some(forgotten) = known.instance.forgotten {
        return Some(format!(
            "forgotten on {} (receipt {}): nothing of it is left",
            size::moment(forgotten.at),
            forgotten.receipt
        ));
    }
    let pruned = size::counted(known.pruned, "snapshot was", "snapshots were");
    let id = &known.instance.id;
    (known.pruned > 0).then(|| format!("{pruned} pruned by the retention policy (see `log {id}`)"))
}

fn lacking(known: &SessionReport, lines: &mut Vec<String>) {
    let mut lacking = known.lacking().peekable();
    if lacking.peek().is_none() {
        return;
    }
    lines.push(String::new());
    lines.push(style::paint(
        Role::Warning,
        "The baseline is incomplete. It is missing:",
    ));
    for (gaps, more) in lacking {
        for gap in gaps {
            let host = sanitize::path(&gap.at.on_host);
            lines.push(format!("  {host}: {}", sanitize::text(&gap.reason)));
        }
        if more > 0 {
            lines.push(format!("  and {} more", size::count(more)));
        }
    }
}

/// Names the first paths of a mount that no snapshot holds because of what they are: secrets, credentials and the store.
fn skipped(coverage: &Coverage) -> Option<String> {
    /// Maximum number of paths that are named.
    const NAMED: usize = 5;
    let places = coverage.withheld.iter().filter(|place| match place.reason {
        WithheldReason::Sensitive | WithheldReason::Credential | WithheldReason::Store => true,
        // Stored without what is secret in them, none of the mount's own paths, or named among what the baseline is missing.
        WithheldReason::Settings
        | WithheldReason::Account
        | WithheldReason::Staging
        | WithheldReason::Readonly
        | WithheldReason::Forgotten => false,
    });
    let mut places: Vec<&WithheldPath> = places.collect();
    // Those that were there when the session began come first.
    let root = coverage.root.to_path();
    let is_there = |place: &WithheldPath| {
        let host = place.path.on_host(&root);
        coverage.guarded.iter().any(|guarded| guarded.to_path() == host)
    };
    places.sort_by_key(|place| !is_there(place));
    let names: Vec<String> = places
        .iter()
        .map(|place| sanitize::name(place.path.as_bytes()))
        .collect();
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        _ if names.is_empty() => None,
        None | Some(0) => Some(format!("skipped {shown}")),
        Some(more) => Some(format!(
            "skipped {shown} and {} more (see --contract)",
            size::count(more as u64)
        )),
    }
}

/// Describes a restore of a session.
pub(in crate::cli) fn act_words(row: &RestoredDocument) -> String {
    let mut words = match (row.act, row.undoes, &row.only_changes_of) {
        (RestoreKind::Restore, _, Some(step)) => format!("restore, only the step {}", steps::step(step)),
        (RestoreKind::Restore, ..) => "restore".to_owned(),
        (RestoreKind::Undo, Some(undone), _) => format!("undo of {undone}"),
        (RestoreKind::Undo, None, _) => "undo".to_owned(),
    };
    if row.inside {
        words.push_str(", by the session itself");
    }
    if let Some(by) = row.taken_back_by {
        words.push_str(&format!(" (undone by {by})"));
    }
    words
}

fn restores(rows: &[RestoredDocument], now: Time, columns: usize) -> String {
    let mut table = Table::new([
        Column::new("RECEIPT").right(),
        Column::new("OPERATION").fit(Fit::Wrap),
        Column::new("WHEN"),
        Column::new("CHANGED").right(),
        Column::new("CONFLICTS").right(),
        Column::new("EMERGENCY").fit(Fit::Cut),
    ]);
    for row in rows {
        table.row([
            row.receipt.to_string().into(),
            act_words(row).into(),
            size::age(row.at, now).into(),
            size::count(row.changed).into(),
            size::count(row.conflicts).into(),
            row.emergency.clone().into(),
        ]);
    }
    table.render(columns)
}
