//! YAML: only the plain block style that tools write by themselves, read line by line.

use std::ops::Range;

use super::judge;
use super::tree::{Layout, MAX_DEPTH, MAX_NODES, Member, Node};

/// Returns the tree of a YAML text.
pub(super) fn read(text: &str) -> Option<Node> {
    let foreign = |c: char| (c.is_control() && c != '\n') || "\u{2028}\u{2029}\u{feff}".contains(c);
    if text.contains(foreign) {
        return None;
    }
    let lines = lines(text)?;
    let mut reading = Reading {
        text,
        lines,
        at: 0,
        left: MAX_NODES,
    };
    let root = match reading.line() {
        Some(line) if line.indent == 0 => reading.block(0, 0)?,
        Some(_) => return None,
        None => Node::plain(0..text.len()),
    };
    reading.line().is_none().then_some(root)
}

/// A line with something on it.
#[derive(Clone, Copy)]
struct Line {
    indent: usize,
    /// Offset of the first character that is no space.
    start: usize,
    /// Offset of the line end.
    end: usize,
}

/// Returns all lines but blank ones and comments.
fn lines(text: &str) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (index, piece) in text.split('\n').enumerate() {
        let end = start + piece.len();
        let content = piece.trim_start_matches(' ');
        let indent = piece.len() - content.len();
        let is_mark = index == 0 && piece == "---";
        if content.starts_with('#') {
            // Comments are stored as they are.
            if judge::is_secret_comment(content) {
                return None;
            }
        } else if !content.is_empty() && !is_mark {
            lines.push(Line {
                indent,
                start: start + indent,
                end,
            });
        }
        start = end + 1;
    }
    (lines.len() <= MAX_NODES).then_some(lines)
}

struct Reading<'a> {
    text: &'a str,
    lines: Vec<Line>,
    at: usize,
    /// Number of values that may still be read.
    left: usize,
}

impl<'a> Reading<'a> {
    fn line(&self) -> Option<Line> {
        self.lines.get(self.at).copied()
    }

    fn content(&self, line: Line) -> Option<&'a str> {
        self.text.get(line.start..line.end)
    }

    /// Reads a mapping or a sequence; `from` is the start of its span.
    fn block(&mut self, from: usize, depth: usize) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let first = self.line()?;
        if self.content(first)?.starts_with("- ") {
            self.sequence(from, first.indent)
        } else {
            self.mapping(from, first.indent, depth)
        }
    }

    fn sequence(&mut self, from: usize, indent: usize) -> Option<Node> {
        let mut elements = Vec::new();
        let mut end = from;
        while let Some(line) = self.line()
            && line.indent >= indent
        {
            let rest = self.content(line)?.strip_prefix("- ")?;
            (line.indent == indent).then_some(())?;
            elements.push(self.scalar(line.start + 2, rest)?);
            end = line.end;
            self.at += 1;
        }
        Some(Node::list(from..end, elements, Layout::Lines { body: None }))
    }

    fn mapping(&mut self, from: usize, indent: usize, depth: usize) -> Option<Node> {
        let mut members = Vec::new();
        let mut end = from;
        while let Some(line) = self.line()
            && line.indent >= indent
        {
            (line.indent == indent).then_some(())?;
            let content = self.content(line)?;
            let colon = colon(content)?;
            let name = content.get(..colon).filter(|name| is_name(name))?.to_owned();
            let value = content.get(colon + 1..)?;
            let key = line.start..line.start + colon;
            self.at += 1;
            let below = self.line().filter(|next| next.indent > indent);
            let node = match (value.trim_matches(' ').is_empty(), below) {
                (true, Some(_)) => self.block(key.end + 1, depth + 1)?,
                (true, None) => Node::plain(key.end + 1..key.end + 1),
                (false, None) => self.scalar(key.end + 1, value)?,
                (false, Some(_)) => return None,
            };
            end = line.end.max(node.span.end);
            members.push(Member { name, key, node });
        }
        Node::map(from..end, members, Layout::Lines { body: None })
    }

    /// Reads the only value on the rest of a line.
    fn scalar(&mut self, start: usize, rest: &str) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        let written = rest.trim_matches(' ');
        let start = start + (rest.len() - rest.trim_start_matches(' ').len());
        let span = start..start + written.len();
        scalar(span, written)
    }
}

/// Returns the end of a name: the first colon before a space or the line end.
fn colon(content: &str) -> Option<usize> {
    content
        .find(": ")
        .or_else(|| content.len().checked_sub(1).filter(|_| content.ends_with(':')))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || "_./".contains(c))
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./@+-:".contains(&byte))
        && !name.starts_with("...")
}

fn scalar(span: Range<usize>, written: &str) -> Option<Node> {
    for quote in ['\'', '"'] {
        if let Some(rest) = written.strip_prefix(quote) {
            let inner = rest.strip_suffix(quote)?;
            let is_escaped = inner.contains(quote) || (quote == '"' && inner.contains('\\'));
            return (!is_escaped).then(|| Node::text(span, inner.to_owned()));
        }
    }
    let is_special = written.starts_with(|c: char| ",[]{}&*!|>%@`#".contains(c))
        || written.contains(" #")
        || written.contains(": ")
        || written.ends_with(':')
        || ["- ", "? ", ": ", "---", "..."]
            .iter()
            .any(|start| written.starts_with(start))
        || ["-", "?", ":", "=", ""].contains(&written);
    if is_special {
        return None;
    }
    Some(if is_plain(written) {
        Node::plain(span)
    } else {
        Node::text(span, written.to_owned())
    })
}

/// Returns true if an unquoted value is no string.
fn is_plain(written: &str) -> bool {
    let lower = written.to_ascii_lowercase();
    if ["null", "~", "true", "false", "yes", "no", "on", "off"].contains(&lower.as_str()) {
        return true;
    }
    // Words such as `infinity` are numbers to Rust only.
    written.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && lower.parse::<f64>().is_ok()
}

/// Returns true if a block would stay below a name with this indentation.
pub(super) fn fits(block: &str, indent: usize) -> bool {
    block.split('\n').skip(1).all(|line| {
        let content = line.trim_start_matches(' ');
        content.is_empty() || content.starts_with('#') || line.len() - content.len() > indent
    })
}
