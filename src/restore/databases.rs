//! Files of databases, which belong together: of one that is written to after the session, the other files must not go back.
//!
//! A database of SQLite is a file, with files beside it for what is not in it yet (`-wal`, `-shm`) or is to be undone (`-journal`). SQLite
//! applies these to whatever database lies beside them (sqlite.org, "How To Corrupt An SQLite Database File"). Other databases are
//! directories, which are known by a file in them.

use std::collections::BTreeSet;

use crate::diff::Change;
use crate::model::{Directory, Entry, Manifest, Name, RelPath};

const SUFFIXES: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];

/// Files that only the directory of a database has: of PostgreSQL, of WiredTiger (MongoDB), of InnoDB (MySQL, MariaDB).
const MARKS: [&[u8]; 3] = [b"PG_VERSION", b"WiredTiger", b"ibdata1"];

/// Directories of databases.
pub(super) struct Databases(BTreeSet<RelPath>);

impl Databases {
    /// Returns those of some manifests of a mount.
    pub(super) fn of<'m>(manifests: impl IntoIterator<Item = &'m Manifest>) -> Self {
        let all = manifests.into_iter().flat_map(|manifest| &manifest.directories);
        let found = all.filter(|dir| is_database(dir)).map(|dir| dir.path.clone());
        Self(found.collect())
    }

    /// Returns the outermost directory of a database that holds a path.
    pub(super) fn holding(&self, path: &RelPath) -> Option<RelPath> {
        path.ancestors().find(|above| self.0.contains(above))
    }
}

fn is_database(dir: &Directory) -> bool {
    let has = |name: &[u8]| {
        let entry = Name::new(name).ok().and_then(|name| dir.entry(&name));
        entry.is_some_and(|entry| entry.content().is_some())
    };
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

/// Returns true for what SQLite can make again from the other files.
pub(super) fn is_derived(path: &RelPath) -> bool {
    path.as_bytes().ends_with(b"-shm")
}

/// Returns each changed file that lies beside a changed database, with that.
pub(super) fn beside_databases(changes: &[Change]) -> Vec<(RelPath, RelPath)> {
    let files = changes.iter().filter(|change| is_file(change));
    let changed: BTreeSet<&RelPath> = files.map(|change| &change.path).collect();
    let found = changed
        .iter()
        .filter_map(|path| Some((database_of(path)?, (*path).clone())));
    found.filter(|(database, _)| changed.contains(database)).collect()
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
