//! Copies of this program on other machines: one is kept while a session with a mount there is active, and removed afterwards.

use std::cell::OnceCell;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::liveness::is_active;
use crate::environment::Environment;
use crate::process::{CopyQuestion, kept_copy};
use crate::store::{Layout, Store};
use handle_fs::remote::{Address, place_there};

/// Keeps the copy of this program on every connected machine on which an active session has a mount, and removes it from the others.
///
/// A copy that cannot be kept is sent again by the next command, so failures are not reported.
pub fn settle_copies(environment: &Environment) {
    let known = OnceCell::new();
    environment.transports.ask_copies(|address| {
        let roots = known.get_or_init(|| active_roots(environment)).as_ref()?;
        let is_there = |root: &&PathBuf| Address::split(root).is_some_and(|(at, _)| at == *address);
        let there = roots.iter().filter(is_there).filter_map(|root| place_there(root));
        let roots: Vec<Vec<u8>> = there.map(|root| root.into_os_string().into_vec()).collect();
        let name = kept_copy(environment, address)?;
        let question = match roots.is_empty() {
            false => CopyQuestion::Keep { name, roots },
            true => CopyQuestion::Forget { name },
        };
        question.encode()
    });
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
