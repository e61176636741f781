//! Files with several names: one that is called like a secret is one under each of its names.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

use super::change::Change;
use super::patch::is_secret_path;
use crate::contract::is_named_secret;
use crate::model::{Directory, Entry, Manifest, RelPath};

/// A hard link group over several snapshots, in which an inode may be another file: its inode, and its first path.
pub type LinkGroup = (u64, RelPath);

/// Inodes of one manifest that have several names, one of them that of a secret. They are collected when one with several names is asked for.
#[derive(Debug, Default)]
pub struct SecretGroups(OnceLock<HashSet<u64>>);

impl SecretGroups {
    /// Returns true if the content of a path is hidden by default ([`is_secret_path`]), or that of another name of the file. `root` is the
    /// mount root; the manifest must be the same in each call.
    #[must_use]
    pub fn hold(&self, root: &Path, manifest: &Manifest, path: &RelPath, entry: &Entry) -> bool {
        is_secret_path(root, path, Some(entry)) || self.hold_other_name(root, manifest, entry)
    }

    /// Returns true if any name of the file is that of a secret. A file with one name is in no group.
    fn hold_other_name(&self, root: &Path, manifest: &Manifest, entry: &Entry) -> bool {
        entry.has_several_names() && self.collected(root, manifest).contains(&entry.ino)
    }

    fn collected(&self, root: &Path, manifest: &Manifest) -> &HashSet<u64> {
        self.0.get_or_init(|| {
            let groups = manifest
                .directories
                .iter()
                .flat_map(|dir| secret_groups(root, dir));
            groups.map(|(inode, _)| inode).collect()
        })
    }
}

/// Returns the group of a path; `None` if its file has no other name.
#[must_use]
pub fn link_group(path: &RelPath, entry: &Entry) -> Option<LinkGroup> {
    let first = || entry.link.as_ref().unwrap_or(path).clone();
    entry.has_several_names().then(|| (entry.ino, first()))
}

/// Returns the groups of which a directory, or a part of one, has a secret name.
pub fn secret_groups(root: &Path, directory: &Directory) -> impl Iterator<Item = LinkGroup> {
    directory.entries.iter().filter_map(move |entry| {
        if !entry.has_several_names() {
            return None;
        }
        let path = directory.path.join(&entry.name);
        let is_secret = is_named_secret(root, &path);
        is_secret.then(|| link_group(&path, entry)).flatten()
    })
}

/// Marks the changes of files that have a secret name on either side, below the mount root `root`. `sides` are the earlier and the later
/// state.
pub fn mark_secrets<'c>(
    root: &Path,
    sides: [Option<&Manifest>; 2],
    changes: impl IntoIterator<Item = &'c mut Change>,
) {
    let groups = [SecretGroups::default(), SecretGroups::default()];
    for change in changes {
        let mut all = [&change.from, &change.to].into_iter().zip(&groups).zip(sides);
        change.has_secret_name |= all.any(|((entry, groups), side)| {
            let known = side.zip(entry.as_ref());
            known.is_some_and(|(side, entry)| groups.hold_other_name(root, side, entry))
        });
    }
}
