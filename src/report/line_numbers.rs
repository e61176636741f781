//! Numbers of the lines of a patch, counted from the heads of its hunks.

use super::Line;

/// Numbers of a line, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineNumbers {
    /// In the earlier text; `None` if the line is not in it.
    pub(crate) then: Option<usize>,
    /// In the later text.
    pub(crate) now: Option<usize>,
}

/// Returns the numbers of each line of a patch.
pub(crate) fn line_numbers<'a>(lines: impl Iterator<Item = (Line, &'a [u8])>) -> Vec<LineNumbers> {
    let (mut then, mut now) = (0, 0);
    let next = |number: &mut usize| {
        *number += 1;
        Some(*number)
    };
    let numbered = lines.map(|(line, text)| {
        let (of_then, of_now) = match line {
            Line::Hunk => {
                (then, now) = before_hunk(&String::from_utf8_lossy(text));
                (None, None)
            }
            Line::Context => (next(&mut then), next(&mut now)),
            Line::Removed => (next(&mut then), None),
            Line::Added => (None, next(&mut now)),
            Line::NoNewline => (None, None),
        };
        LineNumbers {
            then: of_then,
            now: of_now,
        }
    });
    numbered.collect()
}

/// Returns the numbers of the lines right before a hunk, from its head.
fn before_hunk(head: &str) -> (usize, usize) {
    let before = |sign: char| {
        let span = head.split(' ').find_map(|part| part.strip_prefix(sign))?;
        let (start, count) = span.split_once(',').unwrap_or((span, "1"));
        let start: usize = start.parse().ok()?;
        // The head of an empty side names the line before it.
        Some(if count == "0" {
            start
        } else {
            start.saturating_sub(1)
        })
    };
    (before('-').unwrap_or(0), before('+').unwrap_or(0))
}

#[cfg(test)]
mod tests {
    //! Numbers of hunks, and of the lines in them.

    use super::{LineNumbers, line_numbers};
    use crate::report::Line::{self, Added, Context, Hunk, NoNewline, Removed};

    #[test]
    fn lines_are_counted_from_the_head_of_their_hunk() {
        let lines: [(Line, &[u8]); 9] = [
            (Hunk, b"@@ -3,2 +3,3 @@"),
            (Context, b""),
            (Removed, b""),
            (NoNewline, b""),
            (Added, b""),
            (Added, b""),
            (Hunk, b"@@ -9,0 +11 @@"),
            (Added, b""),
            (Hunk, b"@@ odd"),
        ];
        let found: Vec<_> = line_numbers(lines.into_iter())
            .into_iter()
            .map(|LineNumbers { then, now }| (then, now))
            .collect();
        let expected = [
            (None, None),
            (Some(3), Some(3)),
            (Some(4), None),
            (None, None),
            (None, Some(4)),
            (None, Some(5)),
            (None, None),
            (None, Some(11)),
            (None, None),
        ];
        assert_eq!(found, expected);
    }
}
