//! Results of the tools as text. Names and contents come from the mounts, so they are sanitized as for a terminal.

use super::results::{Listed, Restored};
use crate::cli::view::{self, Reader};
use crate::model::SnapshotRecord;
use crate::report::{
    ChangeDocument, DiffDocument, ForkDocument, ForkOutcome, PatchOptions, ReasonDocument, Sources,
};
use crate::terminal::{filter, sanitize, size};

/// Characters of the longest text that is given to a model. A patch skips files, and says so; what else is longer is cut off.
const LONGEST: usize = 60_000;

/// So many paths stand in a text.
const MOST: usize = 100;

/// Columns of what is laid out.
const WIDTH: usize = 100;

/// No text is longer than a model can read: the end of a longer one is cut off.
pub(super) fn bounded(text: &str) -> String {
    let end = "\n… (cut off: it would be too long)";
    cut(filter::printable(text, false), LONGEST, end)
}

/// At most so many characters of it; a longer one gets this end.
pub(super) fn cut(text: String, longest: usize, end: &str) -> String {
    let at = text.char_indices().nth(longest).map(|(at, _)| at);
    match at.and_then(|at| text.get(..at)) {
        None => text,
        Some(start) => format!("{start}{end}"),
    }
}

pub(super) fn created(record: &SnapshotRecord) -> String {
    let entries = size::counted(record.entries(), "entry", "entries");
    let roots = record
        .mounts
        .iter()
        .map(|mount| view::changes::host(&mount.coverage));
    let roots = roots.collect::<Vec<_>>().join(", ");
    let name = record
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!(" {name}"));
    format!("snapshot{name} created: {} ({entries} in {roots})", record.id)
}

pub(super) fn listed(found: &Listed) -> String {
    if found.snapshots.is_empty() {
        return "no snapshots".to_owned();
    }
    let lines = found.snapshots.iter().map(|snapshot| {
        let name = snapshot.name.as_deref().unwrap_or("-");
        let changed = snapshot.changed.map(view::steps::step_words);
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
    let mut lines: Vec<String> = lines.collect();
    let more = found.total.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {} older ones", size::count(more)));
    }
    lines.join("\n")
}

/// The patch.
pub(super) fn differing(found: &DiffDocument<'_>, sources: &Sources<'_>) -> String {
    if !found.are_any() {
        return "no differences".to_owned();
    }
    let options = PatchOptions {
        context: 3,
        show_secrets: false,
        hides: false,
    };
    let (mut text, mut left_out) = (String::new(), 0);
    let mut add = |part: String| {
        if text.len() + part.len() > LONGEST - 1_000 {
            left_out += 1;
            return;
        }
        text.push_str(&part);
        text.push('\n');
    };
    for mount in found.mounts() {
        if !mount.settings.is_empty() {
            add(view::settings::settings(mount.settings, WIDTH, Reader::Model));
        }
        for change in mount.repositories {
            add(view::repository::change(change, WIDTH, Reader::Model));
        }
        if found.mounts().len() > 1 && !mount.changes.is_empty() {
            add(view::changes::host(mount.coverage));
        }
        for change in mount.exact {
            add(view::patch::patch_for_a_model(
                mount.coverage,
                change,
                sources,
                options,
            ));
        }
        for change in mount.withheld {
            add(view::changes::withheld(change));
        }
    }
    if left_out > 0 {
        let parts = size::counted(left_out, "path is", "paths are");
        text.push_str(&format!(
            "{parts} not shown: the answer would be too long; ask for some with `paths`\n"
        ));
    }
    text.trim_end().to_owned()
}

/// Describes a restore, path by path.
pub(super) fn restored(done: &Restored, name: &str, dry_run: bool) -> String {
    let (verb, changed) = match dry_run {
        true => ("would restore", "would change"),
        false => ("restored", "changed"),
    };
    let mut lines = vec![match done.files_changed {
        0 => format!("{verb} snapshot {name} (no files {changed})"),
        some => format!("{verb} snapshot {name} ({some} file(s) {changed}):"),
    }];
    lines.extend(paths(
        done.changes.iter().map(ChangeDocument::line),
        done.files_changed,
    ));
    lines.extend(stayed(done));
    lines.join("\n")
}

/// Lists the paths that differ from the snapshot after a restore.
pub(super) fn stayed(done: &Restored) -> Vec<String> {
    let mut lines = Vec::new();
    if done.conflicts_total > 0 {
        lines.push("not changed, because something else changed them:".to_owned());
        lines.extend(paths(
            done.conflicts.iter().map(ChangeDocument::line),
            done.conflicts_total,
        ));
    }
    if done.failed_total > 0 {
        lines.push("could not be changed:".to_owned());
        lines.extend(paths(
            done.failed.iter().map(ReasonDocument::line),
            done.failed_total,
        ));
    }
    lines
}

/// The first of them, and how many more there are.
fn paths(shown: impl Iterator<Item = String>, all: u64) -> Vec<String> {
    let mut lines: Vec<String> = shown.take(MOST).map(|line| sanitize::text(&line)).collect();
    let more = all.saturating_sub(lines.len() as u64);
    if more > 0 {
        lines.push(format!("and {} more", size::count(more)));
    }
    lines
}

pub(super) fn forked(made: &ForkDocument, name: &str) -> String {
    let written = size::counted(made.paths, "path", "paths");
    let mut lines = vec![
        format!(
            "forked snapshot {name} into {} ({written})",
            sanitize::text(&made.directory)
        ),
        format!("fork {}", made.reference.id),
    ];
    if made.outcome == ForkOutcome::Partial {
        lines.push("different from the snapshot:".to_owned());
        let failed = made.failed.iter().map(ReasonDocument::line);
        lines.extend(paths(failed, made.failed.len() as u64));
    }
    if !made.left_out.is_empty() {
        lines.push("not written:".to_owned());
        let encrypted = made.left_out.iter().map(ReasonDocument::line);
        lines.extend(paths(encrypted, made.left_out.len() as u64));
    }
    let outside = made
        .outside_git
        .iter()
        .map(|outside| format!("warning: {}", outside.line()));
    lines.extend(paths(outside, made.outside_git.len() as u64));
    lines.join("\n")
}
