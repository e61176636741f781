//! Recognizes the operator's secret files and the store by device and inode, under any path (hard link, bind mount).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::model::WithheldReason;
use handle_fs::Root;
use handle_fs::remote::is_elsewhere;
use handle_fs::{NodeKind, Stat};

/// Most entries known of one secret directory, which may also hold caches and logs.
const MOST: usize = 5000;

/// A device and an inode number.
type Id = (u64, u64);

/// The operator's secret places, and the store.
///
/// Below the root, an object of such a place has another path in two cases only. Either a mount shows it in both, and then
/// its highest entry in the root is the place itself or a mount point below the place; or it is a file with several names. So
/// `tops` is checked for each entry, and `files` is read for the first file with several names. The store makes no other name for
/// its files.
pub(super) struct Guard {
    places: Vec<PathBuf>,
    /// The device of the live root and the device under which this capture reads it, if they differ.
    moved: Option<(u64, u64)>,
    tops: HashSet<Id>,
    store: HashSet<Id>,
    files: OnceLock<HashSet<Id>>,
}

impl Guard {
    /// Reads the device and inode numbers of the places. A remote root has none of them.
    pub(super) fn of(root: &Root, places: &[PathBuf], store: &Path) -> Self {
        let mut guard = Self {
            places: Vec::new(),
            moved: None,
            tops: HashSet::new(),
            store: HashSet::new(),
            files: OnceLock::new(),
        };
        if is_elsewhere(root.path()) {
            return guard;
        }
        // A frozen state has the inode numbers of its root, and a device of its own.
        let live = root.transports().stat_path(root.path()).ok().flatten();
        let live = live.map(|live| live.place.0);
        let read = root.place().0;
        guard.moved = live.filter(|live| *live != read).map(|live| (live, read));
        guard.tops = guard.tops_of(places);
        guard.store = guard.tops_of(&[store.to_path_buf()]);
        guard.places = places.to_vec();
        guard
    }

    fn tops_of(&self, places: &[PathBuf]) -> HashSet<Id> {
        let mounted = places
            .iter()
            .flat_map(|place| handle_fs::mounts_below(place).unwrap_or_default());
        let tops = places.iter().cloned().chain(mounted);
        let known = tops.filter_map(|top| handle_fs::stat_path(&top).ok().flatten());
        self.with_moved(known.filter(is_content).map(|stat| id(&stat)).collect())
    }

    /// Returns why a file or directory is skipped that is in a secret place or the store; `None` for any other.
    pub(super) fn holds(&self, stat: &Stat) -> Option<WithheldReason> {
        if !is_content(stat) {
            return None;
        }
        if self.store.contains(&id(stat)) {
            return Some(WithheldReason::Store);
        }
        let has_names = !self.tops.is_empty() && stat.kind == NodeKind::File && stat.nlink > 1;
        let is_secret = self.tops.contains(&id(stat)) || (has_names && self.files().contains(&id(stat)));
        is_secret.then_some(WithheldReason::Sensitive)
    }

    /// Returns the files in the places, read at the first call.
    fn files(&self) -> &HashSet<Id> {
        self.files.get_or_init(|| {
            let mut known = HashSet::new();
            for place in &self.places {
                add_files(place, &mut known);
            }
            self.with_moved(known)
        })
    }

    fn with_moved(&self, mut known: HashSet<Id>) -> HashSet<Id> {
        if let Some((live, read)) = self.moved {
            let there = known.iter().filter(|(device, _)| *device == live);
            let there: Vec<_> = there.map(|(_, ino)| (read, *ino)).collect();
            known.extend(there);
        }
        known
    }
}

fn is_content(stat: &Stat) -> bool {
    matches!(stat.kind, NodeKind::File | NodeKind::Directory)
}

fn id(stat: &Stat) -> Id {
    (stat.place.0, stat.ino)
}

/// Adds the files at and below a path, without following links.
fn add_files(place: &Path, known: &mut HashSet<Id>) {
    let mut left = MOST;
    let mut waiting = vec![place.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let Some(fewer) = left.checked_sub(1) else { return };
        left = fewer;
        let Ok(Some(stat)) = handle_fs::stat_path(&path) else {
            continue;
        };
        // Also those with one name: another name may be made while the capture runs.
        if stat.kind == NodeKind::File {
            known.insert(id(&stat));
        }
        if stat.kind == NodeKind::Directory {
            let names = handle_fs::names_at(&path).unwrap_or_default();
            waiting.extend(names.iter().map(|name| path.join(name)));
        }
    }
}
