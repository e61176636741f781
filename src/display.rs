//! Text for people: hostile names made harmless, words quoted for a shell, sizes and times. Pure functions, so that every layer can
//! name a path or a command in a hint; only `terminal` prints.

/// Replacement of a word that looks like a secret.
pub const HIDDEN: &str = "(hidden)";

pub mod sanitize;
pub mod shell;
pub mod size;

#[cfg(test)]
pub(crate) mod tests;
