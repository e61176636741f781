//! Lines of the selected path: which one the cursor is on, which are selected, and where a text is found.

use std::collections::BTreeSet;
use std::ops::Range;

use super::data::{PatchLine, PatchText};
use crate::model::Digest;
use crate::report::{ChangedLine, Line};

/// Unchanged lines around a change, at first.
const CONTEXT: usize = 3;

/// Most unchanged lines around a change.
const MOST_CONTEXT: usize = 1_000;

/// Settings of the preview that stay from path to path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Unchanged lines around a change.
    pub(super) context: usize,
    /// True if a long line goes on below instead of being cut.
    pub(super) wraps: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            context: CONTEXT,
            wraps: true,
        }
    }
}

impl Reading {
    /// Shows more unchanged lines, or fewer.
    pub(super) fn widen(&mut self, more: bool) {
        self.context = match more {
            true => (self.context * 2).clamp(1, MOST_CONTEXT),
            false => self.context / 2,
        };
    }
}

/// Part of a change that can be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Mode, owner and attributes.
    Metadata,
    Line(ChangedLine),
}

impl PatchLine {
    /// Returns the part of the change in this line; `None` if there is none.
    pub(super) fn part(&self) -> Option<Part> {
        match self {
            Self::Said(_) => None,
            Self::Metadata(_) => Some(Part::Metadata),
            Self::Line(text) => match (text.line, text.then, text.now) {
                (Line::Removed, Some(at), _) => Some(Part::Line(ChangedLine::Removed(at))),
                (Line::Added, _, Some(at)) => Some(Part::Line(ChangedLine::Added(at))),
                _ => None,
            },
        }
    }

    /// Returns the text that a search looks in.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Said(text) | Self::Metadata(text) => text,
            Self::Line(line) => &line.text,
        }
    }

    fn is_head(&self) -> bool {
        matches!(self, Self::Line(text) if text.line == Line::Hunk)
    }
}

/// Marked parts of a text file, with the digests of the two texts that they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineMarks {
    pub(super) sides: [Digest; 2],
    pub(super) parts: BTreeSet<Part>,
}

/// Lines of the selected path.
#[derive(Debug, Default)]
pub(super) struct Preview {
    /// Index of the change that the lines belong to.
    pub(super) of: Option<usize>,
    pub(super) text: PatchText,
    /// Line that the cursor is on.
    pub(super) at: usize,
    /// First line that is shown.
    pub(super) top: usize,
    /// Other end of the selected lines.
    pub(super) anchor: Option<usize>,
    /// Text that is searched for.
    pub(super) search: String,
}

impl Preview {
    /// Starts with another path.
    pub(super) fn open(&mut self, of: Option<usize>) {
        *self = Self {
            of,
            search: std::mem::take(&mut self.search),
            ..Self::default()
        };
    }

    /// Takes the lines of the path. The cursor stays on its line, if that is still shown.
    pub(super) fn fill(&mut self, text: PatchText) {
        let place = |line: &PatchLine| match line {
            PatchLine::Line(line) if line.line != Line::Hunk => Some((line.line, line.then, line.now)),
            _ => None,
        };
        let before = self.text.lines.get(self.at).and_then(place);
        let above = self.at.saturating_sub(self.top);
        let again = before.and_then(|before| text.lines.iter().position(|line| place(line) == Some(before)));
        self.text = text;
        self.anchor = None;
        self.at = again.unwrap_or(0);
        self.top = self.at.saturating_sub(above);
    }

    /// Moves the cursor.
    pub(super) fn step(&mut self, by: isize) {
        let last = self.text.lines.len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(by).min(last);
    }

    /// Moves the cursor to the next hunk, or the one before.
    pub(super) fn step_hunk(&mut self, forward: bool) {
        let lines = &self.text.lines;
        let starts = |at: &usize| {
            let line = lines.get(*at);
            line.is_some_and(|line| line.is_head() || matches!(line, PatchLine::Metadata(_)))
        };
        let found = match forward {
            true => (self.at + 1..lines.len()).find(starts),
            false => (0..self.at).rev().find(starts),
        };
        if let Some(found) = found {
            self.at = found;
            // Its lines are below it.
            self.top = found.saturating_sub(1);
        }
    }

    /// Returns the lines of the hunk that the cursor is in.
    pub(super) fn hunk(&self) -> Range<usize> {
        let lines = &self.text.lines;
        if let Some(PatchLine::Metadata(_)) = lines.get(self.at) {
            return self.at..self.at + 1;
        }
        let head = |at: &usize| lines.get(*at).is_some_and(PatchLine::is_head);
        let Some(start) = (0..=self.at).rev().find(head) else {
            return self.at..self.at;
        };
        let end = (self.at + 1..lines.len()).find(head).unwrap_or(lines.len());
        start..end
    }

    /// Returns the selected lines; `None` without a selection.
    pub(super) fn selection(&self) -> Option<Range<usize>> {
        let anchor = self.anchor?;
        Some(anchor.min(self.at)..anchor.max(self.at) + 1)
    }

    /// Returns the parts in these lines.
    pub(super) fn parts(&self, lines: Range<usize>) -> BTreeSet<Part> {
        let lines = self.text.lines.get(lines).unwrap_or_default();
        lines.iter().filter_map(PatchLine::part).collect()
    }

    /// Moves the cursor to the next line with the searched text, or the one before; returns false if there is none. `stays` also looks
    /// at the line of the cursor.
    pub(super) fn find(&mut self, forward: bool, stays: bool) -> bool {
        let length = self.text.lines.len();
        let first = usize::from(!stays);
        let order = (first..=length).map(|step| match forward {
            true => (self.at + step) % length.max(1),
            false => (self.at + 2 * length - step) % length.max(1),
        });
        let is_hit = |at: &usize| {
            let line = self.text.lines.get(*at);
            line.is_some_and(|line| found(line.text(), &self.search).next().is_some())
        };
        let hit = order.into_iter().find(is_hit);
        self.at = hit.unwrap_or(self.at);
        hit.is_some()
    }

    /// Returns the number of lines with the searched text.
    pub(super) fn hits(&self) -> usize {
        let lines = self.text.lines.iter();
        lines
            .filter(|line| found(line.text(), &self.search).next().is_some())
            .count()
    }
}

/// Returns the places of a word in a text. Without a capital letter in it, letters of both cases match.
pub(super) fn found<'t>(text: &'t str, word: &str) -> impl Iterator<Item = Range<usize>> + use<'t> {
    let is_exact = word.bytes().any(|letter| letter.is_ascii_uppercase());
    let (text, word) = match is_exact {
        true => (std::borrow::Cow::Borrowed(text), word.to_owned()),
        // ASCII alone, so that the places stay those of the text.
        false => (text.to_ascii_lowercase().into(), word.to_ascii_lowercase()),
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        if word.is_empty() {
            return None;
        }
        let start = from + text.get(from..)?.find(&word)?;
        from = start + word.len();
        Some(start..from)
    })
}
