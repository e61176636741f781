//! The directories above many paths.

use std::collections::BTreeSet;

use super::RelPath;

/// Returns the directories above these paths. What lies above a known one is known: deep trees cost no more than wide ones.
pub fn directories_above<'p>(paths: impl Iterator<Item = &'p RelPath>) -> BTreeSet<RelPath> {
    let parent = |path: &RelPath| path.split().map(|(parent, _)| parent);
    let mut found = BTreeSet::new();
    for path in paths {
        let mut above = parent(path);
        while let Some(dir) = above.filter(|dir| !found.contains(dir)) {
            above = parent(&dir);
            found.insert(dir);
        }
    }
    found
}
