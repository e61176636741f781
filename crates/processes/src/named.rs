//! Processes by the name that they call themselves, with the words and the directory that they were started with.

use std::path::PathBuf;

use super::identity::current_boot;
use super::process_ref::ProcessRef;
use super::shared_table::ProcessTable;
use super::system;

/// A process as it describes itself. Everything but its number is its own choice, and proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// The process.
    pub process: ProcessRef,
    /// Its command line; words that are not UTF-8 are changed.
    pub words: Vec<String>,
    /// Its working directory; `None` if it cannot be seen.
    pub directory: Option<PathBuf>,
}

/// Returns the living processes that call themselves `name`; none where processes cannot be listed.
#[must_use]
pub fn named(table: &ProcessTable, name: &str) -> Vec<NamedProcess> {
    let boot = current_boot();
    let all = table.all().unwrap_or_default().into_iter();
    let living = all.filter(|seen| !seen.dead && seen.name == name);
    let described = living.map(|seen| NamedProcess {
        words: system::words(seen.pid),
        directory: system::directory(seen.pid),
        process: seen.reference(&boot),
    });
    described.collect()
}
