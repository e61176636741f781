//! Words of a command that is shown to be copied: quoted so that a shell reads them back byte for byte, and clean.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use super::sanitize;

/// `word` as it is typed in a POSIX shell. What is not visible, and what is no UTF-8, stands as octal escapes in `$'…'`,
/// which POSIX has since 2024 (XCU 2.2.4) and bash, zsh and ksh for much longer.
#[must_use]
pub fn word(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    let text = std::str::from_utf8(bytes).ok();
    match text {
        Some(text) if !text.is_empty() && bytes.iter().all(|byte| is_plain(*byte)) => text.to_owned(),
        Some(text) if text.chars().all(is_safe) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => escaped(bytes),
    }
}

/// Means itself in every shell, wherever it is in a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,+@%=".contains(&byte)
}

/// A combining mark would be drawn onto the quote before it.
fn is_safe(c: char) -> bool {
    sanitize::is_visible(c) && !sanitize::is_combining(c)
}

fn escaped(bytes: &[u8]) -> String {
    let mut shown = String::from("$'");
    for byte in bytes {
        if matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\') {
            shown.push(char::from(*byte));
        } else {
            // Three digits always, so that what follows is not taken for a part of it. Writing into a string cannot fail.
            let _ = write!(shown, "\\{byte:03o}");
        }
    }
    shown.push('\'');
    shown
}
