//! Paths of a plan that the operator chose.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Coverage, RelPath};
use crate::restore::{Proposal, Scope};

/// Paths of a plan that the operator chose, by mount. A new plan with them has no step for any other path, except for missing
/// directories on the way to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenPaths(BTreeMap<String, BTreeSet<RelPath>>);

impl ChosenPaths {
    /// Adds a path of a mount. Both paths of a renamed file belong together.
    pub fn insert(&mut self, mount: &Coverage, path: &RelPath) {
        let paths = self.0.entry(mount.label.clone()).or_default();
        paths.insert(path.clone());
    }

    /// Returns true if nothing is chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(BTreeSet::is_empty)
    }

    /// Returns the chosen paths of a mount among those of `asked`.
    pub(super) fn within(&self, mount: &Coverage, asked: &Scope) -> Scope {
        let chosen = self.0.get(&mount.label).into_iter().flatten();
        Scope::Exactly(chosen.filter(|path| asked.holds(path)).cloned().collect())
    }

    /// Removes excluded directories from a plan that were not chosen.
    pub(super) fn narrow_aside(&self, proposal: &mut Proposal) {
        for mount in &mut proposal.mounts {
            let chosen = self.0.get(&mount.request.coverage.label);
            mount
                .aside
                .retain(|step| chosen.is_some_and(|chosen| chosen.contains(&step.path)));
        }
    }
}
