//! Replaces the grammars in a build without them: no language is known.

use std::sync::atomic::AtomicBool;

use super::Tokens;

/// No grammar.
pub(super) struct Grammars;

impl Grammars {
    pub(super) const ARE_BUILT: bool = false;

    pub(super) fn load() -> Self {
        Self
    }

    pub(super) fn tokens(&self, _name: &str, _lines: &[String], _stop: &AtomicBool) -> Vec<Tokens> {
        Vec::new()
    }
}
