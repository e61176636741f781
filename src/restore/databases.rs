//! Files of databases, which belong together: of one that is written to after the session, the other files must not go back.
//!
//! A database of SQLite is a file, with files beside it for what is not in it yet (`-wal`, `-shm`) or is to be undone (`-journal`). SQLite
//! applies these to whatever database lies beside them (sqlite.org, "How To Corrupt An SQLite Database File"). Other databases are
//! directories, which are known by a file in them.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Why;
use super::vcs_stores::Stores;
use crate::diff::Change;
use crate::model::{Directory, Entry, Manifest, RelPath};

const SUFFIXES: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];

/// Files that only the directory of a database has: of PostgreSQL, of WiredTiger (MongoDB), of InnoDB (MySQL, MariaDB).
const MARKS: [&[u8]; 3] = [b"PG_VERSION", b"WiredTiger", b"ibdata1"];

/// Databases, and repositories of version control systems whose files belong together as those of a database do.
pub(super) struct Databases {
    directories: BTreeSet<RelPath>,
    stores: Stores,
    /// Files that lie beside a database of SQLite, by its first file.
    beside: BTreeMap<RelPath, BTreeSet<RelPath>>,
}

impl Databases {
    /// Returns those of some manifests of a mount.
    pub(super) fn of<'m>(manifests: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let manifests: Vec<&Manifest> = manifests.into_iter().collect();
        let all = manifests.iter().flat_map(|manifest| &manifest.directories);
        let found = all
            .clone()
            .filter(|dir| is_database(dir))
            .map(|dir| dir.path.clone());
        let is_file = |path: &RelPath| {
            let mut found = manifests.iter().filter_map(|manifest| manifest.entry(path));
            found.any(|entry| entry.content().is_some())
        };
        let mut beside: BTreeMap<RelPath, BTreeSet<RelPath>> = BTreeMap::new();
        for dir in all {
            let is_beside = |name: &[u8]| SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
            let entries = dir.entries.iter().filter(|entry| entry.content().is_some());
            for entry in entries.filter(|entry| is_beside(entry.name.as_bytes())) {
                let path = dir.path.join(&entry.name);
                if let Some(database) = database_of(&path).filter(is_file) {
                    beside.entry(database).or_default().insert(path);
                }
            }
        }
        Self {
            directories: found.collect(),
            stores: Stores::of(manifests),
            beside,
        }
    }

    /// Returns the database or repository that a file is a part of, by the path of its directory or of its first file.
    pub(super) fn name(&self, path: &RelPath) -> Option<RelPath> {
        let beside = || {
            let mut names = database_of(path).into_iter().chain([path.clone()]);
            names.find(|name| self.beside.contains_key(name))
        };
        self.unit(path).or_else(beside)
    }

    /// Returns true if a path is the directory of a database, or a repository.
    pub(super) fn contains(&self, path: &RelPath) -> bool {
        self.directories.contains(path) || self.stores.contains(path)
    }

    /// Returns true for what can be made again from the other files, so that a later change of it alone keeps nothing else.
    pub(super) fn is_derived(&self, path: &RelPath) -> bool {
        path.as_bytes().ends_with(b"-shm") || self.stores.is_derived(path)
    }

    /// Returns true for a file that says on which revision of its store the work tree is.
    pub(super) fn names_revision(&self, path: &RelPath) -> bool {
        self.stores.names_revision(path)
    }

    /// Returns the reason that a path stays with `held`.
    pub(super) fn reason(&self, path: &RelPath, held: RelPath) -> Why {
        match self.stores.holding(path) {
            Some(_) => Why::Repository(held),
            None => Why::Database(held),
        }
    }

    /// Returns the repository or the directory of a database that a path is a part of.
    pub(super) fn unit(&self, path: &RelPath) -> Option<RelPath> {
        self.stores.holding(path).or_else(|| self.holding(path))
    }

    /// Returns what is meant along with `tops`, whichever part of a database or a repository they name. Of `missing`, which `tops` do not
    /// hold, these are the files beside a database of SQLite and those of a repository's store. The directory of a database that has some
    /// of them is meant as a whole.
    pub(super) fn rest_of(
        &self,
        tops: &BTreeSet<RelPath>,
        missing: &BTreeSet<&RelPath>,
    ) -> BTreeSet<RelPath> {
        let mut rest = BTreeSet::new();
        let mut units = BTreeSet::new();
        for top in tops {
            let names = database_of(top).into_iter().chain([top.clone()]);
            let names = names.filter_map(|name| self.beside.get_key_value(&name));
            let files = names.flat_map(|(first, others)| others.iter().chain([first]));
            rest.extend(files.filter(|file| missing.contains(file)).cloned());
            let unit = self.unit(top).filter(|_| !self.is_derived(top));
            units.extend(unit);
        }
        for unit in units {
            if self.stores.contains(&unit) {
                let is_part = |path: &&&RelPath| self.stores.holding(path).as_ref() == Some(&unit);
                rest.extend(missing.iter().filter(is_part).map(|path| (*path).clone()));
            } else if missing
                .range::<RelPath, _>(&unit..)
                .next()
                .is_some_and(|path| path.is_within(&unit))
            {
                rest.insert(unit);
            }
        }
        rest
    }

    /// Adds the other files of each database and repository that some of the paths are a part of: to put a part back would mix it with what
    /// the others are now. `manifests` are those of [`Self::of`].
    pub(super) fn complete(&self, paths: &mut BTreeSet<RelPath>, manifests: &[&Manifest]) {
        let may_be_one = |path: &RelPath| {
            let mut found = manifests.iter().filter_map(|manifest| manifest.entry(path));
            found.any(has_pages)
        };
        let mut units = BTreeSet::new();
        let mut rest = BTreeSet::new();
        for path in paths.iter().filter(|path| !self.is_derived(path)) {
            units.extend(self.unit(path));
            let first = database_of(path).unwrap_or_else(|| path.clone());
            rest.extend(self.beside.get(&first).into_iter().flatten().cloned());
            rest.extend(Some(first).filter(may_be_one));
        }
        if !units.is_empty() {
            let all = manifests.iter().flat_map(|manifest| manifest.entries());
            let is_part = |path: &RelPath| self.unit(path).is_some_and(|unit| units.contains(&unit));
            rest.extend(all.map(|(path, _)| path).filter(is_part));
        }
        paths.extend(rest.into_iter().filter(|path| !self.is_derived(path)));
    }

    /// Returns the outermost directory of a database that holds a path.
    pub(super) fn holding(&self, path: &RelPath) -> Option<RelPath> {
        if self.directories.is_empty() {
            return None;
        }
        path.ancestors().find(|above| self.directories.contains(above))
    }
}

fn is_database(dir: &Directory) -> bool {
    let has = |name: &[u8]| dir.named(name).is_some_and(|entry| entry.content().is_some());
    // LevelDB and RocksDB name the current one of their lists in a file.
    let has_list = || {
        dir.entries
            .iter()
            .any(|entry| entry.name.as_bytes().starts_with(b"MANIFEST-"))
    };
    MARKS.iter().any(|mark| has(mark)) || has(b"CURRENT") && has_list()
}

/// Returns the path of the database that a file beside it belongs to, by its name.
pub(super) fn database_of(path: &RelPath) -> Option<RelPath> {
    let mut names = SUFFIXES
        .iter()
        .filter_map(|suffix| path.as_bytes().strip_suffix(*suffix));
    let name = names
        .next()
        .filter(|name| !name.is_empty() && !name.ends_with(b"/"))?;
    RelPath::new(name).ok()
}

/// Returns the database that a changed file belongs to: a repository, the directory of a database, or the file of one of SQLite, which may be no database at all.
pub(super) fn database_holding(databases: &Databases, change: &Change) -> Option<RelPath> {
    let beside = || database_of(&change.path).unwrap_or_else(|| change.path.clone());
    let unit = databases.unit(&change.path);
    unit.or_else(|| is_file(change).then(beside))
}

/// Returns true if a file may be a database of SQLite: it has whole pages, of which the smallest have 512 bytes (sqlite.org, "Database File
/// Format").
pub(super) fn has_pages(entry: &Entry) -> bool {
    let size = entry.content().map_or(0, |content| content.size);
    size > 0 && size.is_multiple_of(512)
}

/// Returns true for a change of a regular file.
pub(super) fn is_file(change: &Change) -> bool {
    let mut sides = [&change.from, &change.to].into_iter().flatten();
    sides.all(|entry| Entry::content(entry).is_some())
}

#[cfg(test)]
mod tests {
    use super::database_of;
    use crate::model::RelPath;

    #[test]
    fn what_belongs_to_a_database_is_known_by_its_name() {
        for (path, database) in [
            ("a/db-wal", Some("a/db")),
            ("db.sqlite-shm", Some("db.sqlite")),
            ("db-journal", Some("db")),
            ("db", None),
            ("a/-wal", None),
            ("-wal", None),
            ("db-walk", None),
        ] {
            let path = RelPath::new(path.as_bytes()).unwrap();
            let database = database.map(|path| RelPath::new(path.as_bytes()).unwrap());
            assert_eq!(database_of(&path), database);
        }
    }
}
