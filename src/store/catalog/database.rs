//! The database's file. In the simulated file system a database lies in memory, and a commit puts all of it into the file in
//! one durable step: that is what SQLite promises, and its own tests prove.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

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

/// A transaction on the file at `path` was committed.
pub(super) fn committed(path: &Path, connection: &mut Connection) -> rusqlite::Result<()> {
    #[cfg(test)]
    if let Some(world) = handle_fs::simulated::world() {
        let bytes = connection.serialize(rusqlite::MAIN_DB)?;
        // What SQLite says when it cannot write.
        let failed = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
        let done = world.lock().store(path, &bytes);
        return done.map_err(|_| rusqlite::Error::SqliteFailure(failed, None));
    }
    let _ = (path, connection);
    Ok(())
}
