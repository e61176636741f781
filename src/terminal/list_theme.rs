//! Prompt line of a list, fitted to the terminal. The library takes a prompt for one line: one that wraps is left behind on the
//! screen at each key.

use std::fmt;

use dialoguer::console::Term;
use dialoguer::theme::Theme;

use super::width;

/// Columns of ` [Page 10/12] `, which the library writes behind the prompt of a list with pages.
const PAGES: usize = 14;
/// Keys of a list without a filter, longest first.
const KEYS: [&str; 3] = [" (arrow keys and Enter, Esc to cancel)", " (Esc to cancel)", ""];
/// Keys of a list with a filter, longest first.
const FILTER_KEYS: [&str; 3] = [
    " (type to filter, arrow keys and Enter, Esc to cancel)",
    " (type to filter, Esc to cancel)",
    "",
];

/// Look of a list whose prompt is the name of the list; it adds the keys that fit.
pub(super) struct ListTheme;

impl Theme for ListTheme {
    fn format_prompt(&self, f: &mut dyn fmt::Write, prompt: &str) -> fmt::Result {
        f.write_str(&prompt_line(prompt, columns().saturating_sub(PAGES)))
    }

    fn format_fuzzy_select_prompt(
        &self,
        f: &mut dyn fmt::Write,
        prompt: &str,
        search_term: &str,
        bytes_pos: usize,
    ) -> fmt::Result {
        let (before, after) = search_term
            .split_at_checked(bytes_pos)
            .unwrap_or((search_term, ""));
        f.write_str(&filter_line(prompt, before, after, columns()))
    }
}

/// Returns the columns of a line that does not reach the edge, where some terminals wrap.
fn columns() -> usize {
    usize::from(Term::stderr().size().1).saturating_sub(1)
}

/// Returns the name of the list with the keys that fit.
fn prompt_line(name: &str, columns: usize) -> String {
    let with = |keys: &&str| format!("{name}{keys}:");
    let fits = |line: &String| width::of(line) <= columns;
    KEYS.iter()
        .map(with)
        .find(fits)
        .unwrap_or_else(|| width::cut(name, columns))
}

/// Returns the name of the list with the keys that fit beside the filter. A filter that does not fit keeps what stands before the
/// cursor.
fn filter_line(name: &str, before: &str, after: &str, columns: usize) -> String {
    let with = |keys: &&str| format!("{name}{keys} {before}|{after}");
    let fits = |line: &String| width::of(line) <= columns;
    if let Some(line) = FILTER_KEYS.iter().map(with).find(fits) {
        return line;
    }
    let name = width::cut(name, columns / 2);
    let room = columns.saturating_sub(width::of(&name) + 2);
    let before = width::end(before, room);
    let after = width::start(after, room - width::of(&before).min(room));
    format!("{name} {before}|{after}")
}

#[cfg(test)]
mod tests {
    use super::{filter_line, prompt_line, width};

    #[test]
    fn no_prompt_is_wider_than_the_terminal() {
        let typed =
            "a pasted line of many words, ö and 日本語日本語日本語, that goes on and on and on and on";
        for columns in 12..120 {
            assert!(width::of(&prompt_line("Agent", columns)) <= columns);
            for at in [0, 3, typed.len()] {
                let (before, after) = typed.split_at(at);
                let line = filter_line("Restore the files from before", before, after, columns);
                assert!(width::of(&line) <= columns, "{columns} {line}");
                assert!(line.contains('|'), "{columns} {line}");
            }
        }
        assert_eq!(
            filter_line("Session", "", "", 79),
            "Session (type to filter, arrow keys and Enter, Esc to cancel) |"
        );
        assert_eq!(
            filter_line("Session", "shop", "", 49),
            "Session (type to filter, Esc to cancel) shop|"
        );
        assert_eq!(filter_line("Session", "abcdefghijkl", "", 16), "Session …ghijkl|");
    }
}
