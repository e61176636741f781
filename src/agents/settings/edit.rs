//! Adds an element to a list or object of a text, and removes it again: one is the exact opposite of the other.
//!
//! The form of a container that holds only jackin's hooks tells who made it. In one that jackin made, the content begins on a
//! line of its own; in one that was empty before, it stands directly after the bracket. So no other record is needed.
//!
//! The editor of `jsonc-parser` does not do it: it changes blanks and commas beside an element, and removing does not undo that.

use std::ops::Range;

use super::json::{Node, Part, comment};

/// A value to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Json {
    /// `{…}`; at least one member.
    Object(Vec<(&'static str, Json)>),
    /// `[…]`; at least one element.
    Array(Vec<Json>),
    /// A string.
    Text(String),
    /// A number.
    Number(u32),
}

/// Style of a file: line ends and indentation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style<'a> {
    /// The end of a line.
    newline: &'static str,
    /// One step of indentation.
    unit: &'a str,
}

impl<'a> Style<'a> {
    /// Style of a file that jackin creates.
    pub(super) const OURS: Style<'static> = Style {
        newline: "\n",
        unit: "  ",
    };

    /// Returns the style of an existing file.
    pub(super) fn of(text: &'a str) -> Self {
        let newline = match text.split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut indents = text.lines().map(|line| {
            let bare = line.trim_start_matches([' ', '\t']);
            (line.get(..line.len() - bare.len()).unwrap_or_default(), bare)
        });
        // A line within a comment tells nothing.
        let first = indents.find(|(indent, bare)| !indent.is_empty() && bare.starts_with(['"', '{', '[']));
        let unit = first.map_or("  ", |(indent, _)| indent);
        // One step is no more than that, also when the first line that is indented is deeper.
        let unit = if unit.starts_with('\t') { "\t" } else { unit };
        let unit = if unit.len() > 8 { "  " } else { unit };
        Self { newline, unit }
    }
}

impl Json {
    /// Returns the value as text; `indent` is the indentation of the line in which it begins.
    pub(super) fn write(&self, style: Style<'_>, indent: &str) -> String {
        let inner = format!("{indent}{}", style.unit);
        let lines = |open: char, parts: Vec<String>, close: char| {
            let newline = style.newline;
            let parts = parts.join(&format!(",{newline}{inner}"));
            format!("{open}{newline}{inner}{parts}{newline}{indent}{close}")
        };
        match self {
            Self::Object(members) => {
                let member = |(key, value): &(&str, Self)| member(key, value, style, &inner);
                lines('{', members.iter().map(member).collect(), '}')
            }
            Self::Array(elements) => {
                let element = |element: &Self| element.write(style, &inner);
                lines('[', elements.iter().map(element).collect(), ']')
            }
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Returns a string as JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn member(key: &str, value: &Json, style: Style<'_>, indent: &str) -> String {
    format!("{}: {}", quoted(key), value.write(style, indent))
}

/// Range of the text, and its replacement.
pub(super) type Change = (Range<usize>, String);

/// Returns the text with all changes, which must not overlap.
pub(super) fn applied(text: &str, mut changes: Vec<Change>) -> String {
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let mut made = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for (range, new) in changes {
        made.push_str(text.get(at..range.start).unwrap_or_default());
        made.push_str(&new);
        at = range.end;
    }
    made.push_str(text.get(at..).unwrap_or_default());
    made
}

/// Appends `value` to `container`, as a member if it has a key.
pub(super) fn append(text: &str, container: &Node, key: Option<&'static str>, value: &Json) -> String {
    let style = Style::of(text);
    let outer = indent_at(text, container.span.start);
    let write = |indent: &str| match key {
        Some(key) => member(key, value, style, indent),
        None => value.write(style, indent),
    };
    let Some((first, last)) = container.parts().first().zip(container.parts().last()) else {
        let at = container.span.start + 1;
        let new = write(&format!("{outer}{}", style.unit));
        return applied(text, vec![(at..at, new)]);
    };
    let anchor = last.comma.map_or(last.span.end, |comma| comma + 1);
    let (at, must_break) = behind_comments(text, anchor);
    let has_break = |range: Range<usize>| text.get(range).is_some_and(|gap| gap.contains('\n'));
    let is_tall = has_break(container.span.start..first.span.start)
        || has_break(last.span.end..container.span.end)
        || must_break;
    let new = if is_tall {
        let before = line_before(text, last.span.start);
        let indent = match before.trim_matches([' ', '\t']).is_empty() {
            true => before.to_owned(),
            false => format!("{outer}{}", style.unit),
        };
        format!("{}{indent}{}", style.newline, write(&indent))
    } else {
        format!(" {}", write(outer))
    };
    let changes = match last.comma {
        Some(_) => vec![(at..at, format!("{new},"))],
        None if at == anchor => vec![(at..at, format!(",{new}"))],
        None => vec![(anchor..anchor, ",".to_owned()), (at..at, new)],
    };
    applied(text, changes)
}

/// Removes the part `index` from `container`.
pub(super) fn remove(text: &str, container: &Node, index: usize) -> String {
    let parts = container.parts();
    let Some(part) = parts.get(index) else {
        return text.to_owned();
    };
    let before: Option<&Part> = index.checked_sub(1).and_then(|before| parts.get(before));
    let from = before.map_or(container.span.start + 1, |before| {
        before.comma.map_or(before.span.end, |comma| comma + 1)
    });
    let gap = text.get(from..part.span.start).unwrap_or_default();
    let kept = gap.trim_end_matches([' ', '\t', '\r', '\n']);
    // An element added to an empty container has no blank before it to remove.
    let takes_blank = before.is_some() || part.comma.is_some();
    let end = part.span.end;
    let behind = match part.comma {
        Some(comma) if comma == end => end + 1,
        _ => end,
    };
    let breaks = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        let rest = rest.trim_start_matches([' ', '\t']);
        rest.starts_with('\n') || rest.starts_with("\r\n")
    };
    // What follows must not become a part of the comment before.
    let start = match takes_blank && (!ends_in_line_comment(kept) || breaks(behind)) {
        true => from + kept.len(),
        false => part.span.start,
    };
    let mut changes = vec![(start..end, String::new())];
    match (part.comma, before.and_then(|before| before.comma)) {
        (Some(comma), _) | (None, Some(comma)) => changes.push((comma..comma + 1, String::new())),
        (None, None) => {}
    }
    applied(text, changes)
}

/// Returns true if `container` holds a single part and has the form of one that jackin made.
pub(super) fn is_made_by_us(text: &str, container: &Node) -> bool {
    let [part] = container.parts() else {
        return false;
    };
    let before = text.get(container.span.start + 1..part.span.start);
    let behind = text.get(part.span.end..container.span.end - 1);
    let blank = |gap: Option<&str>| gap.is_some_and(|gap| gap.trim().is_empty());
    blank(before) && blank(behind) && before.is_some_and(|gap| gap.starts_with(['\n', '\r']))
}

/// Returns the position after the comments on the rest of the line, and whether the line must end there.
fn behind_comments(text: &str, anchor: usize) -> (usize, bool) {
    let mut end = anchor;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let bare = rest.trim_start_matches([' ', '\t']);
        let at = end + (rest.len() - bare.len());
        let Some(length) = comment(bare) else {
            return (end, false);
        };
        let said = bare.get(..length).unwrap_or_default();
        if said.starts_with("//") {
            return (at + length, true);
        }
        if said.contains('\n') {
            return (end, false);
        }
        end = at + length;
    }
}

/// Returns true if the last comment of a gap ends with its line. The gap holds only comments and blanks.
fn ends_in_line_comment(gap: &str) -> bool {
    let mut rest = gap.trim_start();
    let mut is_line = false;
    while let Some(length) = comment(rest) {
        is_line = rest.starts_with("//");
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    is_line
}

/// Returns the part of the line before the byte `at`.
fn line_before(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    before.rsplit('\n').next().unwrap_or_default()
}

/// Returns the indentation of the line in which a byte stands.
fn indent_at(text: &str, at: usize) -> &str {
    let before = line_before(text, at);
    let bare = before.trim_start_matches([' ', '\t']);
    before.get(..before.len() - bare.len()).unwrap_or_default()
}
