//! Git directories of the snapshots that have a forgotten content as an object: it stays there, whatever becomes of the path.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::git_directories::is_git_directory;
use crate::model::{Digest, ForgottenContent, InstanceId, Manifest, RelPath, SnapshotRecord};
use crate::store::{Blobs, Store, StoreError, StoredTree};
use git_reader::{ObjectKind, Oid, below, indexed};

/// Size of the largest content that is looked for, in bytes.
const LARGEST: u64 = 1 << 20;
/// Maximum number of contents that are looked for.
const MOST: usize = 1000;
/// Maximum number of objects in a pack that is looked through.
const MOST_PACKED: u32 = 4_000_000;

/// Objects with the contents of forgotten files.
#[derive(Default)]
pub(super) struct ForgottenObjects {
    oids: BTreeSet<Oid>,
    /// Whether the index of a pack, by its digest, lists one of them.
    packs: HashMap<Digest, bool>,
}

impl ForgottenObjects {
    /// Names the contents as git does; `records` hold them. What cannot be read is not looked for.
    pub(super) fn of<'r>(
        store: &Store,
        contents: impl Iterator<Item = &'r ForgottenContent>,
        records: impl Iterator<Item = &'r SnapshotRecord>,
    ) -> Self {
        let small = contents.filter(|content| content.size <= LARGEST);
        let mut open: BTreeSet<Digest> = small.map(|content| content.digest).take(MOST).collect();
        let mut found = Self::default();
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
        found
    }

    /// Returns the git directories of all records that have one of the objects and stay, each with the number of snapshots in a session. `goes`
    /// is asked for the path of each, with the record and the label of the mount.
    pub(super) fn holders(
        &mut self,
        store: &Store,
        records: &[SnapshotRecord],
        goes: impl Fn(&SnapshotRecord, &str, &RelPath) -> bool,
    ) -> Result<BTreeMap<(PathBuf, InstanceId), u64>, StoreError> {
        let mut found = BTreeMap::new();
        if self.oids.is_empty() {
            return Ok(found);
        }
        // Most snapshots of a session have the manifest of another one.
        let mut known: HashMap<Digest, Vec<RelPath>> = HashMap::new();
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

    fn in_manifest(&mut self, manifest: &Manifest, blobs: &Blobs) -> Vec<RelPath> {
        let dirs = manifest.directories.iter().map(|dir| &dir.path);
        dirs.filter(|path| is_git_directory(manifest, path))
            .filter(|git| self.has_loose(manifest, git) || self.has_packed(manifest, git, blobs))
            .cloned()
            .collect()
    }

    fn has_loose(&self, manifest: &Manifest, git: &RelPath) -> bool {
        self.oids.iter().any(|oid| {
            let hex = oid.to_string();
            let (fan, rest) = hex.split_at_checked(2).unwrap_or_default();
            manifest
                .entry(&below(git, &format!("objects/{fan}/{rest}")))
                .is_some()
        })
    }

    fn has_packed(&mut self, manifest: &Manifest, git: &RelPath, blobs: &Blobs) -> bool {
        let packs = below(git, "objects/pack");
        let Some(listed) = manifest.directory(&packs) else {
            return false;
        };
        let files = StoredTree::new(manifest, blobs, Path::new("/"));
        for entry in &listed.entries {
            let Some(content) = entry
                .content()
                .filter(|_| entry.name.as_bytes().ends_with(b".idx"))
            else {
                continue;
            };
            let oids = &self.oids;
            let has = self.packs.entry(content.digest).or_insert_with(|| {
                let names = indexed(&files, &packs.join(&entry.name), MOST_PACKED)
                    .ok()
                    .flatten();
                names.is_some_and(|names| names.iter().any(|name| oids.contains(name)))
            });
            if *has {
                return true;
            }
        }
        false
    }
}
