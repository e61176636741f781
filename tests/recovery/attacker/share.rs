//! Which paths the attacker had his hands on, and what he left alone.

use crate::support::tree::{Tree, is_within};

/// The paths that the attacker had his hands on.
pub(super) struct Share {
    all: bool,
    tops: Vec<Vec<u8>>,
}

impl Share {
    pub(super) fn all() -> Self {
        Self {
            all: true,
            tops: Vec::new(),
        }
    }

    pub(super) fn none() -> Self {
        Self {
            all: false,
            tops: Vec::new(),
        }
    }

    /// These; with `neighbors` all that lies beside them, too.
    pub(super) fn of(paths: &[&str], neighbors: bool) -> Self {
        let top = |path: &&str| match path.rsplit_once('/') {
            Some((parent, _)) if neighbors => parent.as_bytes().to_vec(),
            None if neighbors => Vec::new(),
            _ => path.as_bytes().to_vec(),
        };
        Self {
            all: false,
            tops: paths.iter().map(top).collect(),
        }
    }

    /// Whether a path is none of his, and no directory above one of his.
    fn spares(&self, path: &[u8]) -> bool {
        !self.all
            && !self
                .tops
                .iter()
                .any(|top| is_within(path, top) || is_within(top, path))
    }

    /// What he left alone.
    pub(super) fn rest(&self, tree: &Tree) -> Tree {
        let nodes = tree.nodes.iter().filter(|(path, _)| self.spares(path));
        Tree {
            nodes: nodes.map(|(path, node)| (path.clone(), node.clone())).collect(),
        }
    }
}
