//! The last check of all text that leaves: only printable characters and the program's own colors pass.

use super::color_code::split_code;
use crate::display::sanitize::{escape, is_visible};

/// Keeps visible characters, newlines (with their carriage returns), tabs and, if `color`, the colors of [`style`](super::style).
/// Everything else is escaped.
pub(crate) fn printable(text: &str, color: bool) -> String {
    let mut passed = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        // Nearly all of what leaves: nothing in it can begin one of the colors, or be invisible.
        let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
        let plain = rest.bytes().take_while(|byte| is_plain(*byte)).count();
        let (run, after) = rest.split_at(plain);
        passed.push_str(run);
        rest = after;
        let Some(c) = rest.chars().next() else { break };
        if let Some((code, after)) = split_code(rest) {
            if color {
                passed.push_str(code);
            }
            rest = after;
            continue;
        }
        // At the end of a line it moves the cursor to where the newline moves it anyway: lines of files keep theirs.
        let ends_line = c == '\r' && (rest.len() == 1 || rest.starts_with("\r\n"));
        if matches!(c, '\n' | '\t') || ends_line || is_visible(c) {
            passed.push(c);
        } else {
            escape(&mut passed, c);
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    passed
}
