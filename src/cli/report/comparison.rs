//! A mount compared: what differs between two sides, and what became of it since.

use std::collections::BTreeMap;

use crate::diff::{Change, Comparison, RepositoryChange, Setting, WithheldChange};
use crate::model::{Coverage, RelPath};

/// One mount, compared.
pub(in crate::cli) struct Compared {
    pub(in crate::cli) coverage: Coverage,
    pub(in crate::cli) comparison: Comparison,
    /// Changes of the git repositories in the mount.
    pub(in crate::cli) repositories: Vec<RepositoryChange>,
    /// Changes of the agents' settings.
    pub(in crate::cli) settings: Vec<Setting>,
    /// Changed credentials that no snapshot holds.
    pub(in crate::cli) withheld: Vec<WithheldChange>,
    /// Paths that differ from the later snapshot by now; empty unless requested.
    pub(in crate::cli) since: BTreeMap<RelPath, Since>,
}

/// State of a path after the later snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Since {
    /// State of neither snapshot.
    Edited,
    /// State of the earlier snapshot: restored, or reverted by hand.
    Reverted,
}

impl Compared {
    /// Returns the state of a change after the later snapshot; a rename is edited if either path is.
    pub(in crate::cli) fn since(&self, change: &Change) -> Option<Since> {
        let paths = [Some(&change.path), change.from_path.as_ref()];
        let found = || {
            paths
                .into_iter()
                .flatten()
                .filter_map(|path| self.since.get(path).copied())
        };
        match found().any(|since| since == Since::Edited) {
            true => Some(Since::Edited),
            false => found().next(),
        }
    }
}
