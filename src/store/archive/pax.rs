//! PAX records: `"<length> <keyword>=<value>\n"`, where the length counts the whole record (POSIX.1, pax, "pax
//! Extended Header"). Values may hold newlines and NUL; only the length says where a record ends.

use std::collections::BTreeSet;

use super::digits;
use crate::model::Time;

/// Prefix of the keyword of an extended attribute, as star, GNU tar and libarchive write it.
pub(super) const XATTR: &[u8] = b"SCHILY.xattr.";

/// The most that one member's records may take in bytes: far above what a kernel holds for one file, far below what a
/// frame may hold.
pub(super) const MAX_RECORDS: u64 = 64 << 20;

/// Appends a record.
pub(super) fn put(out: &mut Vec<u8>, keyword: &[u8], value: &[u8]) {
    // Blank, equals sign, newline; then the length's own digits, of which there may be one more than without them.
    let rest = (keyword.len() + value.len() + 3) as u64;
    let mut length = rest;
    while length != rest + digits(length) {
        length = rest + digits(length);
    }
    out.extend_from_slice(length.to_string().as_bytes());
    out.push(b' ');
    out.extend_from_slice(keyword);
    out.push(b'=');
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Appends an extended attribute. A keyword ends at the first `=`, so GNU tar writes `=` in an attribute's name as
/// `%3D` and `%` as `%25`; so do we.
pub(super) fn put_xattr(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let mut keyword = XATTR.to_vec();
    for byte in name {
        match byte {
            b'=' => keyword.extend_from_slice(b"%3D"),
            b'%' => keyword.extend_from_slice(b"%25"),
            _ => keyword.push(*byte),
        }
    }
    put(out, &keyword, value);
}

/// The attribute's name behind [`XATTR`] in a keyword.
pub(super) fn xattr_name(encoded: &[u8]) -> Vec<u8> {
    let mut name = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((byte, tail)) = rest.split_first() {
        (rest, _) = match (rest.strip_prefix(b"%3D"), rest.strip_prefix(b"%25")) {
            (Some(tail), _) => (tail, name.push(b'=')),
            (_, Some(tail)) => (tail, name.push(b'%')),
            _ => (tail, name.push(*byte)),
        };
    }
    name
}

/// A keyword and its value.
pub(super) type Record<'a> = (&'a [u8], &'a [u8]);

/// Every record, in order; a keyword twice is refused, for readers differ in which one they take.
pub(super) fn records(bytes: &[u8]) -> Result<Vec<Record<'_>>, &'static str> {
    const BAD: &str = "an extended header record is malformed";
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let blank = rest.iter().take(21).position(|byte| *byte == b' ').ok_or(BAD)?;
        let length = rest
            .get(..blank)
            .and_then(number)
            .and_then(|length| usize::try_from(length).ok());
        let (record, tail) = length
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(BAD)?;
        let body = record
            .get(blank + 1..)
            .and_then(|body| body.strip_suffix(b"\n"))
            .ok_or(BAD)?;
        let equals = body.iter().position(|byte| *byte == b'=').ok_or(BAD)?;
        let (keyword, value) = body.split_at_checked(equals).ok_or(BAD)?;
        if !seen.insert(keyword) {
            return Err("its extended header says something twice");
        }
        found.push((keyword, value.strip_prefix(b"=").ok_or(BAD)?));
        rest = tail;
    }
    Ok(found)
}

/// A decimal number without sign.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Decimal seconds with nine digits; the sign stands for the whole number.
pub(super) fn time_text(time: Time) -> String {
    let nanos = time.nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Reads decimal seconds with at most nine digits behind the point.
pub(super) fn time(text: &[u8]) -> Option<Time> {
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let seconds = i128::from(number(parts.next()?)?);
    let nanos = match parts.next() {
        None => 0,
        Some(fraction) => {
            let scale = u32::try_from(fraction.len())
                .ok()
                .and_then(|length| 9_u32.checked_sub(length))?;
            i128::from(number(fraction)?) * 10_i128.pow(scale)
        }
    };
    let total = seconds * 1_000_000_000 + nanos;
    let time = Time::from_nanos(if negative { -total } else { total });
    // Out of range saturates; then the text was not a time that a file can have.
    (time.nanos().abs() == total).then_some(time)
}
