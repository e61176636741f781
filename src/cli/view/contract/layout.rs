//! A page of labeled sections, the text beside its label. It knows how lines are filled, not what they are about.

use crate::terminal::style::{Role, paint};
use crate::terminal::{sanitize, width};

/// Column at which the text begins, behind the longest label.
const INDENT: usize = 13;
/// Width in columns below which a label stands on a line of its own.
const NARROW: usize = 50;
/// Maximum width of the text, in columns; longer lines are hard to read.
const WIDEST: usize = 100;
/// Further indent, in columns, of a line that belongs to the one above.
const STEP: usize = 2;

/// A piece of a sentence. Pieces follow each other without a blank, unless a text brings one.
#[derive(Clone, Debug)]
pub(super) enum Part<'a> {
    /// Our own words, broken at blanks.
    Text(&'a str),
    /// Never broken: a path, a pattern, a name. Cleaned already, and perhaps painted.
    Whole(String),
}

impl Part<'_> {
    /// A painted word of our own.
    pub(super) fn loud(role: Role, word: &str) -> Self {
        Self::Whole(paint(role, word))
    }

    /// A path or a name in a sentence or on a line of its own.
    pub(super) fn name(bytes: &[u8]) -> Self {
        Self::Whole(paint(Role::Path, &sanitize::name(bytes)))
    }

    /// A path or a pattern in a list: quoted, too, when it holds what could be taken for the end of one.
    pub(super) fn item(bytes: &[u8]) -> Self {
        let shown = sanitize::name(bytes);
        if shown.starts_with('"') || !shown.contains([' ', ',', ';']) {
            return Self::Whole(paint(Role::Path, &shown));
        }
        let escaped = shown.replace('\\', "\\\\").replace('"', "\\\"");
        Self::Whole(paint(Role::Path, &format!("\"{escaped}\"")))
    }
}

/// The page while it is written.
pub(super) struct Sheet {
    columns: usize,
    lines: Vec<String>,
    label: Option<&'static str>,
}

impl Sheet {
    /// An empty page, `columns` wide.
    pub(super) fn new(columns: usize) -> Self {
        let (lines, label) = (Vec::new(), None);
        Self {
            columns,
            lines,
            label,
        }
    }

    /// The title, from the left edge.
    pub(super) fn title(&mut self, parts: &[Part<'_>]) {
        self.lines.extend(fill(parts, self.columns));
    }

    /// Begins a section. Its label is printed beside the first line.
    pub(super) fn section(&mut self, label: &'static str) {
        self.label = Some(label);
    }

    /// A sentence.
    pub(super) fn say(&mut self, parts: &[Part<'_>]) {
        self.paragraph(0, parts);
    }

    /// A sentence that belongs to the one above.
    pub(super) fn below(&mut self, parts: &[Part<'_>]) {
        self.paragraph(STEP, parts);
    }

    /// A word in a column of `column`, and something whole behind it, or below it when there is no room.
    pub(super) fn pair(&mut self, word: &str, column: usize, part: Part<'_>) {
        let Part::Whole(whole) = &part else {
            return self.say(&[Part::Text(word), Part::Text(" "), part]);
        };
        if self.indent() + column + width::of(whole) <= self.columns {
            self.line(0, &format!("{}{whole}", width::pad(word, column)));
        } else {
            self.line(0, word);
            self.line(STEP, whole);
        }
    }

    /// The text, without a newline at the end.
    pub(super) fn finish(self) -> String {
        self.lines.join("\n")
    }

    fn paragraph(&mut self, depth: usize, parts: &[Part<'_>]) {
        let room = self.columns.min(WIDEST).saturating_sub(self.indent() + depth);
        for line in fill(parts, room) {
            self.line(depth, &line);
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        let mut margin = " ".repeat(self.indent() + depth);
        if let Some(label) = self.label.take() {
            let painted = paint(Role::Heading, label);
            if self.is_narrow() {
                self.lines.push(painted);
            } else {
                margin = width::pad(&painted, self.indent() + depth);
            }
        }
        self.lines.push(margin + text);
    }

    fn is_narrow(&self) -> bool {
        self.columns < NARROW
    }

    fn indent(&self) -> usize {
        if self.is_narrow() { STEP } else { INDENT }
    }
}

/// Lines of at most `columns`. What is whole and longer has a line to itself and goes on where the terminal breaks it.
fn fill(parts: &[Part<'_>], columns: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for part in parts {
        match part {
            Part::Whole(whole) => word.push_str(whole),
            Part::Text(text) => {
                for (at, piece) in text.split(' ').enumerate() {
                    if at > 0 {
                        words.push(std::mem::take(&mut word));
                    }
                    word.push_str(piece);
                }
            }
        }
    }
    words.push(word);
    width::fill(words.iter().map(String::as_str), columns)
}
