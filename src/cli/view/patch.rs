//! Changed lines for people, cleaned for a terminal (`restore --dry-run --patch`, MCP), `diff --stat`, and where contents come from.

use super::changes;
use crate::contract::PrivateFiles;
use crate::diff::{self, Body, Change, Content, Contents, Line, MAX_TEXT, NotCovered, Patch, PatchOptions};
use crate::model::{Coverage, Entry, EntryKind, RelPath};
use crate::recovery::{Compared, Differences};
use crate::store::Blobs;
use crate::store::archive::Piece;
use crate::terminal::{Role, sanitize, size, style, width};
use handle_fs::Root;

/// Sources of the contents on both sides.
pub(in crate::cli) struct Sources<'a> {
    /// Of the earlier snapshot.
    pub(in crate::cli) from: &'a Blobs,
    /// Of the later snapshot; `None`: the files as they are.
    pub(in crate::cli) to: Option<&'a Blobs>,
    /// Private files were opened, and are not to be shown.
    pub(in crate::cli) hides_private: bool,
}

impl<'a> Sources<'a> {
    /// Returns the contents of both sides of a comparison.
    pub(in crate::cli) fn of(found: &'a Differences, hides_private: bool) -> Self {
        Self {
            from: found.blobs(),
            to: found.later_blobs(),
            hides_private,
        }
    }
}

/// One change as a unified patch.
pub(in crate::cli) fn patch(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> String {
    let mut lines = vec![style::paint(Role::Heading, &changes::line(change))];
    match made(coverage, change, sources, options).body {
        Body::Nothing => {}
        Body::Lines(body) => {
            lines.extend(files(change).into_iter().flatten());
            for (line, text) in body {
                let text = sanitize::line(&text);
                lines.push(match line {
                    Line::Context => format!(" {text}"),
                    Line::Added => style::paint(Role::Added, &format!("+{text}")),
                    Line::Removed => style::paint(Role::Removed, &format!("-{text}")),
                    Line::Hunk => style::paint(Role::Dim, text.trim_end()),
                    // The words of diff(1), for programs that read patches.
                    Line::NoNewline => "\\ No newline at end of file".to_owned(),
                });
            }
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
        Body::Hidden => {
            lines.push("  content hidden: it may hold secrets (--show-secrets shows it)".to_owned())
        }
        Body::Unavailable(why) => lines.push(format!("  content not available: {}", sanitize::text(&why))),
    }
    lines.join("\n")
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
pub(in crate::cli) fn stat(mount: &Compared, sources: &Sources<'_>, columns: usize) -> String {
    let options = PatchOptions {
        context: 0,
        show_secrets: true,
        hides: false,
    };
    let mut rows = Vec::new();
    let (mut added, mut removed) = (0, 0);
    for change in &mount.comparison.changes {
        let made = made(&mount.coverage, change, sources, options);
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
    let paths = size::counted(mount.comparison.changes.len() as u64, "path", "paths");
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
pub(in crate::cli) fn not_covered(gaps: &[NotCovered]) -> String {
    const SHOWN: usize = 20;
    let mut lines = vec!["not covered:".to_owned()];
    for gap in gaps.iter().take(SHOWN) {
        lines.push(format!(
            "  {}: {}",
            changes::path(&gap.path, None),
            sanitize::text(&gap.reason)
        ));
    }
    if gaps.len() > SHOWN {
        lines.push(format!("  and {} more", size::count((gaps.len() - SHOWN) as u64)));
    }
    lines.join("\n")
}

/// Returns the patch of a change.
pub(in crate::cli) fn made(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> Patch {
    let options = hiding(coverage, change, sources, options);
    diff::patch(change, options, |later| {
        load(coverage, change, sources, later, MAX_TEXT)
    })
}

/// Both contents of a change, up to `most` bytes each.
pub(in crate::cli) fn contents(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
    most: u64,
) -> Contents {
    let options = hiding(coverage, change, sources, options);
    diff::contents(change, options, |later| {
        load(coverage, change, sources, later, most)
    })
}

fn hiding(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> PatchOptions {
    let is_private = PrivateFiles::of(coverage).holds(&change.path);
    PatchOptions {
        hides: options.hides || (sources.hides_private && is_private),
        ..options
    }
}

/// The content of one side.
fn load(coverage: &Coverage, change: &Change, sources: &Sources<'_>, later: bool, most: u64) -> Content {
    let lent = |entry: &Option<Entry>| {
        entry
            .as_ref()
            .and_then(|entry| sources.from.lent(entry.content()?))
    };
    match (later, sources.to) {
        (true, None) if lent(&change.to).is_some() => stored(sources.from, change.to.as_ref(), most),
        (false, _) => stored(sources.from, change.from.as_ref(), most),
        (true, Some(blobs)) => stored(blobs, change.to.as_ref(), most),
        (true, None) => live(coverage, &change.path, most),
    }
}

fn stored(blobs: &Blobs, entry: Option<&Entry>, most: u64) -> Content {
    let Some(content) = entry.and_then(Entry::content) else {
        return Content::Absent;
    };
    if content.size > most {
        return Content::Large(content.size);
    }
    if content.size == 0 {
        return Content::Bytes(Vec::new());
    }
    let mut bytes = Vec::new();
    let read = blobs.stream(&content.digest, &mut |piece| {
        match piece {
            Piece::Data(data) => bytes.extend_from_slice(data),
            Piece::Hole(count) => bytes.resize(bytes.len() + usize::try_from(count).unwrap_or(0), 0),
        }
        Ok(())
    });
    match read {
        Ok(()) => Content::Bytes(bytes),
        Err(error) => Content::Unavailable(error.to_string()),
    }
}

fn live(coverage: &Coverage, path: &RelPath, most: u64) -> Content {
    let read = || -> std::io::Result<Content> {
        let root = Root::open(&coverage.root.to_path()).map_err(std::io::Error::other)?;
        let Some((parent, name)) = path.split() else {
            return Ok(Content::Absent);
        };
        let (file, stat) = root.dir(&parent)?.file(name.as_os_str())?;
        if stat.size > most {
            return Ok(Content::Large(stat.size));
        }
        let mut bytes = vec![0; usize::try_from(stat.size).unwrap_or(0)];
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, at as u64)? {
                0 => break,
                count => at += count,
            }
        }
        bytes.truncate(at);
        Ok(Content::Bytes(bytes))
    };
    read().unwrap_or_else(|error| Content::Unavailable(error.to_string()))
}
