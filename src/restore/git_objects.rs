//! Files of git's objects that are gone. Some held objects that are missing since, for example after `git gc --prune=now`, and that a restored
//! branch or index may need; of the others git only has packed the objects.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::git_parts::all_parts;
use crate::git_directories::{is_git_directory, work_tree};
use crate::model::{Manifest, RelPath, SnapshotId};
use git_reader::{Files, Oid, Repository, below, indexed};

/// Maximum number of objects in a deleted pack that are looked for elsewhere. The objects of a larger one count as missing.
const MOST: u32 = 200_000;

/// Files below `objects` that the target has and that are gone, with the directories that are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct GoneObjects {
    /// Those that held an object which the repository has nowhere else, and the directories above them.
    lost: HashSet<RelPath>,
    /// Those of which the repository has every object elsewhere.
    elsewhere: HashSet<RelPath>,
}

impl GoneObjects {
    /// Looks for those of the repositories that still are there.
    pub(super) fn find([then, now]: [&Manifest; 2], target: &dyn Files, live: &dyn Files) -> Self {
        let mut found = Self::default();
        for dir in &then.directories {
            let objects = below(&dir.path, "objects");
            if then.directory(&objects).is_none() || !is_git_directory(then, &dir.path) {
                continue;
            }
            let gone = gone(&objects, [then, now]);
            if gone.is_empty() {
                continue;
            }
            // Of a repository that cannot be read anything may be missing.
            let Some(repository) = Repository::open(live, &work_tree(&dir.path)).ok().flatten() else {
                found.add_lost(&objects, gone.iter());
                continue;
            };
            // The objects that each file held; `None` if that is not known.
            let mut held: BTreeMap<&RelPath, Option<Vec<Oid>>> = BTreeMap::new();
            for path in &gone {
                match Held::of(path) {
                    Held::Object(oid) => drop(held.insert(path, Some(vec![oid]))),
                    Held::Unknown => drop(held.insert(path, None)),
                    Held::Pack(idx) if idx == *path || !gone.contains(&idx) => {
                        drop(held.insert(path, indexed(target, &idx, MOST).ok().flatten()));
                    }
                    // The index stands for all that belongs to its pack.
                    Held::Pack(_) | Held::Nothing => {}
                }
            }
            let wanted = held.values().flatten().flatten().copied().collect();
            let missing = repository.missing(&wanted).ok();
            let is_there = |oids: &Option<Vec<Oid>>| {
                let known = missing.as_ref().zip(oids.as_ref());
                known.is_some_and(|(missing, oids)| !oids.iter().any(|oid| missing.contains(oid)))
            };
            let stems: BTreeSet<&[u8]> = held
                .iter()
                .filter(|(_, oids)| !is_there(oids))
                .map(|(path, _)| stem(path))
                .collect();
            found.add_lost(&objects, gone.iter().filter(|file| stems.contains(stem(file))));
            let dirs = then.directories_within(&objects).map(|dir| &dir.path);
            let dirs = dirs.filter(|dir| now.directory(dir).is_none());
            let others = gone.iter().chain(dirs);
            let others = others.filter(|path| is_storage(&objects, path) && !found.lost.contains(path));
            let others: Vec<RelPath> = others.cloned().collect();
            found.elsewhere.extend(others);
        }
        found
    }

    fn add_lost<'p>(&mut self, objects: &RelPath, files: impl Iterator<Item = &'p RelPath>) {
        for file in files {
            let above = file.ancestors().filter(|above| above.is_within(objects));
            self.lost.extend(above.chain([file.clone()]));
        }
    }

    /// Returns true for a file with an object that is nowhere now, and for the directories above it in `objects`.
    pub(super) fn is_lost(&self, path: &RelPath) -> bool {
        self.lost.contains(path)
    }

    /// Returns true for a file of which the repository has every object elsewhere, and for a directory of such files.
    pub(super) fn is_elsewhere(&self, path: &RelPath) -> bool {
        self.elsewhere.contains(path)
    }
}

/// Returns true for a file or directory that git alone makes below `objects`: objects, packs with what belongs to them, and lists of these.
pub(super) fn is_storage(objects: &RelPath, path: &RelPath) -> bool {
    let mut parts = all_parts(objects, path);
    let is_hex = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(dir), None, None) => matches!(dir, b"pack" | b"info") || dir.len() == 2 && is_hex(dir),
        (Some(b"pack"), Some(name), None) => is_of_pack(name) || name.starts_with(b"multi-pack-index"),
        (Some(b"pack"), Some(b"multi-pack-index.d"), _) => true,
        (Some(b"info"), Some(name), None) => {
            matches!(name, b"packs" | b"commit-graph" | b"commit-graphs")
        }
        (Some(b"info"), Some(b"commit-graphs"), _) => true,
        (Some(dir), Some(name), None) => {
            dir.len() == 2 && matches!(name.len(), 38 | 62) && is_hex(dir) && is_hex(name)
        }
        _ => false,
    }
}

/// Returns the directory `objects` that holds a path of a git directory, if any.
pub(super) fn objects_holding(own: &RelPath, path: &RelPath) -> Option<RelPath> {
    let within = path.ancestors().filter(|above| above.is_within(own));
    let is_objects = |dir: &RelPath| dir.split().is_some_and(|(_, name)| name.as_bytes() == b"objects");
    within.filter(is_objects).last()
}

/// Returns true if a name in the directory of packs is that of a pack or of a file that git makes for one. Git reads a pack of any name.
fn is_of_pack(name: &[u8]) -> bool {
    let suffix = name.rsplit(|byte| *byte == b'.').next();
    let is_made = matches!(
        suffix,
        Some(b"pack" | b"idx" | b"rev" | b"bitmap" | b"mtimes" | b"promisor")
    );
    is_made && suffix != Some(name)
}

/// Calls its argument with the files of a snapshot.
type ShowFiles<'a> = dyn Fn(&SnapshotId, &mut dyn FnMut(&dyn Files)) + 'a;

/// Files below one `objects` that were deleted, with the snapshots that show them.
pub(super) struct DeletedObjects<'a> {
    pub objects: RelPath,
    /// The newest snapshot first.
    pub files: Vec<(&'a RelPath, &'a SnapshotId)>,
}

impl DeletedObjects<'_> {
    /// Returns the snapshots, as few as hold all objects of these files that none of `sides` has. `shown` calls its argument with the files
    /// of a snapshot.
    pub(super) fn holders(&self, sides: &[&dyn Files], shown: &ShowFiles<'_>) -> Vec<SnapshotId> {
        let Some((git, _)) = self.objects.split() else {
            return Vec::new();
        };
        let work = work_tree(&git);
        // Of a repository that cannot be read anything may be missing.
        let missing = |files: &dyn Files, oids: BTreeSet<Oid>| {
            let repository = Repository::open(files, &work).ok().flatten();
            let missing = repository.and_then(|repository| repository.missing(&oids).ok());
            missing.unwrap_or(oids)
        };
        let paths: BTreeSet<&RelPath> = self.files.iter().map(|(path, _)| *path).collect();
        let mut wanted = BTreeSet::new();
        let mut unread: HashSet<&SnapshotId> = HashSet::new();
        for (path, snapshot) in &self.files {
            match Held::of(path) {
                Held::Object(oid) => drop(wanted.insert(oid)),
                Held::Unknown => drop(unread.insert(*snapshot)),
                Held::Pack(idx) if idx == **path || !paths.contains(&idx) => {
                    let mut found = None;
                    shown(snapshot, &mut |files| {
                        found = indexed(files, &idx, MOST).ok().flatten();
                    });
                    match found {
                        Some(oids) => wanted.extend(oids),
                        None => drop(unread.insert(*snapshot)),
                    }
                }
                Held::Pack(_) | Held::Nothing => {}
            }
        }
        for side in sides {
            wanted = missing(*side, wanted);
        }
        let mut holders: Vec<SnapshotId> = Vec::new();
        let mut seen: HashSet<&SnapshotId> = HashSet::new();
        for (_, snapshot) in &self.files {
            if !seen.insert(*snapshot) {
                continue;
            }
            let all = wanted.len();
            shown(snapshot, &mut |files| {
                wanted = missing(files, std::mem::take(&mut wanted));
            });
            if wanted.len() < all || unread.contains(*snapshot) {
                holders.push((*snapshot).clone());
            }
        }
        holders
    }
}

/// Purpose of a file below `objects`.
enum Held {
    Object(Oid),
    /// A pack with this index, or a file that belongs to it.
    Pack(RelPath),
    /// An object that cannot be looked for.
    Unknown,
    Nothing,
}

impl Held {
    fn of(path: &RelPath) -> Self {
        let mut parts = path.as_bytes().rsplit(|byte| *byte == b'/');
        let (Some(name), Some(dir)) = (parts.next(), parts.next()) else {
            return Self::Nothing;
        };
        if let Some(oid) = Oid::parse(&[dir, name].concat()) {
            return Self::Object(oid);
        }
        // Of a repository with longer names, which is not read.
        let is_hex = |text: &[u8], length| text.len() == length && text.iter().all(u8::is_ascii_hexdigit);
        if is_hex(dir, 2) && is_hex(name, 62) {
            return Self::Unknown;
        }
        let idx = || RelPath::new(&[stem(path), b".idx"].concat()).ok();
        let is_pack = dir == b"pack" && (is_of_pack(name) || name.starts_with(b"pack-"));
        match is_pack.then(idx).flatten() {
            Some(idx) => Self::Pack(idx),
            None => Self::Nothing,
        }
    }
}

/// Returns a path up to the suffix of its name.
fn stem(path: &RelPath) -> &[u8] {
    let bytes = path.as_bytes();
    let name = bytes
        .iter()
        .rposition(|byte| *byte == b'/')
        .map_or(0, |at| at + 1);
    let dot = bytes
        .iter()
        .rposition(|byte| *byte == b'.')
        .filter(|dot| *dot > name);
    bytes.get(..dot.unwrap_or(bytes.len())).unwrap_or_default()
}

/// Returns the files below `objects` that the target has, and that are gone.
fn gone(objects: &RelPath, [target, now]: [&Manifest; 2]) -> BTreeSet<RelPath> {
    let within = target.directories_within(objects);
    let files = within.flat_map(|dir| {
        let files = dir.entries.iter().filter(|entry| entry.content().is_some());
        files.map(|file| dir.path.join(&file.name))
    });
    files.filter(|path| now.entry(path).is_none()).collect()
}
