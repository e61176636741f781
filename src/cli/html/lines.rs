//! Lines of a text file: numbers, words that differ, and runs that a script can set side by side.

use std::ops::Range;
use std::time::Duration;

use maud::{Markup, html};

use crate::cli::highlight::{Colors, Token, Tokens};
use crate::model::RelPath;
use crate::report::{Contents, Line, LineNumbers, line_numbers, masked, word_marks};
use crate::terminal::{sanitize, size};

/// Maximum size of all lines in a page, in bytes, so that a browser can open it. The page says what it omits.
const LARGEST: usize = 32 << 20;

/// Maximum size of the lines of one file, in bytes.
const LARGEST_FILE: usize = 1 << 20;

/// Maximum size of what is written for paths beside their lines, in bytes.
const PATHS: usize = 16 << 20;

/// Bytes of a path without its names and its command.
const PATH: usize = 600;

/// Maximum size of all images in a page, in bytes.
const PICTURES: usize = 16 << 20;

/// Changed lines that are open at first, of all files together.
const OPEN: u64 = 1_500;

/// Lines that a browser reads at once. What further closed files hold waits until it is seen, if there are scripts: reading some hundred
/// thousand elements takes seconds.
const AT_ONCE: usize = 20_000;

/// Lines that the rest of a file counts as: its command, link and images.
const AROUND: usize = 8;

/// Time for the colors of all files together. Lines that have none then are plain.
const COLORING: Duration = Duration::from_secs(10);

/// Maximum size of all texts that get colors, in bytes: an element for each word makes a long page slow.
const COLORED: usize = 1 << 20;

/// Longest line, in bytes, that is laid out in full. A longer one scrolls in a box of its own.
const LONGEST: usize = 2_000;

/// Space that is left on a page.
pub(super) struct Room {
    text: usize,
    paths: usize,
    /// Bytes for images.
    pub(super) pictures: usize,
    open: u64,
    at_once: usize,
    colors: Colors,
    colored: usize,
    /// True if there is an image on the page.
    pub(super) has_pictures: bool,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            text: LARGEST,
            paths: PATHS,
            pictures: PICTURES,
            open: OPEN,
            at_once: AT_ONCE,
            colors: Colors::within(COLORING),
            colored: COLORED,
            has_pictures: false,
        }
    }
}

impl Room {
    /// Returns the tokens of each of the lines.
    fn tokens(&mut self, code: &Code<'_>, shown: (&[(Line, String)], &[LineNumbers])) -> Vec<Tokens> {
        let Contents::Both(old, new) = code.contents else {
            return Vec::new();
        };
        let Some(left) = self.colored.checked_sub(old.len() + new.len()) else {
            return Vec::new();
        };
        self.colored = left;
        let words = |line: &[u8]| match code.show_secrets {
            true => sanitize::line(line),
            false => sanitize::line(&masked(line)),
        };
        self.colors.of_patch(code.path, code.contents, shown, words)
    }

    /// Returns true if there is room for a path whose names and command have so many bytes.
    pub(super) fn takes_path(&mut self, names: usize) -> bool {
        match self.paths.checked_sub(PATH + names) {
            Some(left) => {
                self.paths = left;
                true
            }
            None => false,
        }
    }

    /// Returns true if a closed file with so many lines waits.
    pub(super) fn waits(&mut self, lines: usize) -> bool {
        let left = self.at_once.checked_sub(lines + AROUND);
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

/// The file that lines are of.
pub(super) struct Code<'a> {
    pub(super) path: &'a RelPath,
    pub(super) contents: &'a Contents,
    pub(super) show_secrets: bool,
}

/// A line as it is shown.
struct Row {
    line: Line,
    numbers: LineNumbers,
    text: String,
    /// Ranges that differ from the counterpart.
    marks: Vec<Range<usize>>,
    tokens: Tokens,
    /// True if it belongs to a run of changed lines.
    is_changed: bool,
}

/// Renders the lines of a patch, as many as fit, and returns their number as well.
pub(super) fn lines(lines: &[(Line, Vec<u8>)], code: &Code<'_>, room: &mut Room) -> (Markup, usize) {
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
    let rows = rows(lines, fits, code, room);
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
    let markup = html! {
        @if !rows.is_empty() {
            pre class={ "lines d" (digits) " " (sides) } {
                @for run in rows.chunk_by(|one, other| one.is_changed == other.is_changed) {
                    @if run.first().is_some_and(|row| row.is_changed) {
                        span class="run" { @for row in run { (of_row(row)) } }
                    } @else {
                        @for row in run { (of_row(row)) }
                    }
                }
            }
        }
        @if more > 0 {
            p class="warn" { (size::counted(more, "line is", "lines are")) " not shown: the page would be too large" }
        }
    };
    (markup, rows.len())
}

/// Returns the rows of the lines that fit.
fn rows(lines: &[(Line, Vec<u8>)], fits: Vec<(Line, String)>, code: &Code<'_>, room: &mut Room) -> Vec<Row> {
    let shown = lines.iter().take(fits.len());
    let numbers = line_numbers(shown.map(|(line, text)| (*line, text.as_slice())));
    let marks = word_marks(&fits);
    let mut tokens = room.tokens(code, (&fits, &numbers));
    tokens.resize(fits.len(), Tokens::new());
    let mut is_changed = false;
    let rows = fits.into_iter().zip(numbers).zip(marks).zip(tokens);
    let rows = rows.map(|((((line, text), numbers), marks), tokens)| {
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
            tokens,
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
    let text = marked(row);
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

/// A line whose words that differ from those of its counterpart stand out. Colors of code lie within them.
fn marked(row: &Row) -> Markup {
    let starts = std::iter::once(0).chain(row.marks.iter().map(|mark| mark.end));
    let last = row.marks.last().map_or(0, |mark| mark.end);
    html! {
        @for (start, mark) in starts.zip(&row.marks) {
            (colored(row, start..mark.start))
            b { (colored(row, mark.clone())) }
        }
        (colored(row, last..row.text.len()))
    }
}

/// A part of a line with the colors of code.
fn colored(row: &Row, part: Range<usize>) -> Markup {
    let text = |range: Range<usize>| row.text.get(range).unwrap_or_default();
    let first = row.tokens.partition_point(|(range, _)| range.end <= part.start);
    let tokens = row.tokens.iter().skip(first);
    let tokens = tokens.take_while(|(range, _)| range.start < part.end);
    let mut at = part.start;
    html! {
        @for (range, token) in tokens {
            @let (start, end) = (range.start.max(part.start), range.end.min(part.end));
            (text(at..start))
            i class=(class(*token)) { (text(start..end)) }
            @let () = at = end;
        }
        (text(at..part.end))
    }
}

fn class(token: Token) -> &'static str {
    match token {
        Token::Keyword => "k",
        Token::Text => "s",
        Token::Comment => "c",
        Token::Constant => "n",
        Token::Name => "f",
    }
}
