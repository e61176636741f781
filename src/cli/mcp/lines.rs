//! Standard input of the server, line by line. The server's parser drops a line that it cannot read, and the client would wait for its
//! answer for ever. So each line is made one that is answered: an escape of half a character, such as `\ud800`, and bytes that are no
//! text become replacement characters, and an unreadable message becomes one that the server refuses.

use std::borrow::Cow;

use rmcp::transport::async_rw::DEFAULT_MAX_LINE_LENGTH;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

/// Bytes that are on their way at once.
const ROOM: usize = 64 << 10;
/// The escape of the replacement character.
const REPLACED: &[u8] = b"\\ufffd";
/// A message that is no request, which the server refuses without an id.
const NO_REQUEST: &[u8] = b"[]\n";
/// Method that stands for a request which cannot be read.
pub(super) const UNREADABLE: &str = "unreadable";

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
            if is_over || to.write_all(&answerable(&line)).await.is_err() {
                return;
            }
        }
    });
    from
}

/// Id of a message, whatever else is wrong with it. What is skipped may be nested deeply, and hold numbers of any size.
#[derive(Deserialize)]
struct Identified {
    id: Option<Value>,
    /// A request has one. A response has the id of a request of the server, which must not be answered.
    method: Option<IgnoredAny>,
}

/// Returns a line that the server answers if it answers any.
fn answerable(line: &[u8]) -> Vec<u8> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let line = whole(line.as_bytes());
    let is_read = line.len() <= DEFAULT_MAX_LINE_LENGTH
        && serde_json::from_slice::<Value>(&line).is_ok_and(|message| has_form(&message));
    if is_read || line.trim_ascii().is_empty() {
        return line.into_owned();
    }
    let id = serde_json::from_slice(&line)
        .ok()
        .and_then(|found: Identified| found.method.and(found.id));
    match id.filter(|id| id.is_number() || id.is_string()) {
        Some(id) => format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": UNREADABLE})).into_bytes(),
        None => NO_REQUEST.to_vec(),
    }
}

/// Returns false for a request whose method or parameters are of a type that the parser does not take.
fn has_form(message: &Value) -> bool {
    message.get("method").is_none_or(|method| {
        let takes = |params: &Value| params.is_object() || params.is_null();
        method.is_string() && message.get("params").is_none_or(takes)
    })
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
    use serde_json::Value;

    use super::{DEFAULT_MAX_LINE_LENGTH, NO_REQUEST, UNREADABLE, answerable, whole};

    #[test]
    fn an_unreadable_request_keeps_its_id() {
        let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
        let long = "x".repeat(DEFAULT_MAX_LINE_LENGTH);
        for (id, params) in [
            ("7", deep.clone()),
            ("\"seven\"", "1e999".to_owned()),
            ("7", format!("\"{long}\"")),
            ("7", "[]".to_owned()),
        ] {
            let line = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n"
            );
            let told: Value = serde_json::from_slice(&answerable(line.as_bytes())).unwrap();
            assert_eq!(told["id"].to_string(), id);
            assert_eq!(told["method"], UNREADABLE);
        }
        let told = answerable(b"{\"id\":8,\"method\":5}\n");
        assert!(String::from_utf8_lossy(&told).contains(UNREADABLE));
        for line in [
            "hello\n",
            "{\"id\":1,\n",
            "{\"id\":[1],\"method\":\"m\",\"a\":1e999}\n",
            // An answer of the client is no request.
            "{\"id\":1,\"result\":1e999}\n",
            "{\"id\":1,\"error\":{\"code\":1e999}}\n",
            &deep,
        ] {
            assert_eq!(answerable(line.as_bytes()), NO_REQUEST, "{line}");
        }
        assert_eq!(
            answerable(b"{\"id\":1,\"a\":\"\xff\"}\n"),
            "{\"id\":1,\"a\":\"\u{fffd}\"}\n".as_bytes()
        );
        for line in ["\n", " \r\n", "", "{\"id\":1}\r\n", "[1]"] {
            assert_eq!(answerable(line.as_bytes()), line.as_bytes());
        }
    }

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
