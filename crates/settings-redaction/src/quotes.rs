//! Quotes that the words of a line open and close, as shells, JSON and prose use them.

/// Part of a line that goes on in the next word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// A quote, behind so many backslashes.
    Quote(char, usize),
    /// A word that ends with a backslash.
    Blank,
}

/// Returns the part that is open behind `word`, if `open` was before it.
///
/// A quote opens at the beginning of a word, behind punctuation such as `=`, or where text follows it. The one at the end of `hunter2"`
/// closes what an earlier word opened.
pub(super) fn behind(word: &str, open: Option<Open>) -> Option<Open> {
    let mut open = open.filter(|open| *open != Open::Blank);
    let (mut escapes, mut before) = (0, None);
    let mut letters = word.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            escapes += 1;
            continue;
        }
        if is_quote(letter) {
            open = match open {
                Some(Open::Quote(quote, escaped)) if quote == letter => {
                    // Nothing escapes the end of a single quote of a shell.
                    let closes = escapes == escaped || letter == '\'' && escaped == 0;
                    (!closes).then_some(Open::Quote(quote, escaped))
                }
                None if opens(before, letters.peek().copied()) => Some(Open::Quote(letter, escapes)),
                other => other,
            };
        }
        (escapes, before) = (0, Some(letter));
    }
    open.or((escapes % 2 == 1).then_some(Open::Blank))
}

fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '`')
}

fn opens(before: Option<char>, after: Option<char>) -> bool {
    let is_begin = |letter: char| is_quote(letter) || "=:([{,<$".contains(letter);
    let is_end = |letter: char| is_quote(letter) || ";:,.!?)]}>&|\\".contains(letter);
    before.is_none_or(is_begin) || after.is_some_and(|letter| !is_end(letter))
}

#[cfg(test)]
mod tests {
    use super::{Open, behind};

    #[test]
    fn a_quote_is_open_until_the_one_like_it() {
        let quote = |letter, escapes| Some(Open::Quote(letter, escapes));
        for (word, before, after) in [
            ("PW=\"a", None, quote('"', 0)),
            ("PW=\"a\"", None, None),
            ("-p'a", None, quote('\'', 0)),
            ("hunter2\"", None, None),
            ("hunter2\";", None, None),
            ("\"", None, quote('"', 0)),
            ("{\"password\":\"a", None, quote('"', 0)),
            ("\\\"a", None, quote('"', 1)),
            ("a\\\"b", quote('"', 0), quote('"', 0)),
            ("a\\'", quote('\'', 0), None),
            ("a\"", quote('"', 1), quote('"', 1)),
            ("b\"'c", quote('"', 0), quote('\'', 0)),
            ("it's", quote('"', 0), quote('"', 0)),
            ("a\\", None, Some(Open::Blank)),
            ("b", Some(Open::Blank), None),
        ] {
            assert_eq!(behind(word, before), after, "{word}");
        }
    }
}
