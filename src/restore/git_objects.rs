//! Objects of git that were deleted after the session, for example by `git gc --prune=now`, and that a restored branch or index may need.

use std::collections::HashSet;

use crate::git_directories::{is_git_directory, work_tree};
use crate::model::{Manifest, RelPath};
use git_reader::{Files, GitError, Oid, Repository, below, indexed};

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
            let repository = Repository::open(live, &work_tree(&dir.path));
            let repository = repository.ok().flatten();
            let mut packs = HashSet::new();
            for path in &gone {
                let files: Vec<&RelPath> = match Held::of(path) {
                    // What cannot be read may be needed.
                    Held::Object(oid) if !has(repository.as_ref(), &[oid]) => vec![path],
                    Held::Pack(idx) if packs.insert(idx.clone()) => {
                        let is_there = match indexed(target, &idx, MOST) {
                            Ok(Some(oids)) => has(repository.as_ref(), &oids),
                            Ok(None) | Err(_) => false,
                        };
                        let files = gone.iter().filter(|one| stem(one) == stem(path));
                        files.filter(|_| !is_there).collect()
                    }
                    _ => Vec::new(),
                };
                for file in files {
                    let above = file.ancestors().filter(|above| above.is_within(&objects));
                    lost.0.extend(above.chain([file.clone()]));
                }
            }
        }
        lost
    }

    /// Returns true for such a file, and for the directories above it in `objects`.
    pub(super) fn hold(&self, path: &RelPath) -> bool {
        self.0.contains(path)
    }
}

/// What a file below `objects` is for.
enum Held {
    Object(Oid),
    /// A pack with this index, or a file that belongs to it.
    Pack(RelPath),
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
fn gone(objects: &RelPath, [target, last, now]: [&Manifest; 3]) -> Vec<RelPath> {
    let within = target.directories_within(objects);
    let files = within.flat_map(|dir| {
        let files = dir.entries.iter().filter(|entry| entry.content().is_some());
        files.map(|file| dir.path.join(&file.name))
    });
    files
        .filter(|path| now.entry(path).is_none() && last.entry(path).is_some())
        .collect()
}

/// Returns true if the repository certainly has all these objects.
fn has(repository: Option<&Repository<'_>>, oids: &[Oid]) -> bool {
    let Some(repository) = repository else {
        return false;
    };
    let all = || -> Result<bool, GitError> {
        for oid in oids {
            if !repository.has(oid)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    all().unwrap_or(false)
}
