//! Is the catalog's file sound? Reads only, and goes round everything that needs sound tables.

use std::path::Path;

use rusqlite::OpenFlags;
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::types::ValueRef;

use super::{BUSY, Catalog, database, failure, is_there, schema};
use crate::model::Digest;
use crate::store::StoreError;

/// SQLite before 3.51.3 can corrupt a database that two connections write (its release notes, "WAL reset").
pub const SQLITE_FLOOR: (u32, &str) = (3_051_003, "3.51.3");

/// The version of the catalog's tables that this program writes, and the newest it reads.
pub const CATALOG_FORMAT: i64 = schema::VERSION;

/// No more faults are listed: the first says enough.
const MOST: u32 = 8;

/// Condition of the catalog's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Health {
    /// The version of its tables.
    pub(in crate::store) version: i64,
    /// Faults that SQLite finds in its structure.
    pub(in crate::store) faults: Vec<String>,
}

/// Inspects the file; `None` if it does not exist.
pub(in crate::store) fn health(path: &Path) -> Result<Option<Health>, StoreError> {
    if !is_there(path)? {
        return Ok(None);
    }
    let looked = || -> rusqlite::Result<Health> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = database::open(path, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        let version = schema::version(&connection)?;
        let lines: Vec<String> = connection
            .prepare(&format!("PRAGMA quick_check({MOST})"))?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let faults = lines.into_iter().filter(|line| line != "ok").collect();
        Ok(Health { version, faults })
    };
    match looked() {
        // Half a transaction of a process that was killed is no damage: who writes next takes it back.
        Err(error) if error.sqlite_extended_error_code() == Some(SQLITE_READONLY_ROLLBACK) => {
            Ok(Some(Health::default()))
        }
        looked => looked.map(Some).map_err(|error| failure(path, error)),
    }
}

impl Catalog {
    /// A digest of everything that stands in the tables.
    pub(in crate::store) fn content(&self) -> Result<Digest, StoreError> {
        self.ask(|connection| {
            let mut all = Digest::of(b"");
            for table in schema::tables(connection)? {
                let named = format!("SELECT * FROM \"{}\"", table.replace('"', "\"\""));
                let columns = connection.prepare(&named)?.column_count();
                let order: Vec<String> = (1..=columns).map(|column| column.to_string()).collect();
                let sql = format!("{named} ORDER BY {}", order.join(", "));
                let mut statement = connection.prepare(&sql)?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    // Each row together with all before it.
                    let mut text = format!("{all} {table}").into_bytes();
                    for column in 0..columns {
                        match row.get_ref(column)? {
                            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                                text.extend(format!(" {}:", bytes.len()).bytes());
                                text.extend(bytes);
                            }
                            other => text.extend(format!(" {other:?}").bytes()),
                        }
                    }
                    all = Digest::of(&text);
                }
            }
            Ok(all)
        })
    }
}

/// The version of the SQLite library that is in use: as a number (3.51.3 is 3051003) and as text.
#[must_use]
pub fn sqlite_version() -> (u32, &'static str) {
    let number = u32::try_from(rusqlite::version_number()).unwrap_or(0);
    (number, rusqlite::version())
}
