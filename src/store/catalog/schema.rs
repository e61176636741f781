//! The catalog's tables and their versions, counted in `PRAGMA user_version`.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Each step brings the tables from the version of its index to the next one. Steps are never changed, only
/// added.
const STEPS: [&str; 4] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// The version that this program writes, and the newest it reads.
pub(super) const VERSION: i64 = STEPS.len().cast_signed() as i64;

/// The version of a database; 0 for an empty one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Returns the version of a database, and true if there is anything in it although it has no version.
pub(super) fn found(connection: &Connection) -> rusqlite::Result<(i64, bool)> {
    let now = version(connection)?;
    if now != 0 {
        return Ok((now, false));
    }
    // In one transaction: another process may be making the tables.
    let transaction = connection.unchecked_transaction()?;
    let found = (version(&transaction)?, !objects(&transaction)?.is_empty());
    transaction.rollback()?;
    Ok(found)
}

/// Brings a database to [`VERSION`], in one transaction. Returns false if it was that already. A version that is newer is left
/// alone: the caller has refused it.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<bool> {
    if version(connection)? >= VERSION {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    while version(&transaction)? < VERSION {
        step(&transaction)?;
    }
    transaction.commit()?;
    Ok(true)
}

/// The next step; asked again within the transaction, for another process may just have done it.
fn step(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let from = version(transaction)?;
    let Some(sql) = usize::try_from(from).ok().and_then(|from| STEPS.get(from)) else {
        return Ok(());
    };
    transaction.execute_batch(sql)?;
    transaction.pragma_update(None, "user_version", from + 1)
}

/// The names of all tables, sorted.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let objects = objects(connection)?.into_iter();
    let mut tables: Vec<String> = objects
        .filter_map(|(kind, name)| (kind == "table").then_some(name))
        .collect();
    tables.sort();
    Ok(tables)
}

/// Every table and view, the views first.
fn objects(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    connection
        .prepare(
            "SELECT type, name FROM sqlite_schema
             WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Drops every table and view and makes them anew, empty, within the caller's transaction. Done in place, so
/// that other processes that have the database open see it.
pub(super) fn reset(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for (kind, name) in objects(transaction)? {
        transaction.execute_batch(&format!("DROP {kind} \"{}\"", name.replace('"', "\"\"")))?;
    }
    transaction.pragma_update(None, "user_version", 0)?;
    while version(transaction)? < VERSION {
        step(transaction)?;
    }
    Ok(())
}
