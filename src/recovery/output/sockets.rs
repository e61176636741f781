//! Sockets of a snapshot. Only a program that listens on one can make it, so none is written.

use super::Part;
use crate::model::{Coverage, EntryKind, Manifest, RelPath};
use crate::restore::Scope;

/// Socket that is not written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrittenSocket {
    /// Coverage of its mount in the snapshot.
    pub coverage: Coverage,
    /// Below the mount root.
    pub path: RelPath,
    /// True if the request names this path.
    pub is_named: bool,
}

/// Returns the sockets in `scope`, each with whether it is one of `named`.
pub(super) fn find(manifest: &Manifest, scope: &Scope, named: &[RelPath]) -> Vec<(RelPath, bool)> {
    let sockets = manifest
        .entries()
        .filter(|(path, entry)| entry.kind == EntryKind::Socket && scope.holds(path));
    sockets
        .map(|(path, _)| {
            let is_named = named.contains(&path);
            (path, is_named)
        })
        .collect()
}

/// Returns the sockets of all parts.
pub(super) fn unwritten(parts: &[Part]) -> Vec<UnwrittenSocket> {
    let of_part = |part: &Part| {
        let each = part.sockets.iter().map(|(path, is_named)| UnwrittenSocket {
            coverage: part.coverage.clone(),
            path: path.clone(),
            is_named: *is_named,
        });
        each.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}
