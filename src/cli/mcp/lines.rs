//! Standard input of the server, line by line. An escape of half a character, such as `\ud800`, is no text: the parser would drop the
//! line, and the client would wait for its answer for ever. A replacement character stands in its place.

use std::borrow::Cow;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

/// Bytes that are on their way at once.
const ROOM: usize = 64 << 10;
/// The escape of the replacement character.
const REPLACED: &[u8] = b"\\ufffd";

/// Returns standard input as the server reads it.
pub(super) fn input() -> DuplexStream {
    let (mut to, from) = duplex(ROOM);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            // An error is the end as well: nothing comes any more.
            let is_over = !matches!(lines.read_until(b'\n', &mut line).await, Ok(1..));
            if is_over || to.write_all(&whole(&line)).await.is_err() {
                return;
            }
        }
    });
    from
}

/// Returns a line of JSON without escapes of half a character.
fn whole(line: &[u8]) -> Cow<'_, [u8]> {
    let mut fixed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, is_half) = match (rest, unit(rest)) {
            (_, Some(0xd800..=0xdbff)) => match rest.get(6..).and_then(unit) {
                Some(0xdc00..=0xdfff) => (12, false),
                _ => (6, true),
            },
            (_, Some(0xdc00..=0xdfff)) => (6, true),
            ([b'\\', _, ..], _) => (2, false),
            _ => (1, false),
        };
        let part = rest.get(..length).unwrap_or(rest);
        if is_half && fixed.is_none() {
            fixed = line.get(..at).map(<[u8]>::to_vec);
        }
        if let Some(fixed) = &mut fixed {
            fixed.extend_from_slice(if is_half { REPLACED } else { part });
        }
        at += length;
    }
    fixed.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Returns the UTF-16 unit of an escape `\uXXXX` at the beginning.
fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| !digits.starts_with('+'))?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn only_halves_of_characters_are_replaced() {
        for (line, wanted) in [
            (
                r#"{"a":"\ud83d\ude00 \\ud800 \u00e9 \n"}"#,
                r#"{"a":"\ud83d\ude00 \\ud800 \u00e9 \n"}"#,
            ),
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\udc00\ud800""#, r#""\ufffd\ufffd""#),
            (r#""\ud800\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
            (r#""\uD8"#, r#""\uD8"#),
            (r#""\\\ud800""#, r#""\\\ufffd""#),
            ("\\", "\\"),
        ] {
            assert_eq!(whole(line.as_bytes()), wanted.as_bytes(), "{line}");
        }
    }
}
