//! Hunks of a change, to restore some of them: a text is composed of the later one, with the chosen hunks as the earlier one has them.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::merge::{LineChange, line_changes, part};
use super::patch::{Line, split};

/// Unchanged lines around a hunk.
const CONTEXT: usize = 3;

/// Line of a hunk without a newline at its end.
const NO_NEWLINE: &[u8] = b"\\ No newline at end of file";

/// Two texts and what differs between them.
pub struct TextHunks<'a> {
    then: Vec<&'a [u8]>,
    now: Vec<&'a [u8]>,
    changes: Vec<LineChange>,
    /// Unchanged lines around a hunk.
    context: usize,
}

/// A hunk: changes that lie close together, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextHunk(Range<usize>);

/// A line that differs, by its number in the text that has it; the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangedLine {
    /// Only in the earlier text.
    Removed(usize),
    /// Only in the later text.
    Added(usize),
}

/// A chosen hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenHunk {
    /// The hunk.
    pub hunk: TextHunk,
    /// Lines that replace it, if the operator edited it; `None` for those of the earlier text.
    pub edited: Option<Vec<u8>>,
}

impl<'a> TextHunks<'a> {
    /// Compares an earlier text with a later one.
    #[must_use]
    pub fn of(then: &'a [u8], now: &'a [u8]) -> Self {
        let (then, now) = (split(then), split(now));
        let changes = line_changes(&then, &now);
        Self {
            then,
            now,
            changes,
            context: CONTEXT,
        }
    }

    /// Returns the same texts with hunks of so many unchanged lines around.
    #[must_use]
    pub fn with_context(self, context: usize) -> Self {
        Self { context, ..self }
    }

    /// Returns the hunks: changes whose context meets are one.
    #[must_use]
    pub fn hunks(&self) -> Vec<TextHunk> {
        let mut hunks: Vec<TextHunk> = Vec::new();
        let mut end = 0;
        for (at, change) in self.changes.iter().enumerate() {
            match hunks.last_mut() {
                Some(last) if change.side.start <= end + 2 * self.context => last.0.end = at + 1,
                _ => hunks.push(TextHunk(at..at + 1)),
            }
            end = change.side.end;
        }
        hunks
    }

    /// Splits a hunk into its changes.
    #[must_use]
    pub fn split(&self, hunk: &TextHunk) -> Vec<TextHunk> {
        hunk.0.clone().map(|at| TextHunk(at..at + 1)).collect()
    }

    fn changes(&self, hunk: &TextHunk) -> &[LineChange] {
        self.changes.get(hunk.0.clone()).unwrap_or_default()
    }

    /// Returns the unchanged lines before and after a hunk, up to the next change on either side, as ranges of the later text.
    fn context(&self, hunk: &TextHunk) -> Option<(Range<usize>, Range<usize>)> {
        let changes = self.changes(hunk);
        let (first, last) = (changes.first()?, changes.last()?);
        let above = hunk.0.start.checked_sub(1).and_then(|at| self.changes.get(at));
        let below = self.changes.get(hunk.0.end);
        let above = above.map_or(0, |change| change.side.end);
        let below = below.map_or(self.now.len(), |change| change.side.start);
        let start = first.side.start.saturating_sub(self.context).max(above);
        let end = (last.side.end + self.context).min(below);
        Some((start..first.side.start, last.side.end..end))
    }

    /// Returns the lines of a hunk as a patch shows them, the head first.
    #[must_use]
    pub fn lines(&self, hunk: &TextHunk) -> Vec<(Line, Vec<u8>)> {
        let changes = self.changes(hunk);
        let (Some((before, after)), Some(first)) = (self.context(hunk), changes.first()) else {
            return Vec::new();
        };
        let mut body: Vec<(Line, &[u8])> = Vec::new();
        let kept = |range: Range<usize>| part(&self.now, &range).iter().map(|line| (Line::Context, *line));
        body.extend(kept(before.clone()));
        let mut at = first.side.start;
        for change in changes {
            body.extend(kept(at..change.side.start));
            body.extend(
                part(&self.then, &change.base)
                    .iter()
                    .map(|line| (Line::Removed, *line)),
            );
            body.extend(
                part(&self.now, &change.side)
                    .iter()
                    .map(|line| (Line::Added, *line)),
            );
            at = change.side.end;
        }
        body.extend(kept(after));
        let count = |not: Line| body.iter().filter(|(line, _)| *line != not).count();
        let (then, now) = (count(Line::Added), count(Line::Removed));
        let start = first.base.start - before.len().min(first.base.start);
        let head = format!("@@ -{} +{} @@", span(start, then), span(before.start, now));
        let mut lines = vec![(Line::Hunk, head.into_bytes())];
        for (line, text) in body {
            match text.strip_suffix(b"\n") {
                Some(text) => lines.push((line, text.to_vec())),
                None => lines.extend([(line, text.to_vec()), (Line::NoNewline, Vec::new())]),
            }
        }
        lines
    }

    /// Returns a hunk as the text that an operator edits.
    #[must_use]
    pub fn editable(&self, hunk: &TextHunk) -> Vec<u8> {
        let mut text = Vec::new();
        for (line, content) in self.lines(hunk) {
            match line {
                Line::Context => text.push(b' '),
                Line::Added => text.push(b'+'),
                Line::Removed => text.push(b'-'),
                Line::Hunk => {}
                Line::NoNewline => text.extend_from_slice(NO_NEWLINE),
            }
            text.extend(content);
            text.push(b'\n');
        }
        text
    }

    /// Reads an edited hunk: the lines that replace the hunk. `None` if it does not fit: its context and `+` lines must be those of
    /// the later text.
    #[must_use]
    pub fn read_edited(&self, hunk: &TextHunk, text: &[u8]) -> Option<Vec<u8>> {
        let (before, after) = self.context(hunk)?;
        let (mut then, mut now): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
        let mut ends_bare: [bool; 2] = [false, false];
        let mut last = [false, false];
        for line in split(text) {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let (sign, content) = line.split_first().unwrap_or((&b' ', &[]));
            let content = [content, b"\n"].concat();
            match sign {
                b'#' | b'@' => continue,
                b'\\' => {
                    ends_bare = [ends_bare[0] || last[0], ends_bare[1] || last[1]];
                    continue;
                }
                b' ' => last = [true, true],
                b'-' => last = [true, false],
                b'+' => last = [false, true],
                _ => return None,
            }
            if last[0] {
                then.push(content.clone());
            }
            if last[1] {
                now.push(content);
            }
        }
        for (lines, is_bare) in [(&mut then, ends_bare[0]), (&mut now, ends_bare[1])] {
            if let Some(line) = lines.last_mut().filter(|_| is_bare) {
                line.pop();
            }
        }
        let whole = part(&self.now, &(before.start..after.end));
        let context = |lines: &[Vec<u8>]| {
            let (head, tail) = (part(&self.now, &before), part(&self.now, &after));
            lines.len() >= head.len() + tail.len()
                && lines.iter().zip(head).all(|(line, kept)| line == kept)
                && lines
                    .iter()
                    .rev()
                    .zip(tail.iter().rev())
                    .all(|(line, kept)| line == kept)
        };
        if !now.iter().eq(whole) || !context(&then) {
            return None;
        }
        let end = then.len() - after.len();
        Some(then.get(before.len()..end)?.concat())
    }

    /// Returns true if an edited hunk has a line that is in neither text.
    #[must_use]
    pub fn has_new_line(&self, edited: &[u8]) -> bool {
        let known: HashSet<&[u8]> = self.then.iter().chain(&self.now).copied().collect();
        split(edited).into_iter().any(|line| !known.contains(line))
    }

    /// Returns the hunks with at least one of these lines. One of which only a part is chosen is edited: the chosen lines are as in the
    /// earlier text, the others as in the later one. `None` if one of the lines does not differ.
    #[must_use]
    pub fn with_lines(&self, lines: &BTreeSet<ChangedLine>) -> Option<Vec<ChosenHunk>> {
        let mut chosen = Vec::new();
        let mut found = 0;
        for hunk in self.hunks() {
            let own: Vec<ChangedLine> = self.changes(&hunk).iter().flat_map(changed_lines).collect();
            let taken = own.iter().filter(|line| lines.contains(line)).count();
            found += taken;
            if taken > 0 {
                let edited = (taken < own.len()).then(|| self.partly(&hunk, lines));
                chosen.push(ChosenHunk { hunk, edited });
            }
        }
        (found == lines.len()).then_some(chosen)
    }

    /// Returns the lines from the first to the last change of a hunk, with the chosen ones as the earlier text has them.
    fn partly(&self, hunk: &TextHunk, lines: &BTreeSet<ChangedLine>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut at = self.changes(hunk).first().map_or(0, |first| first.side.start);
        for change in self.changes(hunk) {
            out.extend_from_slice(part(&self.now, &(at..change.side.start)));
            let (base, side) = (part(&self.then, &change.base), part(&self.now, &change.side));
            let is_back = |at: usize| lines.contains(&ChangedLine::Removed(change.base.start + at + 1));
            let is_gone = |at: usize| lines.contains(&ChangedLine::Added(change.side.start + at + 1));
            // Lines that replace each other one by one, both chosen or neither, keep their order.
            let is_paired = base.len() == side.len() && (0..base.len()).all(|at| is_back(at) == is_gone(at));
            if is_paired {
                let lines = base.iter().zip(side).enumerate();
                out.extend(lines.map(|(at, (then, now))| if is_back(at) { *then } else { *now }));
            } else {
                let back = base.iter().enumerate().filter(|(at, _)| is_back(*at));
                let kept = side.iter().enumerate().filter(|(at, _)| !is_gone(*at));
                out.extend(back.chain(kept).map(|(_, line)| *line));
            }
            at = change.side.end;
        }
        joined(&out, self.ends_bare(hunk))
    }

    /// Returns true if neither text goes on after a hunk, so that its last line may lack a newline.
    fn ends_bare(&self, hunk: &TextHunk) -> bool {
        let end = self.changes(hunk).last().map(|last| last.side.end);
        end == Some(self.now.len())
    }

    /// Returns the later text with the chosen hunks as the earlier one has them. The hunks come in the order of the text.
    #[must_use]
    pub fn composed(&self, chosen: &[ChosenHunk]) -> Vec<u8> {
        let (mut out, mut at) = (Vec::new(), 0);
        for ChosenHunk { hunk, edited } in chosen {
            let changes = self.changes(hunk);
            let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
                continue;
            };
            if let Some(edited) = edited {
                out.extend(part(&self.now, &(at..first.side.start)).concat());
                out.extend_from_slice(edited);
                at = last.side.end;
                continue;
            }
            for change in changes {
                out.extend(part(&self.now, &(at..change.side.start)).concat());
                out.extend(part(&self.then, &change.base).concat());
                at = change.side.end;
            }
        }
        out.extend(part(&self.now, &(at..self.now.len())).concat());
        out
    }
}

/// Returns the lines of a change.
fn changed_lines(change: &LineChange) -> impl Iterator<Item = ChangedLine> + use<> {
    let removed = change.base.clone().map(|at| ChangedLine::Removed(at + 1));
    removed.chain(change.side.clone().map(|at| ChangedLine::Added(at + 1)))
}

/// Joins lines. Only the last one may lack a newline, and only where the text ends.
fn joined(lines: &[&[u8]], ends: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        text.extend_from_slice(line);
        let is_last = ends && at + 1 == lines.len();
        if !is_last && !line.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
    text
}

/// Returns lines as the head of a hunk names them.
fn span(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}
