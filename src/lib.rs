//! `jackin recovery`: makes any agent session undoable.
//!
//! Data flows one way, and a lower layer never imports a higher one:
//! `snapshot` (nouns) < `config` < `contract`, `mount` < `store` < `capture` < `diff` < `restore` < `session` < `cli`.
//! The library prints nothing and returns values; `cli` is the only one that sees `terminal`.

pub mod clock;
pub mod observer;
pub mod snapshot;
