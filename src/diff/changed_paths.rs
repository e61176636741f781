//! The changes of a mount by directory, for what asks about many directories.

use super::Change;
use crate::model::RelPath;

/// Index of changes by their paths.
pub struct ChangedPaths<'c> {
    changes: &'c [Change],
    /// Each path of a change, also the earlier one of a rename, with the position of the change; sorted.
    sorted: Vec<(&'c RelPath, usize)>,
}

impl<'c> ChangedPaths<'c> {
    /// Makes the index of `changes`.
    #[must_use]
    pub fn of(changes: &'c [Change]) -> Self {
        let paths = |(at, change): (usize, &'c Change)| {
            let both = [Some(&change.path), change.from_path.as_ref()];
            both.into_iter().flatten().map(move |path| (path, at))
        };
        let mut sorted: Vec<(&RelPath, usize)> = changes.iter().enumerate().flat_map(paths).collect();
        sorted.sort_unstable();
        Self { changes, sorted }
    }

    /// Returns the changes at or below any of these paths, also those that moved something away from there, in the order of the list.
    #[must_use]
    pub fn within<'d>(&self, dirs: impl IntoIterator<Item = &'d RelPath>) -> Vec<&'c Change> {
        let below = |dir: &'d RelPath| {
            // What is in a directory follows it.
            let first = self.sorted.partition_point(|(path, _)| *path < dir);
            let rest = self.sorted.get(first..).unwrap_or_default();
            rest.iter().take_while(move |(path, _)| path.is_within(dir))
        };
        let mut found: Vec<usize> = dirs.into_iter().flat_map(below).map(|(_, at)| *at).collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().filter_map(|at| self.changes.get(at)).collect()
    }
}
