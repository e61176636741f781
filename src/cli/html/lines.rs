//! Lines of a text file: numbers, words that differ, and runs that a script can set side by side.

use std::ops::Range;

use maud::{Markup, html};

use crate::report::{Line, LineNumbers, line_numbers, word_marks};
use crate::terminal::{sanitize, size};

/// Maximum size of all lines in a page, in bytes, so that a browser can open it. The page says what it omits.
const LARGEST: usize = 32 << 20;

/// Maximum size of the lines of one file, in bytes.
const LARGEST_FILE: usize = 1 << 20;

/// Maximum size of all images in a page, in bytes.
const PICTURES: usize = 16 << 20;

/// Changed lines that are open at first, of all files together.
const OPEN: u64 = 1_500;

/// Lines that a browser reads at once. Those of further closed files wait until they are seen, if there are scripts: reading some hundred
/// thousand elements takes seconds.
const AT_ONCE: usize = 20_000;

/// Longest line, in bytes, that is laid out in full. A longer one scrolls in a box of its own.
const LONGEST: usize = 2_000;

/// Space that is left on a page.
pub(super) struct Room {
    text: usize,
    /// Bytes for images.
    pub(super) pictures: usize,
    open: u64,
    at_once: usize,
    /// True if there is an image on the page.
    pub(super) has_pictures: bool,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            text: LARGEST,
            pictures: PICTURES,
            open: OPEN,
            at_once: AT_ONCE,
            has_pictures: false,
        }
    }
}

impl Room {
    /// Returns true if so many lines of a closed file wait.
    fn waits(&mut self, lines: usize) -> bool {
        let left = self.at_once.checked_sub(lines);
        self.at_once = left.unwrap_or_default();
        left.is_none()
    }

    /// Returns true if a file with so many changed lines is open at first.
    pub(super) fn opens(&mut self, lines: u64) -> bool {
        match self.open.checked_sub(lines.max(1)) {
            Some(left) => {
                self.open = left;
                true
            }
            None => false,
        }
    }
}

/// A line as it is shown.
struct Row {
    line: Line,
    numbers: LineNumbers,
    text: String,
    /// Ranges that differ from the counterpart.
    marks: Vec<Range<usize>>,
    /// True if it belongs to a run of changed lines.
    is_changed: bool,
}

/// Renders the lines of a patch, as many as fit.
pub(super) fn lines(lines: &[(Line, Vec<u8>)], is_open: bool, room: &mut Room) -> Markup {
    let mut left = LARGEST_FILE.min(room.text);
    let before = left;
    let fits = lines.iter().take_while(|(_, text)| {
        // What is around a line counts as well.
        let size = text.len() + 16;
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    let fits: Vec<(Line, String)> = fits.map(|(line, text)| (*line, sanitize::line(text))).collect();
    room.text = room.text.saturating_sub(before - left);
    let more = (lines.len() - fits.len()) as u64;
    let rows = rows(lines, fits);
    let most = rows
        .iter()
        .filter_map(|row| row.numbers.then.max(row.numbers.now))
        .max();
    let digits = most.map_or(1, |most| most.to_string().len()).max(2);
    let is_there = |wanted: Line| rows.iter().any(|row| row.line == wanted);
    // One side alone needs no second column.
    let sides = if is_there(Line::Context) || is_there(Line::Added) && is_there(Line::Removed) {
        "two"
    } else {
        "one"
    };
    let waits = room.waits(rows.len()) && !is_open;
    let text = html! {
        pre class={ "lines d" (digits) " " (sides) } {
            @for run in rows.chunk_by(|one, other| one.is_changed == other.is_changed) {
                @if run.first().is_some_and(|row| row.is_changed) {
                    span class="run" { @for row in run { (of_row(row)) } }
                } @else {
                    @for row in run { (of_row(row)) }
                }
            }
        }
    };
    html! {
        @if waits { noscript { (text) } } @else if !rows.is_empty() { (text) }
        @if more > 0 {
            p class="warn" { (size::counted(more, "line is", "lines are")) " not shown: the page would be too large" }
        }
    }
}

/// Returns the rows of the lines that fit.
fn rows(lines: &[(Line, Vec<u8>)], fits: Vec<(Line, String)>) -> Vec<Row> {
    let shown = lines.iter().take(fits.len());
    let numbers = line_numbers(shown.map(|(line, text)| (*line, text.as_slice())));
    let marks = word_marks(&fits);
    let mut is_changed = false;
    let rows = fits.into_iter().zip(numbers).zip(marks);
    let rows = rows.map(|(((line, text), numbers), marks)| {
        is_changed = match line {
            Line::Added | Line::Removed => true,
            // It is a remark on the line before it.
            Line::NoNewline => is_changed,
            Line::Context | Line::Hunk => false,
        };
        Row {
            line,
            numbers,
            text,
            marks,
            is_changed,
        }
    });
    rows.collect()
}

/// Renders a line. Its numbers and its sign are made by the style, so that a copied text has none of them.
fn of_row(row: &Row) -> Markup {
    let LineNumbers { then, now } = row.numbers;
    let is_long = row.text.len() > LONGEST;
    let long = is_long.then_some("long");
    // Keys reach what scrolls.
    let reached = is_long.then_some("0");
    let text = marked(&row.text, &row.marks);
    match row.line {
        Line::Context => html! {
            span class={ "l" @if is_long { " long" } } data-a=[then] data-b=[now] tabindex=[reached] { (text) }
        },
        Line::Added => html! { ins class=[long] data-b=[now] tabindex=[reached] { (text) } },
        Line::Removed => html! { del class=[long] data-a=[then] tabindex=[reached] { (text) } },
        Line::Hunk => html! { span class="hunk" { (row.text.trim_end()) } },
        Line::NoNewline => html! { span class="hunk" { "\\ No newline at end of file" } },
    }
}

/// A line whose words that differ from those of its counterpart stand out.
fn marked(text: &str, marks: &[Range<usize>]) -> Markup {
    let starts = std::iter::once(0).chain(marks.iter().map(|mark| mark.end));
    html! {
        @for (start, mark) in starts.zip(marks) {
            (text.get(start..mark.start).unwrap_or_default())
            b { (text.get(mark.clone()).unwrap_or_default()) }
        }
        (text.get(marks.last().map_or(0, |mark| mark.end)..).unwrap_or_default())
    }
}
