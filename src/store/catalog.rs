//! The catalog: a projection of records and receipts into SQLite, for queries. Nothing is true because it
//! stands here; it can be made again at any time. The only place with SQL.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::log::{Link, Place};
use super::{CatalogFault, StoreError, durable, layout};
use crate::environment::Operator;
use crate::model::SnapshotRecord;

mod apply;
mod database;
mod forgotten;
mod forks;
mod health;
mod instances;
mod kept_counts;
mod receipts;
mod row;
mod schema;
mod snapshots;

pub(super) use apply::Tables;
pub use forgotten::ForgottenRow;
pub use forks::ForkRow;
pub use health::{CATALOG_FORMAT, SQLITE_FLOOR, sqlite_version};
pub(super) use health::{Health, health};
pub use instances::InstanceBrief;
pub use row::{AgentEventRow, CaptureRow, IMPORTED, InstanceRow, RestoreRow, SnapshotRow};
pub use snapshots::Tally;
pub(super) use snapshots::{AmendedArchives, Recorded};

/// Statements that stay prepared, more than a command uses: to prepare one again takes longer than to run it.
const STATEMENTS: usize = 128;

/// Longest wait of a connection for one that writes. A write takes milliseconds.
const BUSY: Duration = Duration::from_secs(10);

/// The catalog of one store: a file, or in memory when the file cannot answer for a reader.
#[derive(Debug)]
pub struct Catalog {
    path: PathBuf,
    connection: Mutex<Connection>,
    /// The file that is open.
    file: Mutex<Option<FileIdentity>>,
    /// True if a write failed, so that the catalog may lack something.
    behind: AtomicBool,
    /// The failed write, if one failed.
    lost: Mutex<Option<LostWrite>>,
    waiting: Mutex<Waiting>,
    /// Owner of the store, if root acts for another user.
    keeper: Option<Operator>,
}

/// Links and records that are on disk, and come into the tables with the next transaction: one serves for all that is written
/// about one snapshot.
#[derive(Debug, Default)]
struct Waiting {
    /// Links without a gap. The tables have the one before the first, and may have more by now: another process reads the log, too.
    links: Vec<Link>,
    records: Vec<SnapshotRecord>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.links.is_empty() && self.records.is_empty()
    }

    fn apply(&self, tables: &Tables<'_>) -> Result<(), StoreError> {
        if !self.links.is_empty() {
            let known = tables.last_number()?;
            let new = self.links.iter().filter(|link| link.place.number > known);
            new.into_iter().try_for_each(|link| tables.apply_receipt(link))?;
        }
        self.records
            .iter()
            .try_for_each(|record| tables.apply_record(record))
    }
}

/// Write that failed, so that the catalog may lack something.
#[derive(Clone, Debug)]
struct LostWrite {
    why: String,
    fault: CatalogFault,
}

/// Names the catalog in an error of SQLite.
fn failure(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::Error as Sql;
    let damaged = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::ConstraintViolation)
    ) || matches!(
        error,
        Sql::FromSqlConversionFailure(..) | Sql::InvalidColumnType(..) | Sql::IntegralValueOutOfRange(..)
    );
    if damaged {
        let why = format!("{error}; `rebuild` makes it again from records and receipts");
        StoreError::Damaged {
            path: path.to_path_buf(),
            why,
        }
    } else {
        StoreError::Catalog {
            path: path.to_path_buf(),
            fault: match error.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => CatalogFault::Full,
                Some(ErrorCode::DatabaseBusy) => CatalogFault::Held,
                _ => CatalogFault::Other,
            },
            source: Box::new(error),
        }
    }
}

impl Catalog {
    fn with(path: &Path, connection: Connection) -> Self {
        Self {
            path: path.to_path_buf(),
            connection: Mutex::new(prepared(connection)),
            file: Mutex::new(identity(path)),
            behind: AtomicBool::new(false),
            lost: Mutex::default(),
            waiting: Mutex::default(),
            keeper: None,
        }
    }

    /// Returns the same catalog in the store of another user, for whom root acts.
    pub(super) fn kept_by(self, keeper: Option<Operator>) -> Self {
        Self { keeper, ..self }
    }

    /// Opens the file for writing; makes it, and brings an older one to today's tables.
    pub(super) fn open_write(path: &Path) -> Result<Self, StoreError> {
        Ok(Self::with(path, connect(path)?))
    }

    /// Opens the file for reading. `None` when it is missing, has older tables, or holds half a transaction of a process
    /// that was killed: that is no damage, and only who may write takes it back. Nothing is made.
    pub(super) fn open_read(path: &Path) -> Result<Option<Self>, StoreError> {
        Self::open_read_within(path, BUSY)
    }

    /// The same; who writes to it is waited for no longer than `patience`.
    pub(super) fn open_read_within(path: &Path, patience: Duration) -> Result<Option<Self>, StoreError> {
        if !is_there(path)? {
            return Ok(None);
        }
        is_there(&database::journal(path))?;
        let opened = || -> rusqlite::Result<_> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = database::open(path, flags)?;
            connection.busy_timeout(patience)?;
            connection.pragma_update(None, "trusted_schema", false)?;
            let found = schema::found(&connection)?;
            Ok((connection, found))
        };
        let (connection, found) = match opened() {
            Err(error) if error.sqlite_extended_error_code() == Some(SQLITE_READONLY_ROLLBACK) => {
                return Ok(None);
            }
            other => other.map_err(|error| failure(path, error))?,
        };
        let version = checked_version(path, found)?;
        Ok((version == schema::VERSION).then(|| Self::with(path, connection)))
    }

    /// An empty one in memory, which names `path` in its errors.
    pub(super) fn in_memory(path: &Path) -> Result<Self, StoreError> {
        let opened = || {
            let mut connection = Connection::open_in_memory()?;
            schema::migrate(&mut connection)?;
            Ok(connection)
        };
        opened()
            .map(|connection| Self::with(path, connection))
            .map_err(|error| failure(path, error))
    }

    /// Lays the file aside as `aside` and begins an empty one: for a file that is no database any more.
    pub(super) fn renew(&self, aside: &Path) -> Result<(), StoreError> {
        let empty = Connection::open_in_memory().map_err(|error| failure(&self.path, error))?;
        let mut connection = self.lock();
        // Closed first: SQLite must not write to a file that has lost its name.
        *connection = empty;
        lay_aside(&self.path, aside)?;
        *connection = prepared(connect(&self.path)?);
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = identity(&self.path);
        Ok(())
    }

    /// Opens the file again if another one has its name by now, or none.
    pub(super) fn reopen_replaced(&self) -> Result<(), StoreError> {
        let _kept = layout::enter(self.keeper, &self.path)?;
        let mut connection = self.lock();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if *file != identity(&self.path) {
            *connection = prepared(connect(&self.path)?);
            *file = identity(&self.path);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A panic of another thread leaves no half transaction: it is rolled back when it is dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps links of the log for the next transaction. They continue those that wait, or what the tables have.
    pub(super) fn defer_links(&self, links: Vec<Link>) {
        self.waiting().links.extend(links);
    }

    /// Keeps a visible record for the next transaction.
    pub(super) fn defer_record(&self, record: &SnapshotRecord) {
        self.waiting().records.push(record.clone());
    }

    /// Returns the last link that the tables have, or will have with the next transaction.
    pub(super) fn last_link(&self) -> Result<Place, StoreError> {
        let waiting = self.waiting().links.last().map(|link| link.place);
        waiting.map_or_else(|| self.last_receipt(), Ok)
    }

    /// Drops what waits: the caller is about to read all of it from the disk.
    pub(super) fn drop_waiting(&self) {
        *self.waiting() = Waiting::default();
    }

    /// Writes what waits. A failure is no error: queries are refused until the catalog has caught up.
    pub(crate) fn flush(&self) {
        if !self.waiting().is_empty() {
            self.follow(|_| Ok(()));
        }
    }

    /// Runs `work` in one transaction, after what waits. When it fails nothing of it stays.
    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&Tables<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let failed = |error| failure(&self.path, error);
        let _kept = layout::enter(self.keeper, &self.path)?;
        let mut connection = self.lock();
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        // One in memory has none.
        if transaction.path().is_some_and(|path| !path.is_empty()) {
            database::prepare_journal(&self.path)?;
        }
        let tables = Tables::new(&self.path, &transaction);
        let mut waiting = self.waiting();
        waiting.apply(&tables)?;
        let done = work(&tables)?;
        transaction.commit().map_err(failed)?;
        *waiting = Waiting::default();
        drop(waiting);
        database::committed(&self.path, &mut connection).map_err(failed)?;
        Ok(done)
    }

    /// Writes like [`Catalog::write`], for what is already true on disk: a failure does not undo that. Queries are refused until
    /// the catalog has caught up.
    pub(super) fn follow(&self, work: impl FnOnce(&Tables<'_>) -> Result<(), StoreError>) {
        if let Err(error) = self.write(work) {
            let lost = match error {
                StoreError::Catalog { source, fault, .. } => LostWrite {
                    why: source.to_string(),
                    fault,
                },
                other => LostWrite {
                    why: other.to_string(),
                    fault: CatalogFault::Other,
                },
            };
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(lost);
            self.fell_behind();
        }
    }

    /// Returns true if it was computed in memory: it does not see what other processes write.
    pub(super) fn is_in_memory(&self) -> bool {
        self.lock().path().is_none_or(str::is_empty)
    }

    /// Marks the catalog as out of date.
    pub(super) fn fell_behind(&self) {
        self.behind.store(true, Ordering::Release);
    }

    /// Returns true if a write failed since the catalog was last known to be complete.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Acquire)
    }

    /// Marks the catalog as complete.
    pub(super) fn caught_up(&self) {
        self.behind.store(false, Ordering::Release);
    }

    /// Runs a query whose answer must be complete.
    fn query<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        self.flush();
        self.query_written(ask)
    }

    /// Runs a query about snapshots alone: a receipt that waits says nothing about them.
    fn query_snapshots<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if !self.waiting().records.is_empty() {
            self.flush();
        }
        self.query_written(ask)
    }

    fn query_written<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.ensure_complete()?;
        self.ask(ask)
    }

    /// Fails if a write failed since the catalog was last known to be complete: its answers lack something.
    pub(super) fn ensure_complete(&self) -> Result<(), StoreError> {
        if self.is_behind() {
            let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let fault = lost.as_ref().map_or(CatalogFault::Other, |lost| lost.fault);
            let why = lost.map(|lost| format!(" ({})", lost.why)).unwrap_or_default();
            // The receipts are written first. Who repeats a command that has its receipt may do something else with it.
            let source = format!(
                "an earlier write to it failed{why}, so it cannot answer; what was recorded before stays recorded (see `log --any`)"
            )
            .into();
            return Err(StoreError::Catalog {
                path: self.path.clone(),
                fault,
                source,
            });
        }
        Ok(())
    }

    /// Runs a query for catching up.
    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        // SQLite looks for a journal beside the file, by its path, and plays it back.
        let _kept = layout::enter(self.keeper, &self.path)?;
        let connection = self.lock();
        ask(&connection).map_err(|error| {
            let error = failure(&self.path, error);
            if error.is_damage_of(&self.path) && connection.is_readonly(rusqlite::MAIN_DB) == Ok(false) {
                // It may have been made again meanwhile.
                self.fell_behind();
            }
            error
        })
    }
}

/// Lays the database `path` aside as `aside`, replacing an older one.
pub(super) fn lay_aside(path: &Path, aside: &Path) -> Result<(), StoreError> {
    // A journal that stayed behind would be played into the next file of this name.
    durable::remove(&database::journal(path))?;
    handle_fs::rename_path(path, aside).map_err(StoreError::io("lay aside", path))?;
    durable::sync_parent(path)
}

/// Returns true if the file or its journal is there. SQLite would open whatever has that name, and wait for ever for a FIFO.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    // Not opened: closing any handle of the file would drop the locks that SQLite holds on it in this process
    // (fcntl(2)).
    match handle_fs::stat_path(path).map_err(StoreError::io("look at", path))? {
        Some(stat) if stat.kind == handle_fs::NodeKind::File => Ok(true),
        Some(_) => {
            let why = "it is not a regular file; move it away".to_owned();
            Err(StoreError::Unsafe {
                path: path.to_path_buf(),
                why,
            })
        }
        None => Ok(false),
    }
}

/// Returns the version of a database if it can be that of a catalog. [`schema::found`] found it.
fn checked_version(path: &Path, (found, has_tables): (i64, bool)) -> Result<i64, StoreError> {
    let damaged = |why: String| StoreError::Damaged {
        path: path.to_path_buf(),
        why,
    };
    match (u64::try_from(found), u64::try_from(schema::VERSION)) {
        (Ok(found), Ok(known)) if found > known => Err(StoreError::Newer {
            path: path.to_path_buf(),
            found,
            known,
        }),
        (Err(_), _) => Err(damaged(format!("its version is {found}"))),
        // Tables get their version in the transaction that makes them.
        (Ok(0), _) if has_tables => Err(damaged("its tables have no version".to_owned())),
        _ => Ok(found),
    }
}

/// Device and number of a file.
type FileIdentity = ((u64, u64), u64);

fn identity(path: &Path) -> Option<FileIdentity> {
    let stat = handle_fs::stat_path(path).ok()??;
    Some((stat.place, stat.ino))
}

/// Sets what makes queries faster.
fn prepared(connection: Connection) -> Connection {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement is planned once, not again for each value that is bound to it. A failure costs no more than that time.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true);
    connection
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    if !is_there(path)? {
        // SQLite would make it as the umask says; its journal takes the mode of the file.
        durable::create(path)?;
        // The name of both is on disk before anything is in them.
        if is_there(&database::journal(path))? {
            durable::sync_parent(path)?;
        }
        database::prepare_journal(path)?;
    } else {
        is_there(&database::journal(path))?;
    }
    let opened = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = database::open(path, flags)?;
        connection.busy_timeout(BUSY)?;
        let found = schema::found(&connection)?;
        Ok((connection, found))
    };
    let (mut connection, found) = opened().map_err(|error| failure(path, error))?;
    let version = checked_version(path, found)?;
    if version < schema::VERSION {
        // Playing a journal back removes it.
        database::prepare_journal(path)?;
    }
    let mut prepared = || {
        connection.pragma_update(None, "trusted_schema", false)?;
        // A rollback journal works on every file system and needs no shared memory. NORMAL syncs the journal before the
        // database is written, and the database before the journal is cut off: a power loss leaves one commit whole, this one
        // or the one before it, and the log has what is missing then. FULL would sync twice as often. TRUNCATE spares the
        // journal's unlink.
        connection.pragma_update_and_check(None, "journal_mode", "truncate", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "normal")?;
        // On macOS a plain sync leaves data in the disk's cache; elsewhere this changes nothing.
        connection.pragma_update(None, "fullfsync", true)?;
        match version < schema::VERSION && schema::migrate(&mut connection)? {
            true => database::committed(path, &mut connection),
            false => Ok(()),
        }
    };
    prepared().map_err(|error| failure(path, error))?;
    Ok(connection)
}

#[cfg(test)]
mod tests;
