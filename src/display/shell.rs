//! Words of a command that is shown to be copied: quoted so that a shell reads them back byte for byte, and clean.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use handle_fs::remote::Address;

use super::sanitize;

/// `word` as it is typed in a POSIX shell. What is not visible, and what is no UTF-8, stands as octal escapes in `$'…'`,
/// which POSIX has since 2024 (XCU 2.2.4) and bash, zsh and ksh for much longer.
#[must_use]
pub fn word(word: impl AsRef<OsStr>) -> String {
    let bytes = word.as_ref().as_bytes();
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

/// Returns the command that makes a directory where it lies: on this machine, on another one or in a container; `None` for a volume, in
/// which nothing runs.
#[must_use]
pub fn make_directory(path: &Path) -> Option<String> {
    let Some((address, below)) = Address::split(path) else {
        return Some(format!("mkdir -p {}", word(path)));
    };
    let make = format!("mkdir -p {}", word(&below));
    match &address {
        Address::Ssh { host, user, port } => {
            let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
            let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
            // The shell there reads the words a second time.
            Some(format!(
                "ssh {port}{} {}",
                word(format!("{user}{host}")),
                word(&make)
            ))
        }
        Address::Docker { container } => Some(format!("docker exec {} {make}", word(container))),
        Address::Pod(spot) => {
            let context = spot.context.as_ref();
            let context = context.map(|context| format!("--context={} ", word(context)));
            let container = spot.container.as_ref().filter(|container| !container.is_empty());
            let container = container.map(|container| format!("-c {} ", word(container)));
            Some(format!(
                "kubectl {}--namespace={} exec {} {}-- {make}",
                context.unwrap_or_default(),
                word(&spot.namespace),
                word(&spot.name),
                container.unwrap_or_default()
            ))
        }
        Address::Volume { .. } | Address::Claim(_) => None,
    }
}
