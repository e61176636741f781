//! Selected row and first visible row of a list.

/// A place in a list, or the first line of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scroll {
    /// The row that is chosen.
    pub(super) at: usize,
    /// The row that is shown first.
    pub(super) top: usize,
}

impl Scroll {
    /// Chooses another row of `length`.
    pub(super) fn step(&mut self, by: isize, length: usize) {
        self.at = self.at.saturating_add_signed(by).min(length.saturating_sub(1));
    }

    /// Shows the row that is chosen, in so many lines.
    pub(super) fn keep(&mut self, length: usize, height: usize) {
        self.at = self.at.min(length.saturating_sub(1));
        self.top = self.top.min(self.at).max((self.at + 1).saturating_sub(height));
        self.top = self.top.min(length.saturating_sub(height));
    }

    /// Moves the text itself.
    pub(super) fn slide(&mut self, by: isize, length: usize, height: usize) {
        self.top = self
            .top
            .saturating_add_signed(by)
            .min(length.saturating_sub(height));
        self.at = self.top;
    }
}
