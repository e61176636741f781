//! Files of a database of SQLite, which belong together: the database, and what is not in it yet (`-wal`, `-shm`) or is to be taken back
//! (`-journal`). SQLite applies the latter to whatever database lies beside them (sqlite.org, "How To Corrupt An SQLite Database File"), so
//! one of them beside the other state of another would lose what was written since.

use std::collections::BTreeSet;

use crate::diff::Change;
use crate::model::{Entry, RelPath};

const SUFFIXES: [&[u8]; 3] = [b"-wal", b"-shm", b"-journal"];

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
