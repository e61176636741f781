//! Copies of this program on other machines: one is kept while a session with a mount there is active, and removed afterwards.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::liveness::is_active;
use crate::environment::Environment;
use crate::process::{RunningCopy, kept_copy};
use crate::store::{Layout, Store};
use handle_fs::remote::{Address, place_there};

/// First byte of a question about the copy.
const COPY: u8 = b'c';

/// What is to become of the copy that runs.
#[derive(Debug, Serialize, Deserialize)]
enum Question {
    /// It is kept in a directory of this name, unless that would lie in one of the mounts.
    Keep {
        name: String,
        roots: Vec<Vec<u8>>,
    },
    Forget,
}

/// Keeps the copy of this program on every connected machine on which an active session has a mount, and removes it from the others.
///
/// A copy that cannot be kept is sent again by the next command, so no failure is told.
pub fn settle_copies(environment: &Environment) {
    let transports = &environment.transports;
    let served = transports.served_by_copies();
    if served.is_empty() {
        return;
    }
    let Some(roots) = active_roots(environment) else {
        return;
    };
    for address in served {
        let is_there = |root: &&PathBuf| Address::split(root).is_some_and(|(at, _)| at == address);
        let there: Vec<Vec<u8>> = roots
            .iter()
            .filter(is_there)
            .filter_map(|root| place_there(root))
            .map(|root| root.into_os_string().into_vec())
            .collect();
        let question = match kept_copy(environment, &address).filter(|_| !there.is_empty()) {
            Some(name) => Question::Keep { name, roots: there },
            None => Question::Forget,
        };
        if let Ok(question) = postcard::to_extend(&question, vec![COPY]) {
            drop(transports.ask(&address.with(Path::new("/")), question));
        }
    }
}

/// Returns the mounts of the active sessions; `None` if they are unknown.
fn active_roots(environment: &Environment) -> Option<Vec<PathBuf>> {
    let layout = Layout::of(environment.store_directory()?, environment);
    let Some(store) = Store::open_read(layout).ok()? else {
        return Some(Vec::new());
    };
    let rows = store.catalog().open_instances().ok()?;
    let active = rows.iter().filter(|row| is_active(&store, row));
    let mounts = active.flat_map(|row| &row.mounts);
    Some(mounts.map(|mount| mount.root.to_path()).collect())
}

/// Answers questions about the copy that runs here.
#[derive(Debug)]
pub struct Copies(Option<Mutex<RunningCopy>>);

impl Copies {
    /// Creates the value; `None` for an installed program.
    #[must_use]
    pub fn new(running: Option<RunningCopy>) -> Self {
        Self(running.map(Mutex::new))
    }

    /// Answers a question; `None` if it is none of these, or was not carried out.
    #[must_use]
    pub fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let question = question.strip_prefix(&[COPY])?;
        let mut running = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let done = match postcard::from_bytes(question).ok()? {
            Question::Keep { name, roots } => {
                let roots = roots
                    .into_iter()
                    .map(|root| PathBuf::from(OsString::from_vec(root)));
                running.keep(&name, &roots.collect::<Vec<_>>())
            }
            Question::Forget => running.forget(),
        };
        done.ok().map(|()| Vec::new())
    }
}
