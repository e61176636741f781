//! Git directories of the snapshots that have a forgotten content as an object: it stays there, whatever becomes of the path.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::git_directories::is_git_directory;
use crate::model::{Digest, Directory, ForgottenContent, InstanceId, Manifest, RelPath, SnapshotRecord};
use crate::store::{Blobs, Store, StoreError, StoredTree};
use git_reader::{ObjectKind, Oid, indexed};

/// Maximum size of the contents that are read to be looked for, in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Size of the largest content that is looked for, in bytes: it is in memory as a whole.
const LARGEST: u64 = 64 << 20;
/// Maximum number of objects in a pack that is looked through.
const MOST_PACKED: u32 = 4_000_000;

/// Objects with the contents of forgotten files.
#[derive(Default)]
pub(super) struct ForgottenObjects {
    oids: HashSet<Oid>,
    /// Number of contents that are not looked for.
    unread: u64,
    /// Indexes of packs, by digest, with true for one that lists an object of these.
    packs: HashMap<Digest, bool>,
}

/// Git directories that have one of the objects, each with the number of snapshots in a session, by its path on the host.
pub(super) type Holders = BTreeMap<(PathBuf, InstanceId), u64>;

impl ForgottenObjects {
    /// Names the contents as git does; `records` hold them.
    pub(super) fn of<'r>(
        store: &Store,
        contents: impl Iterator<Item = &'r ForgottenContent>,
        records: impl Iterator<Item = &'r SnapshotRecord>,
    ) -> Self {
        let mut found = Self::default();
        let mut open: BTreeSet<Digest> = BTreeSet::new();
        let mut bytes = 0;
        for content in contents.collect::<BTreeSet<_>>() {
            if content.size <= LARGEST && bytes + content.size <= MOST_BYTES {
                bytes += content.size;
                open.insert(content.digest);
            } else {
                found.unread += 1;
            }
        }
        for record in records {
            if open.is_empty() {
                break;
            }
            let blobs = store.contents(record);
            let held: Vec<Digest> = open
                .iter()
                .filter(|digest| blobs.contains(digest))
                .copied()
                .collect();
            for digest in held {
                if let Ok(bytes) = blobs.whole(&digest) {
                    open.remove(&digest);
                    found.oids.extend(Oid::of(ObjectKind::Blob, &bytes));
                }
            }
        }
        found.unread += open.len() as u64;
        found
    }

    /// Returns the number of contents that are too large, or cannot be read.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// Returns the git directories of all records that have one of the objects and stay. `goes` is asked for the path of each, with the record
    /// and the label of the mount.
    pub(super) fn holders(
        &mut self,
        store: &Store,
        records: &[SnapshotRecord],
        goes: impl Fn(&SnapshotRecord, &str, &RelPath) -> bool,
    ) -> Result<Holders, StoreError> {
        let mut found = Holders::new();
        if self.oids.is_empty() {
            return Ok(found);
        }
        // Most snapshots of a session have the manifest of another one.
        let mut known: HashMap<Digest, BTreeSet<RelPath>> = HashMap::new();
        for record in records {
            for mount in &record.mounts {
                let Some(digest) = mount.manifest else { continue };
                let holders = match known.entry(digest) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        let blobs = store.contents(record);
                        let manifest = blobs.manifest(&digest)?;
                        place.insert(self.in_manifest(&manifest, &blobs))
                    }
                };
                let label = &mount.coverage.label;
                for git in &*holders {
                    if !goes(record, label, git) {
                        let path = git.on_host(&mount.coverage.root.to_path());
                        *found.entry((path, record.instance.clone())).or_default() += 1;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Returns the git directories of a manifest that have one of the objects. Of objects that repositories share, it is the directory of these.
    fn in_manifest(&mut self, manifest: &Manifest, blobs: &Blobs) -> BTreeSet<RelPath> {
        let mut found = BTreeSet::new();
        for dir in &manifest.directories {
            let Some((objects, name)) = dir.path.split() else {
                continue;
            };
            let has_one = match name.as_bytes() {
                b"pack" => self.has_packed(manifest, dir, blobs),
                fan if fan.len() == 2 => self.has_loose(fan, dir),
                _ => false,
            };
            if has_one {
                let git = objects.split().map(|(git, _)| git);
                found.insert(
                    git.filter(|git| is_git_directory(manifest, git))
                        .unwrap_or(objects),
                );
            }
        }
        found
    }

    fn has_loose(&self, fan: &[u8], dir: &Directory) -> bool {
        let mut entries = dir.entries.iter();
        entries.any(|entry| {
            let hex = [fan, entry.name.as_bytes()].concat();
            Oid::parse(&hex).is_some_and(|oid| self.oids.contains(&oid))
        })
    }

    fn has_packed(&mut self, manifest: &Manifest, dir: &Directory, blobs: &Blobs) -> bool {
        let files = StoredTree::new(manifest, blobs, Path::new("/"));
        let indexes = dir
            .entries
            .iter()
            .filter(|entry| entry.name.as_bytes().ends_with(b".idx"));
        indexes
            .filter_map(|entry| Some((entry, entry.content()?)))
            .any(|(entry, content)| {
                *self.packs.entry(content.digest).or_insert_with(|| {
                    let names = indexed(&files, &dir.path.join(&entry.name), MOST_PACKED)
                        .ok()
                        .flatten();
                    names.is_some_and(|names| names.iter().any(|name| self.oids.contains(name)))
                })
            })
    }
}
