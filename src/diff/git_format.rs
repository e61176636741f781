//! Parts of git's extended patch format: quoted names, modes, refused names, encoded binary content.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::model::{Entry, EntryKind, RelPath};

/// Returns git's mode for an entry: 100644, 100755 or 120000. `None` if git has no such object.
#[must_use]
pub fn git_mode(entry: &Entry) -> Option<&'static str> {
    match entry.kind {
        EntryKind::File(_) if entry.mode & 0o100 != 0 => Some("100755"),
        EntryKind::File(_) => Some("100644"),
        EntryKind::Symlink(_) => Some("120000"),
        EntryKind::Directory
        | EntryKind::Fifo
        | EntryKind::Socket
        | EntryKind::CharDevice(..)
        | EntryKind::BlockDevice(..) => None,
    }
}

/// Returns a name as git prints it with `core.quotePath`: as it is, or in double quotes with octal escapes.
#[must_use]
pub fn quoted_name(name: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut shown = String::from("\"");
    for byte in name {
        match byte {
            7 => shown.push_str("\\a"),
            8 => shown.push_str("\\b"),
            b'\t' => shown.push_str("\\t"),
            b'\n' => shown.push_str("\\n"),
            11 => shown.push_str("\\v"),
            12 => shown.push_str("\\f"),
            b'\r' => shown.push_str("\\r"),
            b'"' | b'\\' => shown.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => shown.push(char::from(*byte)),
            _ => shown.push_str(&format!("\\{byte:03o}")),
        }
    }
    shown.push('"');
    shown
}

/// Returns true if `git apply` refuses the path: it is in a `.git`, or in a name that some file system treats as one.
#[must_use]
pub fn is_refused_by_git(path: &RelPath, entry: Option<&Entry>) -> bool {
    let is_link = entry.is_some_and(|entry| matches!(entry.kind, EntryKind::Symlink(_)));
    path.parts().any(|part| {
        let part = part.to_ascii_lowercase();
        let is_like = |name: &[u8]| {
            let Some(rest) = part.strip_prefix(name) else {
                return false;
            };
            // NTFS drops blanks and dots at the end, and takes what follows a colon for a stream.
            let ended = rest.iter().find(|byte| !matches!(byte, b' ' | b'.'));
            matches!(ended, None | Some(b':' | b'\\'))
        };
        is_like(b".git")
            || is_like(b"git~1")
            || is_link
                && [
                    &b".gitmodules"[..],
                    b"gitmod~1",
                    b"gitmod~2",
                    b"gitmod~3",
                    b"gitmod~4",
                ]
                .into_iter()
                .any(is_like)
    })
}

/// Returns the lines of a `GIT binary patch`: the new content, and the old one for the way back.
#[must_use]
pub fn binary_patch(old: &[u8], new: &[u8]) -> Vec<String> {
    let mut lines = vec!["GIT binary patch".to_owned()];
    for content in [new, old] {
        lines.push(format!("literal {}", content.len()));
        let packed = deflated(content);
        lines.extend(packed.chunks(LINE).map(encoded));
        // Each part ends with an empty line.
        lines.push(String::new());
    }
    lines
}

/// Number of bytes on one line.
const LINE: usize = 52;

/// git's base 85.
const LETTERS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing into a vector cannot fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}

/// Encodes one line: a letter for the number of bytes, then five letters for each four bytes, padded with zeros.
fn encoded(bytes: &[u8]) -> String {
    let count = u8::try_from(bytes.len()).unwrap_or(0);
    let mut line = String::new();
    line.push(char::from(match count {
        0..=26 => b'A' + count.saturating_sub(1),
        _ => b'a' + count.saturating_sub(27),
    }));
    for group in bytes.chunks(4) {
        let padded = group.iter().chain(&[0; 4]).take(4);
        let mut number = padded.fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        let mut letters = [0_u8; 5];
        for letter in letters.iter_mut().rev() {
            let digit = usize::try_from(number % 85).unwrap_or(0);
            *letter = LETTERS.get(digit).copied().unwrap_or(b'0');
            number /= 85;
        }
        line.extend(letters.map(char::from));
    }
    line
}

#[cfg(test)]
mod tests {
    //! Names and encodings, as git writes them.

    use super::{encoded, is_refused_by_git, quoted_name};
    use crate::model::RelPath;

    #[test]
    fn names_are_quoted_as_git_quotes_them() {
        for (name, expected) in [
            (&b"a b"[..], "a b"),
            (b" a ", " a "),
            (b"caf\xc3\xa9", "\"caf\\303\\251\""),
            (b"say \"x\"", "\"say \\\"x\\\"\""),
            (b"a\\b", "\"a\\\\b\""),
            (b"a\nb\tc\x1b\x7f\xff", "\"a\\nb\\tc\\033\\177\\377\""),
            (b"\x07\x08\x0b\x0c\r", "\"\\a\\b\\v\\f\\r\""),
        ] {
            assert_eq!(quoted_name(name), expected);
        }
    }

    #[test]
    fn lines_are_encoded_as_git_encodes_them() {
        // What `git diff --binary` prints for an empty deflated stream.
        assert_eq!(
            encoded(&[0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]),
            "HcmV?d00001"
        );
        assert_eq!(encoded(&[0]), "A00000");
        assert!(encoded(&[0xff; 52]).starts_with("z|NsC0"));
        assert!(encoded(&[0xff; 26]).starts_with('Z'));
        assert!(encoded(&[0xff; 27]).starts_with('a'));
    }

    #[test]
    fn what_git_takes_for_its_own_is_refused() {
        for (path, refused) in [
            (".git/config", true),
            ("sub/.GIT/hooks/x", true),
            ("git~1/x", true),
            (".git. ./x", true),
            (".git:stream", true),
            (".gitignore", false),
            (".github/x", false),
            ("x.git/config", false),
            ("git~10", false),
        ] {
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(is_refused_by_git(&path, None), refused, "{path:?}");
        }
    }
}
