//! Makes text of hostile bytes. Names and contents from a mount may hold anything; what a person reads must neither
//! steer the terminal nor look like something else.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A name or a path as people read it. Plain ones stay as they are; any other stands in double quotes, with escapes, so
/// that different bytes never give the same text. Within the quotes `\"`, `\\`, `\n`, `\r` and `\t` mean what they mean in
/// most languages, `\xNN` is a byte (an ASCII control, or part of no valid UTF-8), and `\u{…}` is a code point.
#[must_use]
pub fn name(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && is_plain(text)
    {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(bytes.len() + 8);
    shown.push('"');
    for chunk in bytes.utf8_chunks() {
        let mut before = None;
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => shown.extend(['\\', c]),
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                // Many blanks would begin what looks like another line.
                ' ' if shown.ends_with("  ") || shown.ends_with("\\x20") => escape(&mut shown, c),
                c if may_follow(before, c) => shown.push(c),
                c => escape(&mut shown, c),
            }
            before = Some(c);
        }
        escape_bytes(&mut shown, chunk.invalid());
    }
    shown.push('"');
    shown
}

/// [`name`] of a host path.
#[must_use]
pub fn path(path: &Path) -> String {
    name(path.as_os_str().as_bytes())
}

/// [`name`] of an argument or a variable.
#[must_use]
pub fn os(text: &OsStr) -> String {
    name(text.as_bytes())
}

/// A line of file content: tabs stay, everything else that is not visible is escaped as in [`name`], without quotes. Good
/// for reading; a backslash is ambiguous here.
#[must_use]
pub fn line(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => shown.push(c),
                '\r' => shown.push_str("\\r"),
                '\n' => shown.push_str("\\n"),
                c if is_visible(c) => shown.push(c),
                c => escape(&mut shown, c),
            }
        }
        escape_bytes(&mut shown, chunk.invalid());
    }
    shown
}

/// A message of several lines: newlines and tabs stay, everything else that is not visible is escaped.
#[must_use]
pub fn text(text: &str) -> String {
    text.split('\n')
        .map(|part| line(part.as_bytes()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns true if `c` shows up as itself: no control, format, bidi, zero-width, private or unassigned code point, and no blank
/// but the space. Combining marks count as visible; on their own they are not (see [`name`]).
#[must_use]
pub fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        _ => !is_blank(c) && is_printable(c),
    }
}

/// Returns true if `c` is drawn onto the character before it.
#[must_use]
pub fn is_combining(c: char) -> bool {
    // The standard library escapes such a character on its own, but not behind another (documented at
    // `str::escape_debug`), and everything unprintable in both places.
    !c.is_ascii() && c.escape_debug().nth(1).is_some() && is_printable(c)
}

/// Returns true if a name needs no quotes. A blank at either end would be invisible, and a leading quote would look like an added
/// one.
fn is_plain(text: &str) -> bool {
    let mut before = None;
    !text.is_empty()
        && !text.starts_with(['"', ' '])
        && !text.ends_with(' ')
        && !text.contains("   ")
        && text.chars().all(|c| may_follow(before.replace(c), c))
}

/// A combining mark needs something visible to stand on, else it would change what is printed before the name.
fn may_follow(before: Option<char>, c: char) -> bool {
    is_visible(c)
        && (!is_combining(c) || before.is_some_and(|b| is_visible(b) && !matches!(b, '/' | ' ' | '"' | '\\')))
}

/// Letters, marks and symbols that are drawn as nothing: Unicode calls most of them default ignorable.
fn is_blank(c: char) -> bool {
    matches!(c,
        '\u{34f}'                                   // combining grapheme joiner
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // hangul fillers
        | '\u{17b4}' | '\u{17b5}'                   // khmer inherent vowels
        | '\u{180b}'..='\u{180f}'                   // mongolian variation selectors
        | '\u{2800}'                                // blank braille pattern
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' // variation selectors
    )
}

/// The standard library's own table: not Cc, Cf, Cs, Co, Cn, Zl, Zp, Zs.
fn is_printable(c: char) -> bool {
    String::from_iter(['x', c]).escape_debug().nth(2).is_none()
}

/// Appends a code point as an escape.
pub(crate) fn escape(shown: &mut String, c: char) {
    // Writing into a string cannot fail.
    let _ = match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => write!(shown, "\\x{byte:02x}"),
        _ => write!(shown, "\\u{{{:x}}}", u32::from(c)),
    };
}

fn escape_bytes(shown: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(shown, "\\x{byte:02x}");
    }
}
