//! Recognizes the operator's secret files by device and inode, under any path (hard link, bind mount).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::mount::Root;
use crate::platform::remote::is_elsewhere;
use crate::platform::{self, NodeKind, Stat};

/// Most entries known of one secret directory, which may also hold caches and logs.
const MOST: usize = 5000;

/// The objects, by file system and inode number.
#[derive(Default)]
pub(super) struct Guard(HashSet<(u64, u64)>);

impl Guard {
    /// Reads the device and inode numbers of the places and the entries below them. A remote root has none of them.
    pub(super) fn of(root: &Root, places: &[PathBuf]) -> Self {
        let mut known = HashSet::new();
        if is_elsewhere(root.path()) {
            return Self(known);
        }
        for place in places {
            let mut left = MOST;
            add(place, &mut left, &mut known);
        }
        // A frozen state has the inode numbers of its root, and a device of its own.
        let live = platform::stat_path(root.path()).ok().flatten();
        if let Some((live, _)) = live.map(|live| live.place)
            && live != root.place().0
        {
            let there: Vec<_> = known
                .iter()
                .filter(|(device, _)| *device == live)
                .copied()
                .collect();
            known.extend(there.into_iter().map(|(_, ino)| (root.place().0, ino)));
        }
        Self(known)
    }

    /// Returns true for a file or directory that is in a secret place.
    pub(super) fn holds(&self, stat: &Stat) -> bool {
        matches!(stat.kind, NodeKind::File | NodeKind::Directory)
            && self.0.contains(&(stat.place.0, stat.ino))
    }
}

/// Adds the entry at a path and everything below it, without following links.
fn add(path: &Path, left: &mut usize, known: &mut HashSet<(u64, u64)>) {
    let mut waiting = vec![path.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let Some(fewer) = left.checked_sub(1) else { return };
        *left = fewer;
        let Ok(Some(stat)) = platform::stat_path(&path) else {
            continue;
        };
        if matches!(stat.kind, NodeKind::File | NodeKind::Directory) {
            known.insert((stat.place.0, stat.ino));
        }
        if stat.kind == NodeKind::Directory {
            let names = platform::names_at(&path).unwrap_or_default();
            waiting.extend(names.iter().map(|name| path.join(name)));
        }
    }
}
