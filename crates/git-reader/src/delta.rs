//! Deltas: an object as parts of another one and new bytes.

use super::reading::Cursor;

/// Builds the object, of at most `most` bytes. The error is the reason, in words.
pub(super) fn apply(base: &[u8], delta: &[u8], most: u64) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "a delta ends too early";
    let mut rest = Cursor(delta);
    let from = rest.size(0, 0, true).ok_or(CUT)?;
    let size = rest.size(0, 0, true).ok_or(CUT)?;
    if from != base.len() as u64 {
        return Err("a delta is for another object");
    }
    if size > most {
        return Err("a delta claims to make more than is read of an object");
    }
    let size = usize::try_from(size).map_err(|_| CUT)?;
    // Not all at once: a delta of ten bytes may claim anything.
    let mut built = Vec::with_capacity(size.min(1 << 20));
    while let Some(order) = rest.byte() {
        let part = if order & 0x80 != 0 {
            let (at, length) = copy(order, &mut rest).ok_or(CUT)?;
            (base.get(at..).and_then(|from| from.get(..length))).ok_or("a delta copies missing bytes")?
        } else if order > 0 {
            rest.take(usize::from(order)).ok_or(CUT)?
        } else {
            return Err("a delta has an unknown instruction");
        };
        if part.len() > size - built.len() {
            return Err("a delta makes more than it claims");
        }
        built.extend_from_slice(part);
    }
    if built.len() == size {
        Ok(built)
    } else {
        Err("a delta makes less than it claims")
    }
}

/// Reads offset and length of a copy. The bits of the order mark which bytes follow.
fn copy(order: u8, rest: &mut Cursor) -> Option<(usize, usize)> {
    let mut number = |bits: std::ops::Range<u8>| {
        let mut value = 0_usize;
        for (place, bit) in bits.enumerate() {
            if order & 1 << bit != 0 {
                value |= usize::from(rest.byte()?) << (8 * place);
            }
        }
        Some(value)
    };
    let at = number(0..4)?;
    let length = number(4..7)?;
    Some((at, if length == 0 { 0x1_0000 } else { length }))
}
