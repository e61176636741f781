//! Reads the JSON of agents' settings (with comments and trailing commas) and keeps the position of every part, so that a change
//! touches nothing else.
//!
//! `jsonc-parser` does not do it: it accepts control characters in strings and blanks that are none in JSON, and it does not say
//! in which place of an object or a list a text is wrong.

use std::ops::Range;

use super::Fault;

/// Maximum nesting depth, which bounds the recursion of the reader.
const DEEPEST: usize = 128;

/// A value and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Byte range of the value.
    pub(super) span: Range<usize>,
    /// Kind and content of the value.
    pub(super) kind: Kind,
}

/// Kind and content of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{…}`.
    Object(Vec<Part>),
    /// `[…]`.
    Array(Vec<Part>),
    /// A string, read.
    Text(String),
    /// A number, a truth value, or null.
    Other,
}

/// A member of an object, or an element of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Byte range with the key, without the comma.
    pub(super) span: Range<usize>,
    /// Key of a member; `None` for an element.
    pub(super) key: Option<String>,
    /// Its value.
    pub(super) value: Node,
    /// Position of the comma after it; `None` if there is no comma.
    pub(super) comma: Option<usize>,
}

impl Node {
    /// Returns the parts of a container; empty for any other value.
    pub(super) fn parts(&self) -> &[Part] {
        match &self.kind {
            Kind::Object(parts) | Kind::Array(parts) => parts,
            Kind::Text(_) | Kind::Other => &[],
        }
    }

    /// Returns the value of the first member with this key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let of_key = |part: &&Part| part.key.as_deref() == Some(key);
        self.parts().iter().find(of_key).map(|part| &part.value)
    }

    /// Returns the text of a string; `None` for any other value.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the name of the kind, with its article.
    pub(super) fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Object(_) => "an object",
            Kind::Array(_) => "a list",
            Kind::Text(_) => "a string",
            Kind::Other => "a number, true, false or null",
        }
    }
}

/// Parses the one value that `text` holds.
pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.skip()?;
    if reader.peek().is_none() {
        return Err(reader.fault("it is empty; remove the file, or put {} into it"));
    }
    let node = reader.value(0)?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.fault("unexpected text after the end of the JSON")),
    }
}

/// Returns the line, from 1, in which a byte stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.bytes().filter(|byte| *byte == b'\n').count() + 1
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self, problem: &str) -> Fault {
        Fault::at(line_of(self.text, self.at), problem)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            match comment(self.rest()) {
                Some(length) => self.at += length,
                None if self.rest().starts_with("/*") => {
                    return Err(self.fault("a comment that begins with /* has no end"));
                }
                None => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') if depth >= DEEPEST => return Err(self.fault("it is nested too deeply")),
            Some(b'{') => Kind::Object(self.parts(b'}', depth)?),
            Some(b'[') => Kind::Array(self.parts(b']', depth)?),
            Some(b'"') => Kind::Text(self.string()?),
            _ => self.word()?,
        };
        Ok(Node {
            span: start..self.at,
            kind,
        })
    }

    /// Reads the parts between two brackets; the next byte is the opening one.
    fn parts(&mut self, close: u8, depth: usize) -> Result<Vec<Part>, Fault> {
        let mut parts: Vec<Part> = Vec::new();
        self.at += 1;
        loop {
            self.skip()?;
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(parts);
                }
                Some(b',') => match parts.last_mut() {
                    Some(last) if last.comma.is_none() => {
                        last.comma = Some(self.at);
                        self.at += 1;
                        continue;
                    }
                    _ => return Err(self.fault("a comma stands where a value should be")),
                },
                None => return Err(self.fault("it ends before everything is closed")),
                Some(_) => {}
            }
            if parts.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.fault("a comma is missing before this"));
            }
            let start = self.at;
            let key = if close == b'}' { Some(self.key()?) } else { None };
            let value = self.value(depth + 1)?;
            parts.push(Part {
                span: start..self.at,
                key,
                value,
                comma: None,
            });
        }
    }

    fn key(&mut self) -> Result<String, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key in double quotes"));
        }
        let key = self.string()?;
        self.skip()?;
        if self.peek() != Some(b':') {
            return Err(self.fault("expected a colon after the key"));
        }
        self.at += 1;
        self.skip()?;
        Ok(key)
    }

    /// Reads a string; the next byte is its quote.
    fn string(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let mut is_escaped = false;
        let end = rest.bytes().enumerate().skip(1).find_map(|(at, byte)| {
            if is_escaped {
                is_escaped = false;
                return None;
            }
            is_escaped = byte == b'\\';
            (byte == b'"').then_some(at + 1)
        });
        let written = end.and_then(|end| rest.get(..end));
        let Some(written) = written else {
            return Err(self.fault("a string has no end"));
        };
        match serde_json::from_str(written) {
            Ok(text) => {
                self.at += written.len();
                Ok(text)
            }
            Err(_) => Err(self.fault("this is no string of JSON")),
        }
    }

    fn word(&mut self) -> Result<Kind, Fault> {
        let rest = self.rest();
        let end = rest.find([',', ']', '}', '/', ' ', '\t', '\r', '\n', ':']);
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        match serde_json::from_str::<serde::de::IgnoredAny>(word) {
            Ok(_) => {
                self.at += word.len();
                Ok(Kind::Other)
            }
            Err(_) => Err(self.fault("this is no value of JSON")),
        }
    }
}

/// Returns the length of the comment at the start of `text`, without the line end after a `//` comment.
pub(super) fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.split('\n').next().unwrap_or_default();
        return Some(line.strip_suffix('\r').unwrap_or(line).len());
    }
    let inner = text.strip_prefix("/*")?;
    inner.find("*/").map(|end| end + 4)
}
