//! Mounts that overlap: each path is captured and restored once, by the outermost mount that is captured.

use std::path::Path;

/// For each mount: the captured mount that holds it (itself, when it is captured on its own), or none. A mount is given
/// by where its root lies and whether it can be captured. Of several with the same root the first one holds the others.
pub(super) fn holders(mounts: &[(&Path, bool)]) -> Vec<Option<usize>> {
    mounts
        .iter()
        .map(|(root, _)| {
            let outer = mounts
                .iter()
                .enumerate()
                .filter(|(_, (other, captured))| *captured && root.starts_with(other));
            // Of equally deep ones `min_by_key` takes the first.
            outer
                .min_by_key(|(_, (other, _))| other.components().count())
                .map(|(index, _)| index)
        })
        .collect()
}
