//! Changed lines for people, cleaned for a terminal (`restore --dry-run --patch`, MCP), `diff --stat`.

use super::changes;
use crate::model::{Coverage, Entry, EntryKind, RelPath};
use crate::report::{Body, Change, Line, MountDiff, PatchOptions, ReasonDocument, Sources, made, masked};
use crate::terminal::{Role, sanitize, size, style, width};

/// Command that shows hidden content: `restore` has no flag for it.
const SHOWS_SECRETS: &str = " (diff --patch --show-secrets shows it)";

/// One change as a unified patch.
pub(in crate::cli) fn patch(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> String {
    patch_with(coverage, change, sources, options, SHOWS_SECRETS)
}

/// One change as a unified patch for a model, which no flag concerns.
pub(in crate::cli) fn patch_for_a_model(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> String {
    patch_with(coverage, change, sources, options, "")
}

fn patch_with(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
    hint: &str,
) -> String {
    let mut lines = vec![style::paint(Role::Heading, &changes::line(change))];
    match made(coverage, change, sources, options).body {
        Body::Nothing => {}
        Body::Lines(body) => {
            lines.extend(files(change).into_iter().flatten());
            lines.extend(body_lines(body));
        }
        Body::Binary(old, new) => {
            lines.push(format!("  binary: {} -> {}", size::bytes(old), size::bytes(new)));
        }
        Body::Large(old, new) => {
            lines.push(format!(
                "  too large to show: {} -> {}",
                size::bytes(old),
                size::bytes(new)
            ));
        }
        Body::Hidden => lines.push(format!("  content hidden: it may hold secrets{hint}")),
        Body::Unavailable(why) => lines.push(format!("  content not available: {}", sanitize::text(&why))),
    }
    lines.join("\n")
}

/// The lines of a hunk that was not masked yet.
pub(in crate::cli) fn body(lines: Vec<(Line, Vec<u8>)>) -> Vec<String> {
    body_lines(lines.into_iter().map(|(line, text)| (line, masked(&text))))
}

fn body_lines(body: impl IntoIterator<Item = (Line, Vec<u8>)>) -> Vec<String> {
    let line = |(line, text): (Line, Vec<u8>)| {
        let text = sanitize::line(&text);
        match line {
            Line::Context => format!(" {text}"),
            Line::Added => style::paint(Role::Added, &format!("+{text}")),
            Line::Removed => style::paint(Role::Removed, &format!("-{text}")),
            Line::Hunk => style::paint(Role::Dim, text.trim_end()),
            // The words of diff(1), for programs that read patches.
            Line::NoNewline => "\\ No newline at end of file".to_owned(),
        }
    };
    body.into_iter().map(line).collect()
}

/// The two lines that patch(1) finds a file by; it would make a file of a link, so a link has none.
fn files(change: &Change) -> Option<[String; 2]> {
    let sides = [&change.from, &change.to].into_iter().flatten();
    if sides
        .clone()
        .any(|entry| !matches!(entry.kind, EntryKind::File(_)))
    {
        return None;
    }
    let line = |sign: &str, side: &str, entry: Option<&Entry>, path: &RelPath| {
        let name = match entry {
            Some(_) => sanitize::name(&[side.as_bytes(), path.as_bytes()].concat()),
            None => "/dev/null".to_owned(),
        };
        style::paint(Role::Heading, &format!("{sign} {name}"))
    };
    let before = change.from_path.as_ref().unwrap_or(&change.path);
    Some([
        line("---", "a/", change.from.as_ref(), before),
        line("+++", "b/", change.to.as_ref(), &change.path),
    ])
}

/// All changes of a mount with how many lines each adds and removes.
pub(in crate::cli) fn stat(mount: &MountDiff<'_>, sources: &Sources<'_>, columns: usize) -> String {
    let options = PatchOptions {
        context: 0,
        show_secrets: true,
        hides: false,
    };
    let mut rows = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for change in mount.exact {
        let made = made(mount.coverage, change, sources, options);
        added += made.added;
        removed += made.removed;
        let what = match made.body {
            Body::Lines(_) => format!("+{} -{}", size::count(made.added), size::count(made.removed)),
            Body::Binary(old, new) => format!("binary {} -> {}", size::bytes(old), size::bytes(new)),
            Body::Large(old, new) => format!("{} -> {}", size::bytes(old), size::bytes(new)),
            Body::Nothing | Body::Hidden | Body::Unavailable(_) => String::new(),
        };
        rows.push((changes::line(change), what));
    }
    // One column for the numbers, as near as the paths allow. What stands behind a longer path is out of line.
    let room = columns.saturating_sub(rows.iter().map(|(_, what)| width::of(what)).max().unwrap_or(0) + 2);
    let fits = rows
        .iter()
        .map(|(line, _)| width::of(line))
        .filter(|wide| *wide <= room);
    let column = fits.max().unwrap_or(0);
    let mut lines: Vec<String> = rows
        .iter()
        .map(|(line, what)| match what.as_str() {
            "" => line.clone(),
            what => format!("{}  {what}", width::pad(line, column)),
        })
        .collect();
    let paths = size::counted(mount.changes.len() as u64, "path", "paths");
    lines.push(format!(
        "{paths}, {} added, {} removed",
        lines_of(added),
        lines_of(removed)
    ));
    lines.join("\n")
}

fn lines_of(number: u64) -> String {
    size::counted(number, "line", "lines")
}

/// Lists the paths that could not be compared.
pub(in crate::cli) fn not_covered(gaps: &[ReasonDocument]) -> String {
    const SHOWN: usize = 20;
    let mut lines = vec!["not covered:".to_owned()];
    for gap in gaps.iter().take(SHOWN) {
        lines.push(format!(
            "  {}: {}",
            changes::path(&gap.at.below, None),
            sanitize::text(&gap.reason)
        ));
    }
    if gaps.len() > SHOWN {
        lines.push(format!("  and {} more", size::count((gaps.len() - SHOWN) as u64)));
    }
    lines.join("\n")
}
