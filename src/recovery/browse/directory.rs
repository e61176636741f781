//! An open directory: its names stay the same while it is listed.

use std::ffi::OsStr;
use std::sync::Arc;

use super::tree::SnapshotTree;
use super::{BrowseError, NodeFacts};

/// An open directory.
pub struct OpenedDirectory {
    /// Its number.
    pub number: u64,
    /// Number of the directory above it.
    pub parent: u64,
    names: Names,
}

enum Names {
    /// Above the mounts.
    Few(Vec<(String, NodeFacts)>),
    /// In a mount of a snapshot: the index of the directory in its manifest.
    Stored(Arc<SnapshotTree>, usize),
}

impl OpenedDirectory {
    pub(super) fn of_names(number: u64, parent: u64, names: Vec<(String, NodeFacts)>) -> Self {
        Self {
            number,
            parent,
            names: Names::Few(names),
        }
    }

    pub(super) fn in_tree(tree: Arc<SnapshotTree>, at: u64) -> Result<Self, BrowseError> {
        let place = tree.directory_at(at)?;
        Ok(Self {
            number: tree.key.base + at,
            parent: tree.parent_of(at),
            names: Names::Stored(tree, place),
        })
    }

    /// Returns the name at an index, with the facts of the node; `None` behind the last one.
    #[must_use]
    pub fn entry(&self, index: usize) -> Option<(&OsStr, NodeFacts)> {
        match &self.names {
            Names::Few(names) => names.get(index).map(|(name, facts)| (OsStr::new(name), *facts)),
            Names::Stored(tree, place) => tree.listed(*place, index),
        }
    }
}
