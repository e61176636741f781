//! `jackin recovery`: makes any agent session undoable.
//!
//! Data flows one way, and a lower layer never imports a higher one: `model`, `clock`, `observer`, `environment`, `features`,
//! `display`, `diagnostic`, `product` < `process` < `config` < `contract` < `git_directories` < `store` < `capture` < `transfer`, `replica` <
//! `diff` < `restore` < `session` < `retention` < `agents` < `doctor` < `recovery` < `report` < `terminal` < `cli`. `tests/architecture`
//! holds this.
//! The library prints nothing and returns values; `cli` is the only one that sees `terminal`.

#![cfg_attr(
    not(all(
        feature = "encrypt",
        feature = "html",
        feature = "kubernetes",
        feature = "mcp",
        feature = "remote-shell",
        feature = "s3",
        feature = "tui"
    )),
    allow(
        dead_code,
        unused_imports,
        reason = "some of what optional parts use is used by nothing else"
    )
)]

pub mod agents;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod config;
pub mod contract;
pub mod diagnostic;
pub mod diff;
pub mod display;
pub mod doctor;
pub mod environment;
pub mod features;
pub mod git_directories;
pub mod model;
pub mod observer;
pub mod process;
pub mod product;
pub mod recovery;
pub mod replica;
pub(crate) mod report;
pub mod restore;
pub mod retention;
pub mod session;
#[cfg(test)]
mod simulated_share;
#[cfg(test)]
#[path = "../tests/recovery/support/skipped.rs"]
mod skipped;
pub mod store;
pub mod terminal;
pub mod transfer;
#[cfg(test)]
#[path = "../tests/recovery/support/workplace.rs"]
mod workplace;
