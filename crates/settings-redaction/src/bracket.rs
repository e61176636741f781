//! Members between brackets: removes some and adds others, so that the commas still fit.
//!
//! One editor serves JSON and the inline tables of TOML. Those of `jsonc-parser` and `toml_edit` reformat the neighboring members.

use std::ops::Range;

use super::edit::Edits;

/// Text between two brackets, split at its commas.
pub(super) struct Bracket<'a> {
    text: &'a str,
    /// The pieces with a value in them.
    pieces: Vec<Range<usize>>,
    /// Offset at which the text between the brackets begins.
    open: usize,
    commas: &'a [usize],
    trailing: bool,
}

impl<'a> Bracket<'a> {
    /// Splits the text of `span`, which includes the brackets.
    pub(super) fn new(
        text: &'a str,
        span: &Range<usize>,
        commas: &'a [usize],
        trailing: bool,
        is_empty: bool,
    ) -> Self {
        let open = span.start + 1;
        let mut pieces = Vec::with_capacity(commas.len() + 1);
        let mut start = open;
        for comma in commas {
            pieces.push(start..*comma);
            start = comma + 1;
        }
        if !trailing && !is_empty {
            pieces.push(start..span.end - 1);
        }
        Self {
            text,
            pieces,
            open,
            commas,
            trailing,
        }
    }

    /// Removes the values at `gone` and adds `new` at the end. Nothing can be added after a trailing comma.
    pub(super) fn change(&self, gone: &[Range<usize>], new: &[String], edits: &mut Edits) {
        let mut stays = vec![true; self.pieces.len()];
        for place in gone {
            let index = self.commas.partition_point(|comma| *comma < place.start);
            if let Some(stay) = stays.get_mut(index) {
                *stay = false;
            }
        }
        let kept: Vec<usize> = (0..stays.len())
            .filter(|index| stays.get(*index) == Some(&true))
            .collect();
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else {
            if !new.is_empty() {
                edits.put(self.open..self.open, new.join(", "));
            }
            return;
        };
        let (Some(first_kept), Some(last_kept)) = (kept.first(), kept.last()) else {
            self.change_all(first, last, new, edits);
            return;
        };
        if let Some(piece) = self.pieces.get(*first_kept)
            && *first_kept > 0
        {
            edits.put(
                first.start + self.before(first)..piece.start + self.before(piece),
                String::new(),
            );
        }
        for pair in kept.windows(2) {
            if let [left, right] = pair
                && right - left > 1
                && let (Some(left), Some(right)) = (self.pieces.get(*left), self.pieces.get(*right))
            {
                edits.put(left.end..right.start - 1, String::new());
            }
        }
        let Some(piece) = self.pieces.get(*last_kept) else {
            return;
        };
        let cut = *last_kept + 1 < self.pieces.len();
        if self.trailing {
            if cut {
                edits.put(piece.end..last.end, String::new());
            }
        } else if cut || !new.is_empty() {
            // The blanks before the closing bracket stay, those of the last value that stays go.
            let start = piece.end - self.after(piece);
            let end = if cut { last.end - self.after(last) } else { start };
            let lead = self.lead(last);
            let added = new.iter().map(|member| format!(",{lead}{member}")).collect();
            edits.put(start..end, added);
        }
    }

    /// Replaces all values with `new`.
    fn change_all(&self, first: &Range<usize>, last: &Range<usize>, new: &[String], edits: &mut Edits) {
        if new.is_empty() {
            let end = if self.trailing { last.end + 1 } else { last.end };
            edits.put(self.open..end, String::new());
            return;
        }
        let lead = self.lead(first);
        let members = new.join(&format!(",{lead}"));
        edits.put(
            first.start + self.before(first)..last.end - self.after(last),
            members,
        );
    }

    fn piece(&self, piece: &Range<usize>) -> &str {
        self.text.get(piece.clone()).unwrap_or_default()
    }

    /// Returns the blanks at the start of a piece.
    fn lead(&self, piece: &Range<usize>) -> &str {
        self.piece(piece).get(..self.before(piece)).unwrap_or_default()
    }

    fn before(&self, piece: &Range<usize>) -> usize {
        let text = self.piece(piece);
        text.len() - text.trim_start_matches(BLANK).len()
    }

    fn after(&self, piece: &Range<usize>) -> usize {
        let text = self.piece(piece);
        // A comment needs the line end that follows it.
        if text.contains('#') {
            return 0;
        }
        text.len() - text.trim_end_matches(BLANK).len()
    }
}

const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];
