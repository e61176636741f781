//! The database's file. In the simulated file system a database lies in memory, and a commit puts all of it into the file in
//! one step, which a power loss may roll back until the next one: that is what SQLite promises (`synchronous = NORMAL` with a
//! rollback journal), and its own tests prove.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::store::{StoreError, durable};

/// Opens the file at `path`, which is there.
pub(super) fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    #[cfg(test)]
    if let Some(bytes) = handle_fs::simulated::content(path) {
        let mut connection = Connection::open_in_memory()?;
        if !bytes.is_empty() {
            let read_only = flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY);
            connection.deserialize_read_exact(rusqlite::MAIN_DB, bytes.as_slice(), bytes.len(), read_only)?;
        }
        return Ok(connection);
    }
    Connection::open_with_flags(path, flags)
}

/// Returns the journal of the file at `path`.
pub(super) fn journal(path: &Path) -> PathBuf {
    let mut journal = OsString::from(path);
    journal.push("-journal");
    journal.into()
}

/// Makes the journal of the file at `path`, empty, if it is missing: its name is on disk before anything is in it. SQLite is told
/// not to see to that (`.cargo/config.toml`). Called within a transaction, so that no process removes the journal meanwhile: one that
/// plays it back does.
pub(super) fn prepare_journal(path: &Path) -> Result<(), StoreError> {
    let journal = journal(path);
    if !durable::is_there(&journal)? {
        durable::create(&journal)?;
        durable::sync_parent(&journal)?;
    }
    Ok(())
}

/// A transaction on the file at `path` was committed.
pub(super) fn committed(path: &Path, connection: &mut Connection) -> rusqlite::Result<()> {
    #[cfg(test)]
    if let Some(world) = handle_fs::simulated::world() {
        let bytes = connection.serialize(rusqlite::MAIN_DB)?;
        // What SQLite says when it cannot write.
        let failed = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
        let done = world.lock().commit(path, &bytes);
        return done.map_err(|_| rusqlite::Error::SqliteFailure(failed, None));
    }
    let _ = (path, connection);
    Ok(())
}
