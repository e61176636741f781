//! What a plan may touch, and what the operator allows.

use std::collections::BTreeSet;

use crate::snapshot::RelPath;

/// Which paths a plan may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// These paths and what lies below them.
    Below(Vec<RelPath>),
    /// Exactly these paths.
    Exactly(BTreeSet<RelPath>),
}

/// What the operator allows beyond taking back the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Replace what was changed or deleted later.
    pub overwrite_later: bool,
    /// Remove what was created later.
    pub delete_later: bool,
    /// Leave everything out that is git's own.
    pub files_only: bool,
}

impl Scope {
    /// Whether `path` itself may be touched.
    #[must_use]
    pub fn holds(&self, path: &RelPath) -> bool {
        match self {
            Self::All => true,
            Self::Below(tops) => tops.iter().any(|top| path.is_within(top)),
            Self::Exactly(paths) => paths.contains(path),
        }
    }

    /// Whether an unknown path matters to it.
    pub(super) fn concerns(&self, path: &RelPath) -> bool {
        let meets = |top: &RelPath| path.is_within(top) || top.is_within(path);
        match self {
            Self::All => true,
            Self::Below(tops) => tops.iter().any(meets),
            Self::Exactly(paths) => paths.iter().any(meets),
        }
    }
}
