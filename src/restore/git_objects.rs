//! Objects of git that were deleted after the session, for example by `git gc --prune=now`, and that a restored branch or index may need.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::git_directories::{is_git_directory, work_tree};
use crate::model::{Manifest, RelPath, SnapshotId};
use git_reader::{Files, Oid, Repository, below, indexed};

/// Maximum number of objects in a deleted pack that are looked for elsewhere. The objects of a larger one count as missing.
const MOST: u32 = 200_000;

/// Files below `objects` that were there at the end of the session, are gone, and held an object that the repository has nowhere else.
#[derive(Clone, Debug, Default)]
pub(super) struct LostObjects(HashSet<RelPath>);

impl LostObjects {
    /// Looks for those that the target has.
    pub(super) fn find([then, last, now]: [&Manifest; 3], target: &dyn Files, live: &dyn Files) -> Self {
        let mut lost = Self::default();
        for dir in &last.directories {
            let objects = below(&dir.path, "objects");
            if last.directory(&objects).is_none() || !is_git_directory(last, &dir.path) {
                continue;
            }
            let gone = gone(&objects, [then, last, now]);
            if gone.is_empty() {
                continue;
            }
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
            // Of a repository that cannot be read anything may be missing.
            let missing = Repository::open(live, &work_tree(&dir.path)).ok().flatten();
            let missing = missing.and_then(|repository| repository.missing(&wanted).ok());
            let is_there = |oids: &Option<Vec<Oid>>| {
                let known = missing.as_ref().zip(oids.as_ref());
                known.is_some_and(|(missing, oids)| !oids.iter().any(|oid| missing.contains(oid)))
            };
            let stems: BTreeSet<&[u8]> = held
                .iter()
                .filter(|(_, oids)| !is_there(oids))
                .map(|(path, _)| stem(path))
                .collect();
            for file in gone.iter().filter(|file| stems.contains(stem(file))) {
                let above = file.ancestors().filter(|above| above.is_within(&objects));
                lost.0.extend(above.chain([file.clone()]));
            }
        }
        lost
    }

    /// Returns true for such a file, and for the directories above it in `objects`.
    pub(super) fn hold(&self, path: &RelPath) -> bool {
        self.0.contains(path)
    }
}

/// Returns the directory `objects` that holds a path of a git directory, if any.
pub(super) fn objects_holding(own: &RelPath, path: &RelPath) -> Option<RelPath> {
    let within = path.ancestors().filter(|above| above.is_within(own));
    let is_objects = |dir: &RelPath| dir.split().is_some_and(|(_, name)| name.as_bytes() == b"objects");
    within.filter(is_objects).last()
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
        match name.starts_with(b"pack-").then(idx).flatten() {
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

/// Returns the files below `objects` that the target and the end of the session have, and that are gone.
fn gone(objects: &RelPath, [target, last, now]: [&Manifest; 3]) -> BTreeSet<RelPath> {
    let within = target.directories_within(objects);
    let files = within.flat_map(|dir| {
        let files = dir.entries.iter().filter(|entry| entry.content().is_some());
        files.map(|file| dir.path.join(&file.name))
    });
    files
        .filter(|path| now.entry(path).is_none() && last.entry(path).is_some())
        .collect()
}
