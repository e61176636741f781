//! Comparisons of invented trees.

mod changed_paths;
mod hunks;
mod merges;
mod pairs;
mod patches;
mod renames;
mod secrets;
mod unknown;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Side;
use crate::capture::Skipped;
use crate::model::{
    Content, Digest, DigestMethod, Directory, Entry, EntryKind, Gap, GapReason, InodeFlags, Listing,
    Manifest, Name, RelPath, Time, Xattr,
};

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text.as_bytes()).unwrap()
}

/// Returns an object with an arbitrary name.
pub(crate) fn object(kind: EntryKind, mode: u32) -> Entry {
    Entry {
        name: Name::new(b"x").unwrap(),
        kind,
        mode,
        uid: 1000,
        gid: 1000,
        mtime: Time { sec: 100, nsec: 0 },
        ctime: Time { sec: 100, nsec: 0 },
        ino: 0,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

pub(crate) fn file(content: &str) -> Entry {
    let content = Content {
        size: content.len() as u64,
        digest: Digest::of(content.as_bytes()),
        method: DigestMethod::Plain,
    };
    object(EntryKind::File(content), 0o644)
}

pub(crate) fn dir() -> Entry {
    object(EntryKind::Directory, 0o755)
}

pub(crate) fn symlink(target: &str) -> Entry {
    object(EntryKind::Symlink(target.as_bytes().into()), 0o777)
}

pub(crate) fn with_mode(entry: Entry, mode: u32) -> Entry {
    Entry { mode, ..entry }
}

pub(crate) fn with_xattr(mut entry: Entry, value: &str) -> Entry {
    entry.xattrs.push(Xattr {
        name: b"user.note".as_slice().into(),
        value: value.as_bytes().into(),
    });
    entry
}

/// Returns one of `nlink` names of the file whose first name is `first`.
pub(crate) fn linked(entry: Entry, first: Option<&str>, nlink: u32) -> Entry {
    Entry {
        link: first.map(path),
        nlink,
        // One inode for one group.
        ino: 500_000,
        ..entry
    }
}

/// Mount under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) entries: BTreeMap<RelPath, Entry>,
    gaps: BTreeMap<RelPath, GapReason>,
    listings: BTreeMap<RelPath, Listing>,
    skipped: Vec<RelPath>,
}

/// Returns a tree of these paths, which must include all their parents.
pub(crate) fn tree<'a>(entries: impl IntoIterator<Item = (&'a str, Entry)>) -> Tree {
    Tree {
        entries: entries.into_iter().map(|(at, entry)| (path(at), entry)).collect(),
        ..Tree::default()
    }
}

impl Tree {
    /// Makes `at` a gap: it exists, and nothing else is known of it.
    pub(crate) fn gap(mut self, at: &str) -> Self {
        self.gaps
            .insert(path(at), GapReason::Unreadable("permission denied".to_owned()));
        self
    }

    /// Makes `at` something that vanished while it was read.
    pub(crate) fn vanished(mut self, at: &str) -> Self {
        self.gaps.insert(path(at), GapReason::Moving);
        self
    }

    /// Sets how far the list of a directory can be trusted.
    pub(crate) fn listing(mut self, at: &str, listing: Listing) -> Self {
        self.listings.insert(path(at), listing);
        self
    }

    /// Makes `at` an excluded path.
    pub(crate) fn skip(mut self, at: &str) -> Self {
        self.skipped.push(path(at));
        self
    }

    pub(crate) fn build(&self) -> Built {
        let mut dirs: BTreeMap<RelPath, Directory> = BTreeMap::new();
        let inner = self.entries.iter().filter(|(_, entry)| entry.is_dir());
        for at in inner.map(|(at, _)| at.clone()).chain([RelPath::root()]) {
            let listing = self.listings.get(&at).copied().unwrap_or(Listing::Proven);
            let directory = Directory {
                path: at.clone(),
                listing,
                all_named: true,
                entries: Vec::new(),
                gaps: Vec::new(),
            };
            dirs.insert(at, directory);
        }
        for (number, (at, entry)) in (10_u64..).zip(&self.entries) {
            let (parent, name) = at.split().unwrap();
            let ino = if entry.ino == 0 { number } else { entry.ino };
            let entry = Entry {
                name,
                ino,
                ..entry.clone()
            };
            dirs.get_mut(&parent).unwrap().entries.push(entry);
        }
        for (at, reason) in &self.gaps {
            let (parent, name) = at.split().unwrap();
            let reason = reason.clone();
            dirs.get_mut(&parent).unwrap().gaps.push(Gap { name, reason });
        }
        let mut skipped: Vec<Skipped> = self
            .skipped
            .iter()
            .map(|at| Skipped {
                path: at.clone(),
                is_dir: false,
            })
            .collect();
        skipped.sort();
        let mut directories: Vec<Directory> = dirs.into_values().collect();
        for directory in &mut directories {
            directory.entries.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let manifest = Manifest {
            root: dir(),
            directories: directories.into_iter().map(Arc::new).collect(),
        };
        Built { manifest, skipped }
    }
}

pub(crate) struct Built {
    pub(crate) manifest: Manifest,
    pub(crate) skipped: Vec<Skipped>,
}

impl Built {
    pub(crate) fn side(&self) -> Side<'_> {
        Side {
            manifest: Some(&self.manifest),
            skipped: &self.skipped,
        }
    }
}
