//! What the tools give, in words. Names and contents come from the mounts: they are cleaned as for a terminal.

use super::results::{Listed, Restored};
use crate::cli::commands::diff::Differences;
use crate::cli::document::{ChangeDocument, ForkDocument, ForkOutcome, RestoreOutcome};
use crate::cli::view;
use crate::diff::PatchOptions;
use crate::snapshot::SnapshotRecord;
use crate::terminal::{sanitize, size};

/// No longer text is given to a model; what is left out is named.
const LONGEST: usize = 60_000;

/// So many paths stand in a text.
const MOST: usize = 100;

/// Columns of what is laid out.
const WIDTH: usize = 100;

pub(super) fn created(record: &SnapshotRecord) -> String {
    let entries = size::counted(record.entries(), "entry", "entries");
    match &record.name {
        Some(name) => format!("snapshot {name} created: {} ({entries})", record.id),
        None => format!("snapshot created: {} ({entries})", record.id),
    }
}

pub(super) fn listed(found: &Listed) -> String {
    if found.snapshots.is_empty() {
        return "no snapshots".to_owned();
    }
    let lines = found.snapshots.iter().map(|snapshot| {
        let name = snapshot.name.as_deref().unwrap_or("-");
        let changed = snapshot.changed.map(view::instances::step_words);
        let changed = changed.map_or_else(String::new, |words| format!("\tchanged {words}"));
        let said = snapshot.description.as_deref().unwrap_or_default();
        let line = format!(
            "{name}\t{}\t{}{changed}\t{}",
            snapshot.id,
            size::moment(snapshot.created),
            sanitize::line(said.as_bytes())
        );
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The patch.
pub(super) fn differing(found: &Differences) -> String {
    if !found.are_any() {
        return "no differences".to_owned();
    }
    let options = PatchOptions {
        context: 3,
        show_secrets: false,
        hides: false,
    };
    let sources = found.sources(true);
    let (mut text, mut left_out) = (String::new(), 0);
    let mut add = |part: String| {
        if text.len() + part.len() > LONGEST {
            left_out += 1;
            return;
        }
        text.push_str(&part);
        text.push('\n');
    };
    for mount in &found.mounts {
        if !mount.settings.is_empty() {
            add(view::settings::settings(&mount.coverage, &mount.settings, WIDTH));
        }
        if found.mounts.len() > 1 && !mount.comparison.changes.is_empty() {
            add(view::changes::host(&mount.coverage));
        }
        for change in &mount.comparison.changes {
            add(view::patch::patch(&mount.coverage, change, &sources, options));
        }
        for change in &mount.withheld {
            let host = change.path.on_host(&mount.coverage.root.to_path());
            let (host, words) = (sanitize::path(&host), change.kind.words());
            add(format!("withheld: {host}: {words}"));
        }
    }
    if left_out > 0 {
        let parts = size::counted(left_out, "path is", "paths are");
        text.push_str(&format!(
            "{parts} left out, for this would be too long; ask for some with `paths`\n"
        ));
    }
    text.trim_end().to_owned()
}

/// How a restore went, path by path.
pub(super) fn restored(done: &Restored, name: &str) -> String {
    let (verb, changed) = match done.outcome {
        RestoreOutcome::Planned => ("would restore", "would change"),
        _ => ("restored", "changed"),
    };
    let mut lines = vec![match done.files_changed {
        0 => format!("{verb} snapshot {name} (no files {changed})"),
        some => format!("{verb} snapshot {name} ({some} file(s) {changed}):"),
    }];
    lines.extend(paths(&done.changes, done.files_changed));
    lines.extend(stayed(done));
    lines.join("\n")
}

/// What is not as the snapshot has it.
pub(super) fn stayed(done: &Restored) -> Vec<String> {
    let mut lines = Vec::new();
    if !done.conflicts.is_empty() {
        lines.push("left as they are, for somebody else changed them:".to_owned());
        lines.extend(paths(&done.conflicts, done.conflicts.len() as u64));
    }
    if !done.failed.is_empty() {
        lines.push("could not be changed:".to_owned());
        let all = done.failed.iter().take(MOST);
        lines.extend(all.map(|failed| sanitize::text(&failed.line())));
    }
    lines
}

fn paths(shown: &[ChangeDocument], all: u64) -> Vec<String> {
    let mut lines: Vec<String> = shown
        .iter()
        .take(MOST)
        .map(|change| sanitize::text(&change.line()))
        .collect();
    let more = all.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {} more", size::count(more)));
    }
    lines
}

pub(super) fn forked(made: &ForkDocument, name: &str) -> String {
    let paths = size::counted(made.paths, "path", "paths");
    let mut lines = vec![
        format!(
            "forked snapshot {name} into {} ({paths})",
            sanitize::text(&made.directory)
        ),
        format!("fork {}", made.reference.id),
    ];
    if made.outcome == ForkOutcome::Partial {
        lines.push("not as the snapshot has them:".to_owned());
        let all = made.failed.iter().take(MOST);
        lines.extend(all.map(|failed| sanitize::text(&failed.line())));
    }
    lines.join("\n")
}
