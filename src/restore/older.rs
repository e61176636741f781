//! Objects that moved while a snapshot was taken, and are in none of its lists. Where one comes to rest first is a gap. If the session moves it
//! on from there, its path is provably absent from the snapshot, and it may be the only copy: it is kept because it is older.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::plan::{Action, Plan};
use crate::model::{Entry, Gap, GapReason, Listing, Manifest, RelPath, Time};
use handle_fs::Root;

/// The snapshot that a plan restores.
pub(super) struct Captured {
    /// All its mounts: what was moved from one to another is stored.
    pub(super) mounts: Vec<Manifest>,
    /// The place of the mount that the plan is for.
    pub(super) own: usize,
    /// Begin of the capture of that mount.
    pub(super) started_at: Time,
}

/// Returns the paths that a plan would delete although what is there is older than the snapshot, and not in it.
///
/// The birth time proves the age. It is compared with the newest time of change in the snapshot, which the same clock made, and with the begin of
/// the capture, in case a file has a time in the future. Where births are not known, nothing is proven. Where a birth moves back with the
/// modification time (`handle_fs::births_move`), a newer object that got an old time is kept, too: none that is older is deleted.
pub(super) fn older_objects(
    root: &Root,
    captured: &dyn Fn() -> Option<Captured>,
    now: &Manifest,
    plan: &Plan,
) -> BTreeSet<RelPath> {
    let tells = |root: &Root| root.file_system().is_ok_and(|fs| fs.trusted_ctime && !fs.layered);
    let deleted = plan.steps.iter().filter(|step| step.action == Action::Delete);
    let deleted: Vec<(&RelPath, &Entry)> = deleted
        .filter_map(|step| Some((&step.change.path, step.change.to.as_ref()?)))
        .collect();
    if deleted.is_empty() || root.is_far() || !tells(root) {
        return BTreeSet::new();
    }
    let Some(captured) = captured() else {
        return BTreeSet::new();
    };
    if !captured.mounts.iter().any(may_lack_moved) {
        return BTreeSet::new();
    }
    let stored: HashSet<u64> = captured.mounts.iter().flat_map(inodes).collect();
    let names = names(now, &deleted);
    // Another name, which stays, has the content of a file as well.
    let is_alone = |entry: &Entry| entry.is_dir() || names.get(&entry.ino) == Some(&entry.nlink);
    let mut below: BTreeMap<RelPath, Vec<&RelPath>> = BTreeMap::new();
    for (path, entry) in deleted {
        if !stored.contains(&entry.ino)
            && is_alone(entry)
            && let Some((parent, _)) = path.split()
        {
            below.entry(parent).or_default().push(path);
        }
    }
    let own = captured.mounts.get(captured.own).into_iter();
    let own = own.flat_map(|manifest| &manifest.directories);
    let changes = own.flat_map(|dir| &dir.entries).map(|entry| entry.ctime);
    let Some(then) = changes.max().map(|newest| newest.min(captured.started_at)) else {
        return BTreeSet::new();
    };
    let mut older = BTreeSet::new();
    for (parent, paths) in below {
        let Ok(dir) = root.dir(&parent) else { continue };
        let names: Vec<_> = paths.iter().filter_map(|path| Some(path.split()?.1)).collect();
        let Ok(stats) = dir.look_at(names.iter().map(|name| name.as_os_str())) else {
            continue;
        };
        for (path, stat) in paths.into_iter().zip(stats) {
            if stat.is_ok_and(|stat| stat.born.is_some_and(|born| born < then)) {
                older.insert(path.clone());
            }
        }
    }
    older
}

/// Returns true if something moved while the manifest was made.
fn may_lack_moved(manifest: &Manifest) -> bool {
    let is_moving = |gap: &Gap| gap.reason == GapReason::Moving;
    let mut directories = manifest.directories.iter();
    directories.any(|dir| dir.listing == Listing::Unsettled || dir.gaps.iter().any(is_moving))
}

fn inodes(manifest: &Manifest) -> impl Iterator<Item = u64> + '_ {
    let entries = manifest.directories.iter().flat_map(|dir| &dir.entries);
    entries.map(|entry| entry.ino).chain([manifest.root.ino])
}

/// Counts the names of those files that have several.
fn names(now: &Manifest, of: &[(&RelPath, &Entry)]) -> HashMap<u64, u32> {
    let mut names: HashMap<u64, u32> = HashMap::new();
    let mut several = HashSet::new();
    for (_, entry) in of {
        match entry.nlink {
            1 => drop(names.insert(entry.ino, 1)),
            _ => drop(several.insert(entry.ino)),
        }
    }
    if !several.is_empty() {
        for ino in inodes(now).filter(|ino| several.contains(ino)) {
            *names.entry(ino).or_default() += 1;
        }
    }
    names
}
