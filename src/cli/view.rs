//! Text that commands show a person, made of plain values. Nothing here prints or asks.

use crate::report::HIDDEN;
use crate::terminal::{sanitize, size};

pub(super) mod addition;
pub(super) mod aside;
pub(super) mod blame;
pub(super) mod changes;
pub(super) mod completions;
pub(super) mod contract;
pub(super) mod conversation;
pub(super) mod doctor;
pub(super) mod find;
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
pub(super) mod restore_points;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod steps;
pub(super) mod turns;
pub(super) mod undo;
pub(super) mod verify;
pub(super) mod watch;

/// Reader of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// The operator, who can run another command for what is not shown.
    Operator,
    /// A model, which has only its tools.
    Model,
}

impl Reader {
    /// Returns what stands behind a list of which so many are not shown.
    fn and_more(self, count: usize) -> String {
        let count = size::count(count as u64);
        match self {
            Self::Operator => format!("and {count} more (--json has them)"),
            Self::Model => format!("and {count} more"),
        }
    }

    /// Returns a value as it is shown.
    fn value(self, value: &str) -> String {
        match self {
            Self::Operator => sanitize::text(value),
            Self::Model => sanitize::text(&value.replace(HIDDEN, "(hidden)")),
        }
    }
}

#[cfg(test)]
mod tests;
