//! Knows the operator's secret places by what they are: a bind mount or a hard link shows the same object under another path.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::mount::Root;
use crate::platform::remote::is_elsewhere;
use crate::platform::{self, NodeKind, Stat};

/// So many files and directories of one place are known: secrets are few, and what a place holds beside them may be many.
const MOST: usize = 5000;

/// The objects, by file system and inode number.
#[derive(Default)]
pub(super) struct Guard(HashSet<(u64, u64)>);

impl Guard {
    /// Looks at the places and at what lies below them now. A root on another machine shows none of them.
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
        if let Some(live) = live
            .map(|live| live.place.0)
            .filter(|live| *live != root.place().0)
        {
            let frozen: Vec<_> = known.iter().filter(|(device, _)| *device == live).collect();
            let frozen: Vec<_> = frozen
                .into_iter()
                .map(|(_, ino)| (root.place().0, *ino))
                .collect();
            known.extend(frozen);
        }
        Self(known)
    }

    /// Whether an object is one of them. Only files and directories hold anything.
    pub(super) fn holds(&self, stat: &Stat) -> bool {
        matches!(stat.kind, NodeKind::File | NodeKind::Directory)
            && self.0.contains(&(stat.place.0, stat.ino))
    }
}

/// Adds what lies at a path, and below it. No link is followed.
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
