//! The primitive encodings of manifest chunks: LEB128 numbers, length-prefixed bytes, a bounded reader.

use super::Time;

/// Reason that stored bytes cannot be read. It always means damage or hostile input: jackin writes no such bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ends inside a value.
    #[error("it ends too early")]
    Short,
    /// A number does not fit its field.
    #[error("a number is too large for its field")]
    Number,
    /// A tag that this version does not know.
    #[error("unknown {what} {value}")]
    Tag {
        /// Kind of the tag.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A path or name that no snapshot may hold.
    #[error("a stored name is not allowed: {0}")]
    Path(#[from] super::PathError),
    /// Order, uniqueness or structure is wrong.
    #[error("{0}")]
    Structure(&'static str),
    /// A newer version wrote it.
    #[error("format version {0} is newer than this program reads")]
    Newer(u64),
}

/// Appends an unsigned LEB128 number.
pub(super) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 0x80")]
    out.push(value as u8);
}

/// Appends a signed number (zigzag, then LEB128).
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_number(out, zigzag(value));
}

#[expect(clippy::cast_sign_loss, reason = "zigzag keeps every bit")]
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Appends the length and the bytes.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends seconds (signed) and nanoseconds (four bytes, little endian).
pub(super) fn put_time(out: &mut Vec<u8>, time: Time) {
    put_signed(out, time.sec);
    out.extend_from_slice(&time.nsec.to_le_bytes());
}

/// Reads what the `put_…` functions wrote, never past the end.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(DecodeError::Short)?;
        self.rest = tail;
        Ok(head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (byte, tail) = self.rest.split_first().ok_or(DecodeError::Short)?;
        self.rest = tail;
        Ok(*byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(DecodeError::Number);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::Number)
    }

    pub(super) fn small(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?).map_err(|_| DecodeError::Number)
    }

    pub(super) fn signed(&mut self) -> Result<i64, DecodeError> {
        let value = self.number()?;
        let magnitude = i64::try_from(value >> 1).map_err(|_| DecodeError::Number)?;
        Ok(if value & 1 == 1 { !magnitude } else { magnitude })
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.number()?).map_err(|_| DecodeError::Number)?;
        self.take(length)
    }

    /// A count of things that take at least `size` bytes each, so a hostile count cannot make us reserve memory for more than
    /// there is.
    pub(super) fn count_of(&mut self, size: usize) -> Result<usize, DecodeError> {
        let count = usize::try_from(self.number()?).map_err(|_| DecodeError::Number)?;
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.rest.len() => Ok(count),
            _ => Err(DecodeError::Short),
        }
    }

    /// A count of things that take at least one byte each.
    pub(super) fn count(&mut self) -> Result<usize, DecodeError> {
        self.count_of(1)
    }

    pub(super) fn time(&mut self) -> Result<Time, DecodeError> {
        let sec = self.signed()?;
        let nsec = u32::from_le_bytes(self.array()?);
        if nsec >= 1_000_000_000 {
            return Err(DecodeError::Number);
        }
        Ok(Time { sec, nsec })
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.take(N)?.try_into().map_err(|_| DecodeError::Short)
    }
}

#[cfg(test)]
mod tests {
    use super::{DecodeError, Reader, put_number};

    #[test]
    fn a_count_fits_into_what_is_left() {
        let left = |count, size, bytes: usize| {
            let mut input = Vec::new();
            put_number(&mut input, count);
            input.resize(input.len() + bytes, 0);
            Reader::new(&input).count_of(size)
        };
        assert_eq!(left(3, 32, 96), Ok(3));
        // One digest for each byte would reserve 32 times the input.
        assert_eq!(left(96, 32, 96), Err(DecodeError::Short));
        assert_eq!(left(3, 32, 95), Err(DecodeError::Short));
        assert_eq!(left(u64::MAX, 32, 96), Err(DecodeError::Short));
        assert_eq!(left(0, 32, 0), Ok(0));
        assert_eq!(left(96, 1, 96), Ok(96));
    }
}
