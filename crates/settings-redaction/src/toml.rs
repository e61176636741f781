//! TOML: `toml_edit` validates it and finds the positions.

use std::ops::Range;

use toml_edit::{Array, Document, InlineTable, Item, Key, Table, Value};

use super::edit::line_end;
use super::judge;
use super::tree::{Layout, MAX_DEPTH, MAX_NODES, Member, Node};

/// Returns the tree of a TOML text.
pub(super) fn read(text: &str) -> Option<Node> {
    let document = Document::parse(text).ok()?;
    let mut reading = Reading {
        text,
        left: MAX_NODES,
        values: Vec::new(),
    };
    let root = reading.table(document.as_table(), Some(0), 0)?;
    reading.comments_are_harmless().then_some(root)
}

struct Reading<'a> {
    text: &'a str,
    /// Number of values that may still be read.
    left: usize,
    /// Ranges of the single values.
    values: Vec<Range<usize>>,
}

impl Reading<'_> {
    fn enter(&mut self, depth: usize) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        (depth <= MAX_DEPTH).then_some(())
    }

    fn table(&mut self, table: &Table, body: Option<usize>, depth: usize) -> Option<Node> {
        self.enter(depth)?;
        let mut members = Vec::new();
        for (name, item) in table.iter() {
            let key = table.key(name).and_then(Key::span)?;
            let node = self.item(item, depth + 1)?;
            members.push(Member {
                name: name.to_owned(),
                key,
                node,
            });
        }
        // Dotted keys may be mixed with others; the order is that of the values.
        let span = table.span().unwrap_or_default();
        Some(Node::map(span, members, Layout::Lines { body })?.spread())
    }

    fn item(&mut self, item: &Item, depth: usize) -> Option<Node> {
        match item {
            Item::None => None,
            Item::Value(value) => self.value(value, depth),
            Item::Table(table) => {
                let has_header = !table.is_implicit() && !table.is_dotted();
                let body = table
                    .span()
                    .filter(|_| has_header)
                    .map(|span| line_end(self.text, span.end));
                self.table(table, body, depth)
            }
            Item::ArrayOfTables(tables) => {
                self.enter(depth)?;
                let mut elements = Vec::new();
                for table in tables {
                    let body = table.span().map(|span| line_end(self.text, span.end));
                    elements.push(self.table(table, body, depth + 1)?);
                }
                let span = tables.span().unwrap_or_default();
                Some(Node::list(span, elements, Layout::Lines { body: None }).spread())
            }
        }
    }

    fn value(&mut self, value: &Value, depth: usize) -> Option<Node> {
        match value {
            Value::Array(array) => self.array(array, depth),
            Value::InlineTable(table) => self.inline(table, depth),
            Value::String(string) => {
                self.enter(depth)?;
                let span = string.span()?;
                self.values.push(span.clone());
                Some(Node::text(span, string.value().clone()))
            }
            _ => {
                self.enter(depth)?;
                let span = value.span()?;
                self.values.push(span.clone());
                Some(Node::plain(span))
            }
        }
    }

    fn array(&mut self, array: &Array, depth: usize) -> Option<Node> {
        self.enter(depth)?;
        let span = array.span()?;
        let mut elements = Vec::new();
        for value in array {
            elements.push(self.value(value, depth + 1)?);
        }
        let spans: Vec<_> = elements.iter().map(|element| element.span.clone()).collect();
        let layout = self.commas(&span, &spans)?;
        Some(Node::list(span, elements, layout))
    }

    fn inline(&mut self, table: &InlineTable, depth: usize) -> Option<Node> {
        self.enter(depth)?;
        let mut members = Vec::new();
        for (name, value) in table {
            let key = table.key(name).and_then(Key::span)?;
            let node = self.value(value, depth + 1)?;
            members.push(Member {
                name: name.to_owned(),
                key,
                node,
            });
        }
        if table.is_dotted() {
            // Its own span is that of a key, and its values may be apart.
            return Some(Node::map(0..0, members, Layout::Dotted)?.spread());
        }
        let span = table.span()?;
        let mut spans = Vec::new();
        for member in &members {
            written(&member.node, &mut spans);
        }
        spans.sort_by_key(|span| span.start);
        let layout = self.commas(&span, &spans)?;
        Node::map(span, members, layout)
    }

    /// Finds the commas between values that stand within brackets.
    fn commas(&self, span: &Range<usize>, values: &[Range<usize>]) -> Option<Layout> {
        let mut at = Vec::new();
        for pair in values.windows(2) {
            if let [left, right] = pair {
                at.push(self.comma(left.end, right.start)?);
            }
        }
        let last = values
            .last()
            .and_then(|last| self.comma(last.end, span.end.checked_sub(1)?));
        let trailing = last.is_some();
        at.extend(last);
        Some(Layout::Commas { at, trailing })
    }

    /// Returns the first comma from a place on that is not in a comment.
    fn comma(&self, start: usize, end: usize) -> Option<usize> {
        let mut in_comment = false;
        for (at, byte) in self.text.as_bytes().get(start..end)?.iter().enumerate() {
            match byte {
                b'#' => in_comment = true,
                b'\n' => in_comment = false,
                b',' if !in_comment => return Some(start + at),
                _ => {}
            }
        }
        None
    }

    /// Returns true if no comment looks like it holds a secret: comments are stored as they are.
    fn comments_are_harmless(&mut self) -> bool {
        self.values.sort_by_key(|span| span.start);
        let mut at = 0;
        for span in &self.values {
            if !gap_is_harmless(self.text.get(at..span.start).unwrap_or_default()) {
                return false;
            }
            at = span.end;
        }
        gap_is_harmless(self.text.get(at..).unwrap_or_default())
    }
}

/// Collects the ranges of the values of an inline table, including those under dotted keys.
fn written(node: &Node, spans: &mut Vec<Range<usize>>) {
    if let super::tree::Kind::Map(members, Layout::Dotted) = &node.kind {
        for member in members {
            written(&member.node, spans);
        }
    } else {
        spans.push(node.span.clone());
    }
}

/// Returns true if no comment in a text without values looks like it holds a secret.
fn gap_is_harmless(gap: &str) -> bool {
    gap.split('\n')
        .all(|line| comment(line).is_none_or(|comment| !judge::is_secret_comment(comment)))
}

/// Returns the comment of a line of names and brackets.
fn comment(line: &str) -> Option<&str> {
    let mut quote = None;
    let mut escaped = false;
    for (at, byte) in line.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(b'"'), b'\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'#') => return line.get(at..),
            _ => {}
        }
    }
    None
}
