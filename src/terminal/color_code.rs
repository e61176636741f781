//! The color codes that may stand in text.

/// Splits off one of the color codes that [`paint`](super::style::paint) and clap's help use at the start of `text`: returns the code and the rest.
/// Other codes (hidden text, moving the cursor, backgrounds) return `None`, and the stream makes them visible.
pub(super) fn split_code(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    let (numbers, after) = body.split_at(end);
    let after = after.strip_prefix('m')?;
    let known = |number: &str| matches!(number.parse(), Ok(0_u8..=4 | 30..=37 | 39 | 90..=97));
    if !numbers.split(';').all(known) {
        return None;
    }
    Some((text.get(..text.len() - after.len())?, after))
}
