//! Output that the operator does not see: stdout is a file or the null device, and a question about it stands on stderr.

/// Bytes that are kept at most; what is longer can be read where stdout goes.
const KEPT: usize = 1 << 20;

/// The output since the last question.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    texts: Vec<String>,
    bytes: usize,
    is_cut: bool,
}

impl Unseen {
    pub(super) fn add(&mut self, text: &str) {
        if self.is_cut || self.bytes + text.len() > KEPT {
            self.is_cut = true;
            return;
        }
        self.bytes += text.len();
        self.texts.push(text.to_owned());
    }

    /// Returns the output, and forgets it; true if that is not all of it.
    pub(super) fn take(&mut self) -> (Vec<String>, bool) {
        let taken = std::mem::take(self);
        (taken.texts, taken.is_cut)
    }
}
