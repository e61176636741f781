//! Indexes of git that differ from a known state only in what git caches. `git status` alone rewrites the index, which changes nothing
//! that is staged; what cannot be read or is not understood counts as changed.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use crate::git_directories::{Repositories, shared_git_directory};
use crate::model::{Content, Digest, Entry, InstanceId, Manifest, RelPath, SnapshotId, SnapshotRecord};
use crate::store::{PathLookup, Store};
use git_reader::{
    Config, Files, IndexFiles, Live, ObjectFormat, below, is_shared_index, shared_index, stages_the_same,
    whole,
};
use handle_fs::Root;

/// Maximum bytes of an index that is compared.
const LARGEST: u64 = 64 << 20;
/// Maximum bytes of a configuration.
const LARGEST_CONFIG: u64 = 4 << 20;

/// Indexes whose live content stages the same as known contents of the same path.
#[derive(Clone, Debug, Default)]
pub struct RefreshedIndexes {
    indexes: HashMap<RelPath, Refreshed>,
    /// Shared indexes of split ones, each with its live content, that git wrote when it refreshed these.
    shared: HashMap<RelPath, Digest>,
}

/// One of them.
#[derive(Clone, Debug)]
struct Refreshed {
    now: Digest,
    /// Digests of known contents that stage the same.
    alike: HashSet<Digest>,
}

impl RefreshedIndexes {
    /// Compares the indexes in the git directories of `now`, the live state of a mount, with the contents that `known` returns for their
    /// paths. These are read from snapshots of the session.
    pub fn find<'k>(
        (store, instance): (&Store, &InstanceId),
        root: &Path,
        now: &Manifest,
        known: impl Fn(&RelPath) -> Vec<&'k Content>,
    ) -> Self {
        let mut found = Self::default();
        let mut opened = None;
        let mut snapshots = None;
        for (path, content) in indexes(now) {
            let mut others = known(&path);
            others.retain(|other| other.digest != content.digest && other.size <= LARGEST);
            if others.is_empty() || content.size > LARGEST {
                continue;
            }
            let Some(root) = opened.get_or_insert_with(|| Root::open(store.transports(), root).ok()) else {
                break;
            };
            let files = Live::new(root);
            let live = whole(&files, &path, LARGEST).ok().flatten();
            let Some(live) = live.filter(|bytes| content.is_of(bytes)) else {
                continue;
            };
            let Some(format) = object_format(&files, now, &path) else {
                continue;
            };
            let named = shared_index(&live, format).and_then(|name| Some((shared_path(&path, &name)?, name)));
            let live_shared = named
                .as_ref()
                .and_then(|(shared, name)| read_shared(&files, shared, name));
            let live = IndexFiles {
                own: &live,
                shared: live_shared.as_deref(),
            };
            let alike: HashSet<Digest> = others
                .into_iter()
                .filter(|other| {
                    let snapshots = snapshots.get_or_insert_with(|| Snapshots::of(store, instance));
                    let Some(own) = snapshots.read(other) else {
                        return false;
                    };
                    let shared = shared_index(&own, format).and_then(|name| {
                        let shared = shared_path(&path, &name)?;
                        read_shared(&files, &shared, &name).or_else(|| {
                            let mut stored = known(&shared)
                                .into_iter()
                                .filter(|content| content.size <= LARGEST);
                            stored.find_map(|content| {
                                snapshots
                                    .read(content)
                                    .filter(|bytes| is_shared_index(bytes, &name))
                            })
                        })
                    });
                    let stored = IndexFiles {
                        own: &own,
                        shared: shared.as_deref(),
                    };
                    stages_the_same(stored, live, format)
                })
                .map(|other| other.digest)
                .collect();
            if let Some((shared, _)) = named.filter(|_| !alike.is_empty())
                && known(&shared).is_empty()
                && let Some(content) = now.entry(&shared).and_then(Entry::content)
            {
                found.shared.insert(shared, content.digest);
            }
            let now = content.digest;
            found.indexes.insert(path, Refreshed { now, alike });
        }
        found
    }

    /// Returns true if `then` and `now` are indexes that stage the same, with the same metadata.
    #[must_use]
    pub fn holds(&self, path: &RelPath, then: &Entry, now: &Entry) -> bool {
        let Some(refreshed) = self.indexes.get(path) else {
            return false;
        };
        let (then_content, now_content) = (then.content(), now.content());
        now_content.is_some_and(|content| content.digest == refreshed.now)
            && then_content.is_some_and(|content| refreshed.alike.contains(&content.digest))
            && then.same_metadata(now)
    }

    /// Returns true if `now` is a shared index that git wrote after the session, and only for an index that stages the same as a known one.
    #[must_use]
    pub(super) fn made(&self, path: &RelPath, now: &Entry) -> bool {
        let digest = now.content().map(|content| content.digest);
        digest.is_some() && self.shared.get(path).copied() == digest
    }
}

/// Returns the path of the shared index with this name beside an index.
fn shared_path(index: &RelPath, name: &str) -> Option<RelPath> {
    let (dir, _) = index.split()?;
    Some(below(&dir, &format!("sharedindex.{name}")))
}

/// Reads a shared index that exists now, if it is the one that its name says.
fn read_shared(files: &Live<'_>, path: &RelPath, name: &str) -> Option<Vec<u8>> {
    let bytes = whole(files, path, LARGEST).ok().flatten();
    bytes.filter(|bytes| is_shared_index(bytes, name))
}

/// Returns the object format of the repository that an index belongs to; `None` if it is unknown.
fn object_format(files: &dyn Files, now: &Manifest, index: &RelPath) -> Option<ObjectFormat> {
    let (dir, _) = index.split()?;
    let config = below(&shared_git_directory(now, &dir), "config");
    let text = whole(files, &config, LARGEST_CONFIG).ok()?.unwrap_or_default();
    let config = Config::parse(&text).unwrap_or_else(|(before, _)| before);
    ObjectFormat::of(&config)
}

/// Returns the digests of the indexes of git directories.
pub(super) fn index_digests(target: &Manifest) -> HashSet<Digest> {
    indexes(target)
        .into_iter()
        .map(|(_, content)| content.digest)
        .collect()
}

/// Returns the files named `index` in git directories, those of linked work trees and submodules included.
fn indexes(now: &Manifest) -> Vec<(RelPath, &Content)> {
    let repositories = Repositories::of([now]);
    let mut found = Vec::new();
    for dir in &now.directories {
        let entries = dir.entries.iter();
        for entry in entries.filter(|entry| entry.name.as_bytes() == b"index") {
            let is_in_git = repositories.holding(&dir.path).is_some();
            if let Some(content) = entry.content().filter(|_| is_in_git) {
                found.push((dir.path.join(&entry.name), content));
            }
        }
    }
    found
}

/// Snapshots of a session, newest first. A record is read when a content is looked for in it, and once; so is the index of each archive.
pub(super) struct Snapshots<'s> {
    store: &'s Store,
    unread: VecDeque<SnapshotId>,
    records: Vec<SnapshotRecord>,
    lookup: PathLookup<'s>,
}

impl<'s> Snapshots<'s> {
    pub(super) fn of(store: &'s Store, instance: &InstanceId) -> Self {
        let rows = store.catalog().snapshots(instance).unwrap_or_default();
        Self {
            store,
            unread: rows.into_iter().map(|row| row.id).collect(),
            records: Vec::new(),
            lookup: PathLookup::new(store),
        }
    }

    /// Reads a content from the newest snapshot that has it.
    pub(super) fn read(&mut self, content: &Content) -> Option<Vec<u8>> {
        let whole = |bytes: &Vec<u8>| content.is_of(bytes);
        let mut at = 0;
        loop {
            if at == self.records.len() {
                let Some(next) = self.unread.pop_front() else {
                    break;
                };
                self.records.extend(self.store.record(&next).ok());
                continue;
            }
            let found = self.records.get(at)?;
            let bytes = self.lookup.archived(found, content).ok().flatten();
            if let Some(bytes) = bytes.filter(whole) {
                return Some(bytes);
            }
            at += 1;
        }
        // In no archive, but perhaps in a snapshot of a file system.
        let mut records = self.records.iter();
        records.find_map(|record| {
            let bytes = self.lookup.bytes(record, content, LARGEST).ok().flatten();
            bytes.filter(whole)
        })
    }
}
