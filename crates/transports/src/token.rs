//! Random words that nothing else says.

use handle_fs::{Entropy, letters, random};

/// Returns random letters and digits.
pub(crate) fn unguessable(entropy: &dyn Entropy) -> String {
    [letters(random(entropy)), letters(random(entropy))].concat()
}
