//! Width of text in columns of a terminal, and fitting text into it. Text is cleaned already; it may hold jackin's color codes.

use super::color_code::split_code;
use super::sanitize;

/// Stands for what was cut out.
const ELLIPSIS: char = '…';

/// Columns that `text` takes. Color codes take none; a tab counts as one.
#[must_use]
pub fn of(text: &str) -> usize {
    let mut columns = 0;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((_, after)) = split_code(rest) {
            rest = after;
            continue;
        }
        columns += of_char(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    columns
}

/// `text` without color codes, at most `columns` wide: the middle gives way to `…`. The end keeps the larger
/// half, for that is where the file name is.
#[must_use]
pub fn cut(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    let head = take(text.chars(), room / 2);
    let tail: Vec<char> = take_back(text, room - head.iter().map(|c| of_char(*c)).sum::<usize>());
    head.into_iter().chain([ELLIPSIS]).chain(tail).collect()
}

/// The end of `text` without color codes, at most `columns` wide, behind `…` if that is not all of it.
#[must_use]
pub fn end(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    match columns.checked_sub(1) {
        Some(room) => [ELLIPSIS].into_iter().chain(take_back(text, room)).collect(),
        None => String::new(),
    }
}

/// The start of `text` without color codes, at most `columns` wide.
#[must_use]
pub fn start(text: &str, columns: usize) -> String {
    take(text.chars(), columns).into_iter().collect()
}

/// `text` in lines of at most `columns`, broken at spaces. A word that is longer stays whole on its own line, so that a
/// path or a command can be copied. A line that begins with a space is laid out already and kept as it is.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        if paragraph.starts_with(' ') {
            lines.push(paragraph.trim_end().to_owned());
            continue;
        }
        lines.extend(fill(paragraph.split(' '), columns));
    }
    lines
}

/// `words` in lines of at most `columns`, one line at least. A word that is longer stays whole on its own line; empty
/// words are skipped.
#[must_use]
pub fn fill<'a>(words: impl IntoIterator<Item = &'a str>, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        if !line.is_empty() && of(&line) + 1 + of(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// `text` with blanks behind it up to `columns`.
#[must_use]
pub fn pad(text: &str, columns: usize) -> String {
    format!("{text}{:1$}", "", columns.saturating_sub(of(text)))
}

/// Returns as many characters as fit, with the marks on the last one.
fn take(chars: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += of_char(*c);
            used <= columns
        })
        .collect()
}

/// The same from the end; never begins with a mark that lost its letter.
fn take_back(text: &str, columns: usize) -> Vec<char> {
    let mut tail = take(text.chars().rev(), columns);
    while tail.last().is_some_and(|c| of_char(*c) == 0) {
        tail.pop();
    }
    tail.reverse();
    tail
}

/// Columns of one character: 0 for marks, 2 for what East Asian Width (Unicode annex 11) calls wide, else 1.
#[must_use]
pub fn of_char(c: char) -> usize {
    match c {
        '\0'..='\u{2ff}' => 1,
        // Vowels and finals that join the Korean letter before them.
        '\u{1160}'..='\u{11ff}' => 0,
        c if sanitize::is_combining(c) => 0,
        c if is_wide(c) => 2,
        _ => 1,
    }
}

/// Blocks that are wide as a whole; single wide symbols below U+2E80 are listed where they are common in names.
fn is_wide(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{115f}'
        | '\u{231a}' | '\u{231b}' | '\u{2329}' | '\u{232a}' | '\u{23e9}'..='\u{23ec}' | '\u{23f0}' | '\u{23f3}'
        | '\u{25fd}' | '\u{25fe}' | '\u{2614}' | '\u{2615}' | '\u{2648}'..='\u{2653}' | '\u{267f}' | '\u{2693}'
        | '\u{26a1}' | '\u{26aa}' | '\u{26ab}' | '\u{26bd}' | '\u{26be}' | '\u{26c4}' | '\u{26c5}' | '\u{26ce}'
        | '\u{26d4}' | '\u{26ea}' | '\u{26f2}' | '\u{26f3}' | '\u{26f5}' | '\u{26fa}' | '\u{26fd}'
        | '\u{2705}' | '\u{270a}' | '\u{270b}' | '\u{2728}' | '\u{274c}' | '\u{274e}' | '\u{2753}'..='\u{2755}'
        | '\u{2757}' | '\u{2795}'..='\u{2797}' | '\u{27b0}' | '\u{27bf}'
        | '\u{2b1b}' | '\u{2b1c}' | '\u{2b50}' | '\u{2b55}'
        | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff01}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{16fe0}'..='\u{18dff}' | '\u{1aff0}'..='\u{1b2ff}'
        | '\u{1f004}' | '\u{1f0cf}' | '\u{1f18e}' | '\u{1f191}'..='\u{1f19a}' | '\u{1f200}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}' | '\u{1f7e0}'..='\u{1f7eb}' | '\u{1f90c}'..='\u{1f9ff}'
        | '\u{1fa70}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}'
    )
}
