//! Diff: two states of a mount become a list of changes. Restore plans from the same list, so what is shown is what
//! is done.

mod compare;
mod patch;
mod rename;

pub use compare::{Change, ChangeKind, Comparison, NotCovered, Side, compare};
pub use patch::{Body, Content, Line, MAX_TEXT, Patch, PatchOptions, is_secret, patch};
pub use rename::{pair_renames, renames};

#[cfg(test)]
pub(crate) mod tests;
