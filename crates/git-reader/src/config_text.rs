//! The syntax of configuration files, step by step as git's own parser takes it.

use std::sync::Arc;

use super::config::{Config, ConfigEntry};

impl Config {
    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// Returns the number of the first invalid line, and the entries before it. Git refuses the whole file.
    pub fn parse(text: &[u8]) -> Result<Self, (Self, usize)> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut parser = Parser { text, at: 0, line: 1 };
        let mut config = Self::default();
        match parser.run(&mut config.entries) {
            Some(()) => Ok(config),
            None => Err((config, parser.line)),
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

/// Maximum number of lines with a value; each takes memory.
const MOST_LINES: usize = 100_000;

/// Maximum bytes of a section's name; each line below it repeats the name.
const LONGEST_HEADER: usize = 16 << 10;

/// Section and subsection, which every line below a header shares.
type Header = (Arc<[u8]>, Option<Arc<[u8]>>);

impl Parser<'_> {
    /// Returns the next byte. After the end of the text, it returns the end of a line forever.
    fn next(&mut self) -> u8 {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (byte, taken) = match rest {
            [b'\r', b'\n', ..] => (b'\n', 2),
            [byte, ..] => (*byte, 1),
            [] => (b'\n', 0),
        };
        self.at += taken;
        if byte == b'\n' && taken > 0 {
            self.line += 1;
        }
        byte
    }

    fn is_done(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Reads all lines; `None` if one is invalid. The line number is then that of its start.
    fn run(&mut self, entries: &mut Vec<ConfigEntry>) -> Option<()> {
        // A line above all headers belongs to no section, and git reads on behind it.
        let mut header: Header = ([].into(), None);
        while !self.is_done() {
            let begun = self.line;
            let step = self.step(&mut header, entries);
            let step = step.filter(|()| entries.len() <= MOST_LINES);
            if step.is_none() {
                self.line = begun;
            }
            step?;
        }
        Some(())
    }

    fn step(&mut self, header: &mut Header, entries: &mut Vec<ConfigEntry>) -> Option<()> {
        match self.next() {
            byte if is_space(byte) => {}
            b'#' | b';' => while self.next() != b'\n' {},
            b'[' => *header = self.header()?,
            byte if byte.is_ascii_alphabetic() => {
                let (section, subsection) = header.clone();
                let mut key = vec![byte.to_ascii_lowercase()];
                let value = self.line(&mut key)?;
                entries.push(ConfigEntry {
                    section,
                    subsection,
                    key,
                    value,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads `section]`, `section.sub]` (in lower case) or `section "Sub"]`.
    fn header(&mut self) -> Option<Header> {
        let mut name = Vec::new();
        loop {
            if self.is_done() {
                return None;
            }
            match self.next() {
                b']' => break,
                byte if is_space(byte) => {
                    self.quoted(byte, &mut name)?;
                    break;
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(byte.to_ascii_lowercase());
                }
                _ => return None,
            }
        }
        if name.len() > LONGEST_HEADER {
            return None;
        }
        let dot = name.iter().position(|byte| *byte == b'.');
        let (section, rest) = name.split_at(dot.unwrap_or(name.len()));
        let subsection = rest.strip_prefix(b".").map(Arc::from);
        Some((section.into(), subsection))
    }

    fn quoted(&mut self, first: u8, name: &mut Vec<u8>) -> Option<()> {
        let mut byte = first;
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then_some(())
    }

    /// Reads the rest of a key, and its value; `Some(None)` if it has none.
    #[expect(clippy::option_option, reason = "no sense, no value, a value")]
    fn line(&mut self, key: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
        let mut byte = self.next();
        while byte.is_ascii_alphanumeric() || byte == b'-' {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Some(None),
            b'=' => self.value().map(Some),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut is_quoted, mut is_comment) = (Vec::new(), false, false);
        // Start of the spaces that may turn out to end the value.
        let mut trim = None;
        loop {
            match self.next() {
                b'\n' if is_quoted => return None,
                b'\n' => break,
                _ if is_comment => {}
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        trim.get_or_insert(value.len());
                        value.push(byte);
                    }
                }
                b'#' | b';' if !is_quoted => is_comment = true,
                byte => {
                    trim = None;
                    match byte {
                        b'"' => is_quoted = !is_quoted,
                        b'\\' => self.escaped(&mut value)?,
                        byte => value.push(byte),
                    }
                }
            }
        }
        if let Some(length) = trim {
            value.truncate(length);
        }
        Some(value)
    }

    fn escaped(&mut self, value: &mut Vec<u8>) -> Option<()> {
        match self.next() {
            b'\n' => {}
            b't' => value.push(b'\t'),
            b'b' => value.push(8),
            b'n' => value.push(b'\n'),
            byte @ (b'\\' | b'"') => value.push(byte),
            _ => return None,
        }
        Some(())
    }
}

/// Returns true for a byte that git takes for a space: no vertical tab, no form feed.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
