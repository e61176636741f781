//! Paths as words of a command line that can be copied into a shell.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Returns `path` as one word for bash, zsh and ksh: unquoted if that is safe, otherwise in quotes, with escapes for bytes that a
/// terminal would not show. A leading dash cannot be taken for a flag.
pub(super) fn word(path: &Path) -> String {
    let bytes = path.as_os_str().as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%=".contains(byte);
    let text = std::str::from_utf8(bytes).ok();
    match text {
        Some(text) if !text.is_empty() && bytes.iter().all(plain) && !text.starts_with('-') => {
            text.to_owned()
        }
        Some(text) if text.chars().all(|c| !c.is_control() && c.is_ascii()) && !text.starts_with('-') => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => {
            let mut quoted = String::from("$'");
            if bytes.starts_with(b"-") {
                quoted.push_str("./");
            }
            for byte in bytes {
                match byte {
                    b'\'' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => quoted.push(char::from(*byte)),
                    // Three digits always: what follows is not taken for a part of it.
                    _ => quoted.push_str(&format!("\\{byte:03o}")),
                }
            }
            quoted.push('\'');
            quoted
        }
    }
}
