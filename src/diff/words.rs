//! Words that differ between a removed line and the added line in its place.

use std::ops::Range;

use similar::{ChangeTag, TextDiff};

use super::Line;
use super::patch::PATIENCE;

/// Maximum bytes of a line that is compared word by word.
const LONGEST: usize = 2_000;

/// Minimum similarity of two lines that are compared word by word: in so many per cent of their letters and signs.
const LIKE: usize = 30;

/// Returns for each line the byte ranges that differ from its counterpart. Removed lines are paired in order with the lines added
/// in their place. Lines without a counterpart, or with too little in common, have no ranges.
#[must_use]
pub fn word_marks(lines: &[(Line, String)]) -> Vec<Vec<Range<usize>>> {
    let mut marks = vec![Vec::new(); lines.len()];
    let run = |from: usize, kind: Line| {
        let rest = lines.iter().skip(from);
        rest.take_while(|(line, _)| *line == kind).count()
    };
    let mut at = 0;
    while at < lines.len() {
        let removed = run(at, Line::Removed);
        let added = run(at + removed, Line::Added);
        for (old, new) in (at..at + removed).zip(at + removed..at + removed + added) {
            let (Some((_, before)), Some((_, after))) = (lines.get(old), lines.get(new)) else {
                continue;
            };
            let (before, after) = differing(before, after);
            for (at, ranges) in [(old, before), (new, after)] {
                if let Some(place) = marks.get_mut(at) {
                    *place = ranges;
                }
            }
        }
        at += (removed + added).max(1);
    }
    marks
}

/// Returns both texts as one, cut where words differ: [`Line::Removed`] is only in the earlier one, [`Line::Added`] only in the
/// later one.
#[must_use]
pub fn word_changes(before: &str, after: &str) -> Vec<(Line, String)> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_words(before, after);
    let mut parts: Vec<(Line, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        let line = match change.tag() {
            ChangeTag::Equal => Line::Context,
            ChangeTag::Insert => Line::Added,
            ChangeTag::Delete => Line::Removed,
        };
        match parts.last_mut().filter(|(last, _)| *last == line) {
            Some((_, text)) => text.push_str(change.value()),
            None => parts.push((line, change.value().to_owned())),
        }
    }
    parts
}

fn differing(before: &str, after: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    if before.len().max(after.len()) > LONGEST {
        return middles(before, after);
    }
    let (first, second) = (words(before), words(after));
    let diff = TextDiff::from_slices(&first, &second);
    let (mut a, mut b) = (0, 0);
    let (mut common, mut all) = (0, 0);
    for change in diff.iter_all_changes() {
        let (word, is_equal) = (change.value(), change.tag() == ChangeTag::Equal);
        if !word.trim_start().is_empty() {
            all += word.len();
            if is_equal {
                // It is in both lines.
                (common, all) = (common + 2 * word.len(), all + word.len());
            }
        }
        match change.tag() {
            ChangeTag::Equal => (a, b) = (a + word.len(), b + word.len()),
            ChangeTag::Delete => a = marked(&mut old, a, word.len()),
            ChangeTag::Insert => b = marked(&mut new, b, word.len()),
        }
    }
    match common * 100 < all * LIKE {
        true => (Vec::new(), Vec::new()),
        false => (old, new),
    }
}

/// Returns what lies between the common beginning and the common end of two long lines, in each; nothing if that is most of them.
fn middles(before: &str, after: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let letters = before.char_indices().zip(after.chars());
    let start = letters
        .take_while(|((_, one), other)| one == other)
        .last()
        .map_or(0, |((at, one), _)| at + one.len_utf8());
    let rest = |line: &str| line.len() - start;
    let ends = before.chars().rev().zip(after.chars().rev());
    let alike = ends.take_while(|(one, other)| one == other);
    // The end must not reach into the beginning.
    let most = rest(before).min(rest(after));
    let mut end = 0;
    for (letter, _) in alike {
        if end + letter.len_utf8() > most {
            break;
        }
        end += letter.len_utf8();
    }
    let all = before.len() + after.len();
    if 2 * (start + end) * 100 < all * LIKE {
        return (Vec::new(), Vec::new());
    }
    let middle = |line: &str| {
        let middle = start..line.len() - end;
        Some(middle)
            .filter(|middle| !middle.is_empty())
            .into_iter()
            .collect()
    };
    (middle(before), middle(after))
}

/// Cuts a line into words, blanks between them, and signs, each of which is one by itself.
fn words(line: &str) -> Vec<&str> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_other = |letter: char| match first {
            first if is_of_word(first) => !is_of_word(letter),
            first if first.is_whitespace() => !letter.is_whitespace(),
            _ => true,
        };
        let end = rest.char_indices().skip(1).find(|(_, letter)| is_other(*letter));
        let end = end.map_or(rest.len(), |(at, _)| at);
        let (word, later) = rest.split_at(end);
        words.push(word);
        rest = later;
    }
    words
}

/// Adds a range, or extends the last one if they touch. Returns its end.
fn marked(ranges: &mut Vec<Range<usize>>, from: usize, length: usize) -> usize {
    let end = from + length;
    match ranges.last_mut().filter(|last| last.end == from) {
        Some(last) => last.end = end,
        None => ranges.push(from..end),
    }
    end
}

#[cfg(test)]
mod tests {
    //! Marks of lines.

    use super::{LONGEST, word_marks};
    use crate::diff::Line;

    fn marked(lines: &[(Line, &str)]) -> Vec<Vec<String>> {
        let lines: Vec<(Line, String)> = lines
            .iter()
            .map(|(line, text)| (*line, (*text).to_owned()))
            .collect();
        let marks = word_marks(&lines);
        let texts = lines.iter().zip(marks);
        let words = texts.map(|((_, text), ranges)| {
            ranges
                .into_iter()
                .map(|range| text.get(range).unwrap().to_owned())
                .collect()
        });
        words.collect()
    }

    #[test]
    fn words_that_differ_are_marked_and_no_others() {
        use Line::{Added, Context, Removed};
        let found = marked(&[
            (Context, "same"),
            (Removed, "let port = 80; // old"),
            (Removed, "gone"),
            (Added, "let port = 8080; // old"),
            (Context, "same"),
            (Added, "let port = 1;"),
        ]);
        let empty = Vec::<String>::new;
        assert_eq!(
            found,
            [
                empty(),
                vec!["80".to_owned()],
                empty(),
                vec!["8080".to_owned()],
                empty(),
                empty()
            ]
        );
        // Nothing in common: another line, not the same one changed.
        assert_eq!(
            marked(&[(Removed, "abc def"), (Added, "xyz uvw qrs")]),
            [empty(), empty()]
        );
        let long = "a ".repeat(LONGEST);
        assert_eq!(
            marked(&[(Removed, &long), (Added, &format!("{long}b"))]),
            [empty(), vec!["b".to_owned()]]
        );
        // Of long lines what lies between their common ends, each letter of which counts once.
        let with = |middle: &str| format!("{long}{middle}{long}");
        assert_eq!(
            marked(&[(Removed, &with("xä")), (Added, &with("xüy"))]),
            [vec!["ä".to_owned()], vec!["üy".to_owned()]]
        );
        assert_eq!(
            marked(&[(Removed, &with("")), (Added, &with("a a "))]),
            [empty(), vec!["a a ".to_owned()]]
        );
        let other = "b ".repeat(LONGEST).replace(' ', "-");
        assert_eq!(marked(&[(Removed, &long), (Added, &other)]), [empty(), empty()]);
        // A name within a call, and signs by themselves.
        assert_eq!(
            marked(&[
                (Removed, "    then_3(known: &Map, a)?;"),
                (Added, "    now_3(known: &mut Map, a);")
            ]),
            [
                vec!["then_3".to_owned(), "?".to_owned()],
                vec!["now_3".to_owned(), "mut ".to_owned()]
            ]
        );
        // Blanks alone are nothing in common.
        assert_eq!(
            marked(&[(Removed, "a b c d e f"), (Added, "u v w x y z")]),
            [empty(), empty()]
        );
        // Letters of several bytes are not cut.
        assert_eq!(
            marked(&[(Removed, "größe ä ist ö"), (Added, "größe ü ist ö")]),
            [vec!["ä".to_owned()], vec!["ü".to_owned()]]
        );
        assert!(marked(&[]).is_empty());
    }
}
