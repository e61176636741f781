//! Changes to a text, collected first and made all at once.

use std::ops::Range;

/// The changes to one text.
#[derive(Default)]
pub(super) struct Edits {
    list: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Replaces a range with a text. Texts at one place stay in the order in which they were added.
    pub(super) fn put(&mut self, range: Range<usize>, text: String) {
        self.list.push((range, text));
    }

    /// Returns the text with all changes made; `None` if they overlap.
    pub(super) fn make(mut self, text: &str) -> Option<String> {
        self.list.sort_by_key(|(range, _)| (range.start, range.end));
        let mut made = String::with_capacity(text.len());
        let mut at = 0;
        for (range, new) in &self.list {
            made.push_str(text.get(at..range.start)?);
            made.push_str(new);
            at = range.end;
        }
        made.push_str(text.get(at..)?);
        Some(made)
    }
}

/// Returns the offset at which the line of a place begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

/// Returns the offset at which the next line begins, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..)
        .and_then(|after| after.find('\n'))
        .map_or(text.len(), |newline| at + newline + 1)
}
