//! JSON as it leaves the program. Parsers read it as any JSON; a terminal that it is shown on cannot be steered by it,
//! because whatever a person would not see stands as `\uXXXX`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::sanitize;

/// `document` on one line, with a newline behind it.
///
/// # Errors
/// When a value refuses to be encoded.
pub(super) fn encode(document: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    document.serialize(&mut Serializer::with_formatter(
        &mut bytes,
        Visible(CompactFormatter),
    ))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// serde_json escapes only what RFC 8259 demands: U+0000 to U+001F. DEL, C1, bidi and zero-width characters are as bad.
struct Visible(CompactFormatter);

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut start = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| !sanitize::is_visible(*c)) {
            self.0
                .write_string_fragment(writer, fragment.get(start..at).unwrap_or_default())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            start = at + c.len_utf8();
        }
        self.0
            .write_string_fragment(writer, fragment.get(start..).unwrap_or_default())
    }
}
