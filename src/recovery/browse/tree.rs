//! One mount of a snapshot: its manifest, with a number for each entry.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::facts::number_of;
use super::{BrowseError, NodeFacts};
use crate::diff::SecretGroups;
use crate::model::{
    Content, Digest, Directory, Entry, EntryKind, Listing, Manifest, Name, RelPath, SnapshotId,
    SnapshotRecord, Xattr,
};
use crate::store::Blobs;

/// Locks a value. A thread that panicked while it held the lock left it as it was.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Name of a mount of a snapshot.
pub(super) struct TreeKey {
    pub(super) snapshot: SnapshotId,
    pub(super) label: String,
    /// Digest of the manifest: another one if a path was forgotten.
    pub(super) manifest: Digest,
    /// Number of its root; those of its entries follow.
    pub(super) base: u64,
    /// Number of its nodes.
    pub(super) count: u64,
    /// Number of the snapshot's directory.
    pub(super) parent: u64,
}

impl TreeKey {
    /// Chooses the numbers for a mount: by its name alone, so that they are the same in each run, unless another one has them.
    pub(super) fn new(
        known: &BTreeMap<u64, Arc<Self>>,
        (record, label, manifest): (&SnapshotRecord, &str, Digest),
        parent: u64,
        read: &Manifest,
    ) -> Self {
        let count = read.entry_count() + 1;
        let mut attempt = 0_u32;
        let base = loop {
            let words = [
                record.id.as_str(),
                label,
                &manifest.to_string(),
                &attempt.to_string(),
            ];
            let base = number_of(&words);
            let end = base.saturating_add(count);
            let before = known.range(..end).next_back();
            if before.is_none_or(|(other, key)| other + key.count <= base) {
                break base;
            }
            attempt += 1;
        };
        Self {
            snapshot: record.id.clone(),
            label: label.to_owned(),
            manifest,
            base,
            count,
            parent,
        }
    }
}

/// A mount of a snapshot in memory.
pub(super) struct SnapshotTree {
    pub(super) key: Arc<TreeKey>,
    root: PathBuf,
    manifest: Manifest,
    secret_groups: SecretGroups,
    /// Number of the first entry of each directory; the root has the number 0.
    starts: Vec<u64>,
    pub(super) blobs: Blobs,
    /// Look at the store at which the snapshot was last found unchanged.
    pub(super) checked: AtomicU64,
    /// Contents that were searched for logins: true for one that holds any.
    pub(super) logins: Mutex<HashMap<Digest, bool>>,
}

impl SnapshotTree {
    pub(super) fn new(
        key: Arc<TreeKey>,
        root: PathBuf,
        manifest: Manifest,
        blobs: Blobs,
        generation: u64,
    ) -> Self {
        let mut next = 1;
        let starts = manifest.directories.iter().map(|directory| {
            let start = next;
            next += directory.entries.len() as u64;
            start
        });
        Self {
            key,
            root,
            starts: starts.collect(),
            manifest,
            secret_groups: SecretGroups::default(),
            blobs,
            checked: AtomicU64::new(generation),
            logins: Mutex::default(),
        }
    }

    /// Returns the entry with a number, and the directory that it lies in; `None` for the root.
    fn at(&self, number: u64) -> Result<(Option<&Arc<Directory>>, &Entry), BrowseError> {
        if number == 0 {
            return Ok((None, &self.manifest.root));
        }
        // The last directory that begins before: empty ones begin where the next one does.
        let place = self.starts.partition_point(|start| *start <= number);
        let found = place.checked_sub(1).and_then(|place| {
            let directory = self.manifest.directories.get(place)?;
            let index = usize::try_from(number - self.starts.get(place)?).ok()?;
            Some((Some(directory), directory.entries.get(index)?))
        });
        found.ok_or(BrowseError::Stale)
    }

    fn entry(&self, number: u64) -> Result<&Entry, BrowseError> {
        self.at(number).map(|(_, entry)| entry)
    }

    fn path(&self, number: u64) -> Result<RelPath, BrowseError> {
        let (directory, entry) = self.at(number)?;
        Ok(directory.map_or_else(RelPath::root, |directory| directory.path.join(&entry.name)))
    }

    /// Returns the path of an entry at its original place.
    pub(super) fn host_path(&self, number: u64) -> Result<PathBuf, BrowseError> {
        Ok(self.path(number)?.on_host(&self.root))
    }

    /// Returns the number of the entry at a path.
    fn number(&self, path: &RelPath) -> Option<u64> {
        let Some((parent, name)) = path.split() else {
            return Some(0);
        };
        let place = self.place(&parent)?;
        let entries = &self.manifest.directories.get(place)?.entries;
        let index = entries.binary_search_by(|entry| entry.name.cmp(&name)).ok()?;
        Some(self.starts.get(place)? + index as u64)
    }

    /// Returns the index of a directory that was entered.
    fn place(&self, path: &RelPath) -> Option<usize> {
        let directories = &self.manifest.directories;
        directories
            .binary_search_by(|directory| directory.path.cmp(path))
            .ok()
    }

    /// Returns the index of the directory with a number.
    pub(super) fn directory_at(&self, number: u64) -> Result<usize, BrowseError> {
        if !self.entry(number)?.is_dir() {
            return Err(BrowseError::NotDirectory);
        }
        let place = self.place(&self.path(number)?);
        let is_listed = |place: &usize| {
            let directory = self.manifest.directories.get(*place);
            directory.is_some_and(|directory| directory.listing != Listing::Unreadable)
        };
        place.filter(is_listed).ok_or(BrowseError::Unlisted)
    }

    /// Returns the number of the directory above the directory with a number.
    pub(super) fn parent_of(&self, number: u64) -> u64 {
        let above = self.at(number).ok().and_then(|(directory, _)| directory);
        let above = above.and_then(|directory| self.number(&directory.path));
        above.map_or(self.key.parent, |above| self.key.base + above)
    }

    /// Returns the entry of a directory at an index, with its facts.
    pub(super) fn listed(&self, place: usize, index: usize) -> Option<(&OsStr, NodeFacts)> {
        let entry = self.manifest.directories.get(place)?.entries.get(index)?;
        let number = self.starts.get(place)? + index as u64;
        Some((entry.name.as_os_str(), self.facts_of(number, entry)))
    }

    pub(super) fn child(&self, number: u64, name: &OsStr) -> Result<NodeFacts, BrowseError> {
        let place = self.directory_at(number)?;
        let name = Name::new(name.as_bytes()).map_err(|_| BrowseError::Missing)?;
        let directory = self.manifest.directories.get(place).ok_or(BrowseError::Stale)?;
        let index = directory.entries.binary_search_by(|entry| entry.name.cmp(&name));
        let found = index.ok().and_then(|index| self.listed(place, index));
        found.map(|(_, facts)| facts).ok_or(BrowseError::Missing)
    }

    pub(super) fn facts(&self, number: u64) -> Result<NodeFacts, BrowseError> {
        Ok(self.facts_of(number, self.entry(number)?))
    }

    /// Returns the facts of an entry. All paths of a hard link group have the number of the first one.
    fn facts_of(&self, number: u64, entry: &Entry) -> NodeFacts {
        let first = entry.link.as_ref().and_then(|path| self.number(path));
        let stored = entry
            .content()
            .filter(|content| content.size > 0)
            .and_then(|content| self.blobs.stored_bytes(&content.digest));
        NodeFacts::of(self.key.base + first.unwrap_or(number), entry, stored)
    }

    /// Fails if a name or the mode of an entry says that it holds secrets.
    fn ensure_shown(&self, number: u64, entry: &Entry) -> Result<(), BrowseError> {
        let path = self.path(number)?;
        match self.secret_groups.hold(&self.root, &self.manifest, &path, entry) {
            true => Err(BrowseError::Hidden),
            false => Ok(()),
        }
    }

    pub(super) fn target(&self, number: u64, shows_secrets: bool) -> Result<Vec<u8>, BrowseError> {
        let entry = self.entry(number)?;
        let EntryKind::Symlink(target) = &entry.kind else {
            return Err(BrowseError::NotFile);
        };
        if !shows_secrets {
            self.ensure_shown(number, entry)?;
        }
        Ok(target.to_vec())
    }

    pub(super) fn attributes(&self, number: u64, shows_secrets: bool) -> Result<Vec<Xattr>, BrowseError> {
        let entry = self.entry(number)?;
        let is_shown = shows_secrets || entry.is_dir() || self.ensure_shown(number, entry).is_ok();
        Ok(if is_shown {
            entry.xattrs.clone()
        } else {
            Vec::new()
        })
    }

    /// Returns the content of a regular file. Unless secrets are shown, its names and its mode must not say that it holds any.
    pub(super) fn content(&self, number: u64, shows_secrets: bool) -> Result<Content, BrowseError> {
        let entry = self.entry(number)?;
        let content = entry.content().ok_or(BrowseError::NotFile)?;
        if !shows_secrets {
            self.ensure_shown(number, entry)?;
        }
        Ok(*content)
    }
}
