//! Paths that a plan may touch, and permissions that the operator gives.

use std::collections::BTreeSet;

use crate::diff::{Change, moved};
use crate::model::RelPath;

/// Paths that a plan may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// The given paths and everything below them.
    Below(Vec<RelPath>),
    /// Exactly these paths.
    Exactly(BTreeSet<RelPath>),
}

/// Permissions that the operator gives beyond the reversal of the session's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Replace what was changed or deleted later.
    pub overwrite_later: bool,
    /// Remove what was created later.
    pub delete_later: bool,
    /// Leave everything out that is git's own.
    pub files_only: bool,
    /// Take the session's change out of files with later edits.
    pub merging: Merging,
}

/// Treatment of files that were edited later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merging {
    /// They stay as they are.
    #[default]
    Off,
    /// They are merged where the edits do not overlap with the session's change, and stay otherwise.
    Clean,
    /// They are merged, with conflict markers where both overlap.
    Marked,
}

impl Scope {
    /// Returns true if the plan may touch `path` itself.
    #[must_use]
    pub fn holds(&self, path: &RelPath) -> bool {
        match self {
            Self::All => true,
            Self::Below(tops) => tops.iter().any(|top| path.is_within(top)),
            Self::Exactly(paths) => paths.contains(path),
        }
    }

    /// The same with the other side of every rename of which it holds one: to delete the new name of a file without bringing back the
    /// old one would lose the file. `changes` are all that differs, whatever the scope. Of a directory that was renamed a path in it
    /// means the same path in the other one.
    #[must_use]
    pub fn with_renames(&self, changes: &[Change]) -> Self {
        let Self::Below(tops) = self else {
            return self.clone();
        };
        let pairs = moved(changes);
        let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
        let mut held: BTreeSet<RelPath> = tops.iter().cloned().collect();
        // One rename may lead to the next: a name that became free was taken.
        loop {
            let mut more = BTreeSet::new();
            for (old, new) in &pairs {
                for (one, other) in [(old, new), (new, old)] {
                    if is_held(&held, one) && !is_held(&held, other) {
                        more.insert(other.clone());
                    }
                    for top in held.iter().filter(|top| top.is_within(one) && *top != one) {
                        let there = within(other, one, top);
                        more.extend(there.filter(|there| changed.contains(there) && !is_held(&held, there)));
                    }
                }
            }
            if more.is_empty() {
                break;
            }
            held.extend(more);
        }
        let also = held.into_iter().filter(|path| !tops.contains(path));
        Self::Below(tops.iter().cloned().chain(also).collect())
    }

    /// The paths that it holds and `asked` does not name.
    #[must_use]
    pub fn beyond(&self, asked: &Self) -> Vec<RelPath> {
        match (self, asked) {
            (Self::Below(all), Self::Below(named)) => {
                all.iter().filter(|path| !named.contains(path)).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if an unknown path lies at, above or below a path of the scope.
    pub(super) fn concerns(&self, path: &RelPath) -> bool {
        let meets = |top: &RelPath| path.is_within(top) || top.is_within(path);
        match self {
            Self::All => true,
            Self::Below(tops) => tops.iter().any(meets),
            Self::Exactly(paths) => paths.iter().any(meets),
        }
    }
}

/// Returns true if a path is one of these or below one.
fn is_held(tops: &BTreeSet<RelPath>, path: &RelPath) -> bool {
    tops.contains(path) || path.ancestors().any(|above| tops.contains(&above))
}

/// `path`, which lies in `from`, as it is called in `to`.
fn within(to: &RelPath, from: &RelPath, path: &RelPath) -> Option<RelPath> {
    let rest = path.as_bytes().strip_prefix(from.as_bytes())?;
    RelPath::new(&[to.as_bytes(), rest].concat()).ok()
}
