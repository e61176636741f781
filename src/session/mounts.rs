//! Mounts of this machine that the store records.

use std::io;
use std::path::PathBuf;

use crate::environment::Environment;
use crate::store::{InstanceRow, Layout, Store};
use handle_fs::remote::is_elsewhere;

/// The mounts of this machine that are known of: nothing in them is ever started.
///
/// # Errors
/// A reason if they are unknown; without them nothing is started.
pub fn recorded_mounts(environment: &Environment) -> io::Result<Vec<PathBuf>> {
    let directory = environment.store_directory();
    let layout = directory.map(|directory| Layout::of(directory, environment));
    let store = layout.map(Store::open_read).transpose();
    let Some(store) = store.map_err(io::Error::other)?.flatten() else {
        return Ok(Vec::new());
    };
    let rows = store.catalog().instances().map_err(io::Error::other)?;
    let roots = rows
        .iter()
        .flat_map(InstanceRow::writable)
        .map(|mount| mount.root.to_path());
    let mut roots: Vec<PathBuf> = roots.filter(|root| !is_elsewhere(root)).collect();
    roots.sort();
    roots.dedup();
    Ok(roots)
}
