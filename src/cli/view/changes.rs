//! Changes, one line each.

use crate::model::{Coverage, Entry, PathCounts, RelPath};
use crate::report::{Change, ChangeDocument, ChangeKind, ReasonDocument, count_changes};
use crate::terminal::{Role, sanitize, size, style};

/// Mark of a path that became again what the earlier snapshot has.
pub(super) const REVERTED: &str = "reverted since";

/// The host path of a mount root.
pub(in crate::cli) fn host(coverage: &Coverage) -> String {
    sanitize::name(&coverage.root.0)
}

/// A withheld path that is not as it was: nothing of its content is told.
pub(in crate::cli) fn withheld(change: &ReasonDocument) -> String {
    let host = sanitize::path(&change.at.on_host);
    format!("skipped: {host}: {}", change.reason)
}

/// A path as people read it: a directory ends in `/`, the root is `.`.
pub(in crate::cli) fn path(path: &RelPath, entry: Option<&Entry>) -> String {
    if path.is_root() {
        return "./".to_owned();
    }
    let mut bytes = path.as_bytes().to_vec();
    if entry.is_some_and(Entry::is_dir) {
        bytes.push(b'/');
    }
    sanitize::name(&bytes)
}

/// The letter of a change, as git's `--name-status` has it, and its color. `M` is content, `m` is mode or
/// metadata.
pub(in crate::cli) fn letter(kind: ChangeKind) -> (&'static str, Role) {
    match kind {
        ChangeKind::Added => ("A", Role::Added),
        ChangeKind::Modified => ("M", Role::Changed),
        ChangeKind::Deleted => ("D", Role::Removed),
        ChangeKind::Type => ("T", Role::Changed),
        ChangeKind::Mode | ChangeKind::Metadata => ("m", Role::Changed),
        ChangeKind::Renamed => ("R", Role::Changed),
    }
}

/// Describes the number of changes of each kind.
pub(in crate::cli) fn counts<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<String> {
    counted(count_changes(changes))
}

/// Returns the counts above zero in words.
pub(in crate::cli) fn counted(counts: PathCounts) -> Vec<String> {
    let parts = [
        ("added", counts.added),
        ("modified", counts.changed),
        ("deleted", counts.deleted),
        ("renamed", counts.renamed),
        ("unknown", counts.unknown),
    ];
    let told = parts.iter().filter(|(_, count)| *count > 0);
    told.map(|(word, count)| format!("{} {word}", size::count(*count)))
        .collect()
}

/// One line: letter, path, and what the letter does not tell. Long paths are not cut: they must be readable.
pub(in crate::cli) fn line(change: &Change) -> String {
    let (letter, role) = letter(change.kind);
    let entry = change.to.as_ref().or(change.from.as_ref());
    let mut text = format!("{} {}", style::paint(role, letter), path(&change.path, entry));
    if let Some(from) = &change.from_path {
        text = format!(
            "{} {} -> {}",
            style::paint(role, letter),
            path(from, change.from.as_ref()),
            path(&change.path, entry)
        );
    }
    let detail = detail(change);
    if !detail.is_empty() {
        text.push_str(&style::paint(Role::Dim, &format!("  ({detail})")));
    }
    text
}

/// [`line()`] with what became of the path after the later snapshot.
pub(in crate::cli) fn marked(change: &Change, told: &ChangeDocument) -> String {
    let text = line(change);
    let Some(word) = since(told) else {
        return text;
    };
    let word = style::paint(Role::Warning, word);
    if told.edited_since.is_none() {
        return format!("{text}  {word}");
    }
    // The letter stands first, in its color.
    let (letter, role) = letter(change.kind);
    let painted = style::paint(role, letter);
    let rest = text.strip_prefix(&painted).unwrap_or_default();
    format!("{}{rest}  {word}", style::paint(role, &format!("{letter}!")))
}

/// Describes the state of a path after the later snapshot.
pub(in crate::cli) fn since(told: &ChangeDocument) -> Option<&'static str> {
    let edited = told.edited_since.map(|_| "edited since");
    edited.or_else(|| told.reverted_since.map(|_| REVERTED))
}

/// Describes the differences other than the content.
pub(in crate::cli) fn detail(change: &Change) -> String {
    let (Some(from), Some(to)) = (&change.from, &change.to) else {
        return String::new();
    };
    let mut parts = Vec::new();
    if change.kind == ChangeKind::Type {
        parts.push(format!("{} -> {}", kind(from), kind(to)));
    }
    if from.mode != to.mode && !matches!(from.kind, crate::model::EntryKind::Symlink(_)) {
        parts.push(format!("mode {:04o} -> {:04o}", from.mode, to.mode));
    }
    if (from.uid, from.gid) != (to.uid, to.gid) {
        parts.push(format!(
            "owner {}:{} -> {}:{}",
            from.uid, from.gid, to.uid, to.gid
        ));
    }
    if from.xattrs != to.xattrs {
        parts.push("attributes".to_owned());
    }
    if from.flags != to.flags {
        // The letters of lsattr(1).
        parts.push(format!("flags {} -> {}", from.flags, to.flags));
    }
    // A path that is a name of another file now may be the first one of both.
    let are_links = from.link != to.link || parts.is_empty() && change.kind == ChangeKind::Metadata;
    if are_links && change.kind != ChangeKind::Renamed {
        parts.push("hard links".to_owned());
    }
    parts.join(", ")
}

/// A type in words.
pub(in crate::cli) fn kind(entry: &Entry) -> &'static str {
    entry.kind.words()
}
