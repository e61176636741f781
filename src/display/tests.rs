//! Text is harmless, unambiguous and the same for the same value.

pub(crate) mod sanitize;
mod shell;
mod size;
