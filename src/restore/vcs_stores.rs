//! Stores of Mercurial and Jujutsu, whose files belong together: each revision or operation names others by their place or their hash.

use std::collections::BTreeSet;

use crate::model::{Directory, Entry, Manifest, RelPath};

/// Directories `.hg` and `.jj`.
pub(super) struct Stores(BTreeSet<RelPath>);

impl Stores {
    /// Returns those of some manifests of a mount.
    pub(super) fn of<'m>(manifests: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let all = manifests.into_iter().flat_map(|manifest| &manifest.directories);
        let found = all.filter(|dir| is_store(dir)).map(|dir| dir.path.clone());
        Self(found.collect())
    }

    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if a path is such a directory.
    pub(super) fn contains(&self, path: &RelPath) -> bool {
        self.0.contains(path)
    }

    /// Returns the outermost such directory of whose store a path is a part, which its settings are not.
    pub(super) fn holding(&self, path: &RelPath) -> Option<RelPath> {
        if self.is_empty() {
            return None;
        }
        let dir = path.ancestors().find(|above| self.0.contains(above))?;
        let parts = parts_below(&dir, path);
        let is_part = match (is_mercurial(&dir), parts.as_slice()) {
            (_, []) => false,
            (true, [name, ..]) => !name.starts_with(b"hgrc"),
            (false, [b"repo", name, ..]) => !name.starts_with(b"config"),
            (false, [name, ..]) => matches!(*name, b"repo" | b"working_copy"),
        };
        is_part.then_some(dir)
    }

    /// Returns true for a part of a store that says on which revision or operation the work tree is. If the session changed it, and something else did
    /// later, it may name what the rest of an older store does not have.
    pub(super) fn names_revision(&self, path: &RelPath) -> bool {
        let Some(dir) = self.holding(path) else {
            return false;
        };
        match (is_mercurial(&dir), parts_below(&dir, path).as_slice()) {
            (true, [name]) => name.starts_with(b"dirstate"),
            (false, [b"working_copy", ..]) => true,
            _ => false,
        }
    }

    /// Returns true for a part of a store whose later change leaves the rest of the store as it was: caches, leftovers of the last
    /// transaction, and what is known of the files in the work tree, which `hg status` and `jj status` rewrite.
    pub(super) fn is_derived(&self, path: &RelPath) -> bool {
        let Some(dir) = self.holding(path) else {
            return false;
        };
        match (is_mercurial(&dir), parts_below(&dir, path).as_slice()) {
            (true, [b"cache" | b"wcache", ..] | [b"store", b"cache", ..]) => true,
            (true, [name] | [b"store", name]) => {
                let prefixes: [&[u8]; 4] = [b"dirstate", b"undo", b"last-message", b"blackbox.log"];
                prefixes.iter().any(|prefix| name.starts_with(prefix))
            }
            (false, [b"working_copy", ..]) => true,
            _ => false,
        }
    }
}

fn is_mercurial(dir: &RelPath) -> bool {
    dir.halves().1 == b".hg"
}

fn parts_below<'p>(dir: &RelPath, path: &'p RelPath) -> Vec<&'p [u8]> {
    path.parts().skip(dir.parts().count()).collect()
}

fn is_store(dir: &Directory) -> bool {
    match dir.path.halves().1 {
        b".hg" => dir.named(b"store").is_some_and(Entry::is_dir) || dir.named(b"00changelog.i").is_some(),
        b".jj" => dir.named(b"repo").is_some_and(Entry::is_dir),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Stores;
    use crate::model::RelPath;

    fn path(text: &str) -> RelPath {
        RelPath::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn settings_are_no_part_of_a_store_and_caches_are_derived() {
        let stores = Stores([path("a/.hg"), path(".jj")].into());
        for (of, dir, is_derived) in [
            ("a/.hg/store/data/b.i", Some("a/.hg"), false),
            ("a/.hg/store/fncache", Some("a/.hg"), false),
            ("a/.hg/strip-backup/1.hg", Some("a/.hg"), false),
            ("a/.hg/bookmarks", Some("a/.hg"), false),
            ("a/.hg/dirstate", Some("a/.hg"), true),
            ("a/.hg/dirstate.1234.d", Some("a/.hg"), true),
            ("a/.hg/cache/branch2-served", Some("a/.hg"), true),
            ("a/.hg/wcache", Some("a/.hg"), true),
            ("a/.hg/store/undo.backupfiles", Some("a/.hg"), true),
            ("a/.hg/hgrc", None, false),
            ("a/.hg", None, false),
            ("a/b", None, false),
            (".jj/repo/op_store/operations/1", Some(".jj"), false),
            (".jj/working_copy/tree_state", Some(".jj"), true),
            (".jj/repo/config.toml", None, false),
            (".jj/.gitignore", None, false),
        ] {
            assert_eq!(stores.holding(&path(of)), dir.map(path), "{of}");
            assert_eq!(stores.is_derived(&path(of)), is_derived, "{of}");
        }
    }
}
