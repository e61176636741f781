//! JSON: `serde_json` validates it, and the scanner here finds the positions.

use std::ops::Range;

use super::tree::{Kind, Layout, MAX_DEPTH, MAX_NODES, Member, Node};

/// Returns the tree of a JSON text; the root must be an object or a list.
pub(super) fn read(text: &str) -> Option<Node> {
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let mut scan = Scan {
        text,
        at: 0,
        left: MAX_NODES,
    };
    scan.blank();
    let root = scan.value(0)?;
    scan.blank();
    (scan.at == text.len() && root.is_container()).then_some(root)
}

/// A scanner over valid JSON.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Number of values that may still be read.
    left: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        self.left = self.left.checked_sub(1)?;
        if depth > MAX_DEPTH {
            return None;
        }
        let start = self.at;
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => {
                let (span, text) = self.string()?;
                Some(Node::text(span, text))
            }
            _ => {
                while matches!(
                    self.peek(),
                    Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.')
                ) {
                    self.at += 1;
                }
                (self.at > start).then(|| Node::plain(start..self.at))
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Node> {
        let start = self.at;
        let mut members = Vec::new();
        let commas = self.all(b'}', |scan| {
            let (key, name) = scan.string()?;
            scan.blank();
            (scan.peek()? == b':').then_some(())?;
            scan.at += 1;
            scan.blank();
            let node = scan.value(depth + 1)?;
            members.push(Member { name, key, node });
            Some(())
        })?;
        Node::map(
            start..self.at,
            members,
            Layout::Commas {
                at: commas,
                trailing: false,
            },
        )
    }

    fn list(&mut self, depth: usize) -> Option<Node> {
        let start = self.at;
        let mut elements = Vec::new();
        let commas = self.all(b']', |scan| {
            elements.push(scan.value(depth + 1)?);
            Some(())
        })?;
        Some(Node::list(
            start..self.at,
            elements,
            Layout::Commas {
                at: commas,
                trailing: false,
            },
        ))
    }

    /// Reads everything up to the closing bracket and returns the positions of the commas.
    fn all(&mut self, close: u8, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<Vec<usize>> {
        let mut commas = Vec::new();
        self.at += 1;
        self.blank();
        if self.peek()? == close {
            self.at += 1;
            return Some(commas);
        }
        loop {
            one(self)?;
            self.blank();
            let next = self.peek()?;
            self.at += 1;
            if next == close {
                return Some(commas);
            }
            (next == b',').then_some(())?;
            commas.push(self.at - 1);
            self.blank();
        }
    }

    fn string(&mut self) -> Option<(Range<usize>, String)> {
        let start = self.at;
        (self.peek()? == b'"').then_some(())?;
        self.at += 1;
        let mut escaped = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let span = start..self.at;
        let text = if escaped {
            serde_json::from_str(self.text.get(span.clone())?).ok()?
        } else {
            self.text.get(start + 1..self.at - 1)?.to_owned()
        };
        Some((span, text))
    }
}

/// Returns the text between name and value of the object's last member; `: ` if it has none.
pub(super) fn separator<'a>(text: &'a str, object: &Node) -> &'a str {
    match &object.kind {
        Kind::Map(members, _) => members
            .last()
            .and_then(|last| text.get(last.key.end..last.node.span.start)),
        _ => None,
    }
    .unwrap_or(": ")
}
