//! Biggest directories of a mount, for the error about an exceeded limit.

use std::collections::BTreeMap;

use crate::model::{Directory, RelPath, add_sizes};

/// Directory with its totals, as far as the walk had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Big {
    /// Below the mount root.
    pub path: RelPath,
    /// Entries below it.
    pub entries: u64,
    /// Bytes below it.
    pub bytes: u64,
    /// True for a directory of agents' state, whose excludes are not the operator's.
    pub is_state: bool,
}

/// Returns the three biggest directories at most two levels deep, by entries or by bytes.
pub(super) fn biggest<'a>(directories: impl Iterator<Item = &'a Directory>, by_entries: bool) -> Vec<Big> {
    let mut sums: BTreeMap<Vec<u8>, (u64, u64)> = BTreeMap::new();
    for dir in directories {
        let parts: Vec<&[u8]> = dir.path.parts().take(2).collect();
        let bytes: u64 = dir
            .entries
            .iter()
            .filter_map(|entry| entry.content())
            .map(|content| content.size)
            .fold(0, add_sizes);
        for depth in 1..=parts.len() {
            let Some(key) = parts.get(..depth).map(|parts| parts.join(&b'/')) else {
                continue;
            };
            let sum = sums.entry(key).or_default();
            sum.0 += dir.entries.len() as u64;
            sum.1 = add_sizes(sum.1, bytes);
        }
    }
    let mut all: Vec<Big> = sums
        .into_iter()
        .filter_map(|(path, (entries, bytes))| {
            Some(Big {
                path: RelPath::new(&path).ok()?,
                entries,
                bytes,
                is_state: false,
            })
        })
        .collect();
    all.sort_by_key(|big| std::cmp::Reverse(if by_entries { big.entries } else { big.bytes }));
    all.truncate(3);
    all
}
