//! Takes an input apart: numbers and pieces from its front. Every input is one; what lacks is zero or empty.

/// What is left of an input.
pub(crate) struct Feed<'a>(pub(crate) &'a [u8]);

impl<'a> Feed<'a> {
    /// The next bytes, at most so many.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at_checked(count).unwrap_or((self.0, &[]));
        self.0 = tail;
        head
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// The next bytes as a number, little endian.
    pub(crate) fn number<const N: usize>(&mut self) -> u64 {
        let digits = self.take(N).iter().rev();
        digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// A piece behind its length in two bytes.
    pub(crate) fn piece(&mut self) -> &'a [u8] {
        let length = self.number::<2>();
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Puts a piece so that [`Feed::piece`] gives it back.
pub fn piece(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a piece of a seed is short");
    [&length.to_le_bytes(), bytes].concat()
}
