//! A mount compared: what differs between two sides, and what became of it since.

use std::collections::BTreeMap;

use crate::diff::{Change, Comparison, RepositoryChange, Setting, WithheldChange};
use crate::model::{Coverage, RelPath};

/// One mount, compared.
pub struct Compared {
    /// Its coverage, as the earlier snapshot has it.
    pub coverage: Coverage,
    /// Differences between both sides.
    pub comparison: Comparison,
    /// Changes of the git repositories in the mount.
    pub repositories: Vec<RepositoryChange>,
    /// Changes of the agents' settings.
    pub settings: Vec<Setting>,
    /// Changed credentials that no snapshot holds.
    pub withheld: Vec<WithheldChange>,
    /// Paths that differ from the later snapshot by now; empty unless requested.
    pub since: BTreeMap<RelPath, Since>,
}

/// State of a path after the later snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// State of neither snapshot.
    Edited,
    /// State of the earlier snapshot: restored, or reverted by hand.
    Reverted,
}

impl Compared {
    /// Returns the state of a change after the later snapshot; a rename is edited if either path is.
    #[must_use]
    pub fn since(&self, change: &Change) -> Option<Since> {
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
