//! Paths of a plan that the operator chose.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Coverage, RelPath};
use crate::restore::{AskedPaths, Composed, ComposedFiles, MAX_TOGETHER, Proposal, Scope};

/// Paths of a plan that the operator chose, by mount. A new plan with them has no step for any other path, except for missing
/// directories on the way to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenPaths {
    paths: BTreeMap<String, BTreeSet<RelPath>>,
    /// Files of which only some hunks were chosen.
    composed: BTreeMap<String, ComposedFiles>,
}

impl ChosenPaths {
    /// Adds a path of a mount. Both paths of a renamed file belong together.
    pub fn insert(&mut self, mount: &Coverage, path: &RelPath) {
        let paths = self.paths.entry(mount.label.clone()).or_default();
        paths.insert(path.clone());
    }

    /// Returns true if a path of a mount is chosen.
    #[must_use]
    pub fn contains(&self, mount: &Coverage, path: &RelPath) -> bool {
        self.paths
            .get(&mount.label)
            .is_some_and(|paths| paths.contains(path))
    }

    /// Gives a chosen file a content of its own. Returns false, and does nothing, if such files are too large together.
    #[must_use]
    pub fn compose(&mut self, mount: &Coverage, path: &RelPath, file: Composed) -> bool {
        let files = self.composed.entry(mount.label.clone()).or_default();
        let bytes = |file: &Composed| file.bytes.len() as u64;
        if files.values().chain([&file]).map(bytes).sum::<u64>() > MAX_TOGETHER {
            return false;
        }
        files.insert(path.clone(), file);
        true
    }

    /// Returns the files of a mount that get a content of their own.
    pub(super) fn composed(&self, mount: &Coverage) -> ComposedFiles {
        self.composed.get(&mount.label).cloned().unwrap_or_default()
    }

    /// Returns true if nothing is chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.values().all(BTreeSet::is_empty)
    }

    /// Returns the chosen paths of a mount among those of `asked`.
    pub(super) fn within(&self, mount: &Coverage, asked: Scope) -> Scope {
        let chosen = self.paths.get(&mount.label).cloned().unwrap_or_default();
        // What was asked for is known once both sides are: the other side of a rename belongs to it.
        let asked = match asked {
            Scope::All | Scope::Exactly(_) => {
                let held = chosen.into_iter().filter(|path| asked.holds(path));
                return Scope::Exactly(held.collect());
            }
            Scope::Below(tops) => AskedPaths {
                tops: Some(tops.listed().to_vec()),
                ..AskedPaths::default()
            },
            Scope::Asked(asked) => *asked,
        };
        Scope::Asked(Box::new(AskedPaths {
            chosen: Some(chosen),
            ..asked
        }))
    }

    /// Removes excluded directories from a plan that were not chosen.
    pub(super) fn narrow_aside(&self, proposal: &mut Proposal) {
        for mount in &mut proposal.mounts {
            let chosen = self.paths.get(&mount.request.coverage.label);
            mount
                .aside
                .retain(|step| chosen.is_some_and(|chosen| chosen.contains(&step.path)));
        }
    }
}
