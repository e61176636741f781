//! Text that commands show a person, made of plain values. Nothing here prints or asks.

pub(super) mod addition;
pub(super) mod aside;
pub(super) mod blame;
pub(super) mod changes;
pub(super) mod completions;
pub(super) mod contract;
pub(super) mod doctor;
pub(super) mod folded;
pub(super) mod forget;
pub(super) mod forks;
pub(super) mod git_patch;
pub(super) mod hooks;
pub(super) mod host_path;
pub(super) mod import;
pub(super) mod instances;
pub(super) mod patch;
pub(super) mod plan;
pub(super) mod prune;
pub(super) mod rebuild;
pub(super) mod receipt;
pub(super) mod replicate;
pub(super) mod repository;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod steps;
pub(super) mod turns;
pub(super) mod undo;
pub(super) mod verify;
pub(super) mod watch;

#[cfg(test)]
mod tests;
