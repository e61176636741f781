//! The change of a settings file, as the lines of a diff.

use std::collections::BTreeSet;

use crate::agents::settings::{After, Edit};
use crate::diff::{Body, Line, texts};
use crate::display::sanitize;

/// Returns the change as lines of a diff, with `None` for the names of the file. Neither the lines around it nor other values in the same lines are
/// shown: they may be secrets.
pub(super) fn lines(edit: &Edit) -> Vec<(Option<Line>, String)> {
    let path = sanitize::path(edit.file());
    let old = edit.before().unwrap_or_default();
    let new = match edit.after() {
        After::Text(text) => text.as_str(),
        After::Gone => "",
        After::Same => old,
    };
    // The shorter one has no hook of jackin.
    let kept = strings(if old.len() < new.len() { old } else { new });
    let named = |sign: &str, is_there| {
        let file = if is_there { path.as_str() } else { "/dev/null" };
        (None, format!("{sign} {file}"))
    };
    let mut lines = vec![
        named("---", edit.before().is_some()),
        named("+++", !matches!(edit.after(), After::Gone)),
    ];
    let Body::Lines(changed) = texts(old.as_bytes(), new.as_bytes(), 0).body else {
        return lines;
    };
    for (line, text) in changed {
        let text = String::from_utf8_lossy(&text);
        let shown = |sign| format!("{sign}{}", sanitize::line(hidden(&text, &kept).as_bytes()));
        let text = match line {
            Line::Context => shown(' '),
            Line::Added => shown('+'),
            Line::Removed => shown('-'),
            Line::Hunk => text.trim_end().to_owned(),
            Line::NoNewline => "\\ No newline at end of file".to_owned(),
        };
        lines.push((Some(line), text));
    }
    lines
}

/// A piece of a line: a string with its quotes, or what stands between two.
enum Piece<'a> {
    Plain(&'a str),
    Text(&'a str),
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(begin) = rest.find('"') {
        let (before, from) = rest.split_at(begin);
        let mut is_escaped = false;
        let end = from.bytes().enumerate().skip(1).find_map(|(at, byte)| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends.then_some(at + 1)
        });
        let (text, behind) = from.split_at(end.unwrap_or(from.len()));
        found.extend([Piece::Plain(before), Piece::Text(text)]);
        rest = behind;
    }
    found.push(Piece::Plain(rest));
    found
}

/// Every string of a text.
fn strings(text: &str) -> BTreeSet<&str> {
    let pieces = text.lines().flat_map(pieces);
    let text = |piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Plain(_) => None,
    };
    pieces.filter_map(text).collect()
}

/// The line without the values that stay in the file: those that are not jackin's.
fn hidden(line: &str, kept: &BTreeSet<&str>) -> String {
    let pieces = pieces(line);
    let is_key = |at: usize| matches!(pieces.get(at + 1), Some(Piece::Plain(behind)) if behind.trim_start().starts_with(':'));
    let shown = pieces.iter().enumerate().map(|(at, piece)| match piece {
        Piece::Text(text)
            if kept.contains(text)
                && !is_key(at)
                && *text != "\"command\""
                && !text.contains(" hook run ") =>
        {
            "\"…\""
        }
        Piece::Plain(text) | Piece::Text(text) => text,
    });
    shown.collect()
}
