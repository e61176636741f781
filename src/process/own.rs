//! The programs that this process started for itself and waits for. They are nobody's work in a session, and nobody else collects them.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn own() -> MutexGuard<'static, BTreeSet<u32>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Their numbers.
pub(super) fn all() -> BTreeSet<u32> {
    own().clone()
}

/// Starts one. Nobody sees it before its number is known.
pub(super) fn start(command: &mut Command) -> io::Result<Child> {
    let mut own = own();
    let child = command.spawn()?;
    own.insert(child.id());
    Ok(child)
}

/// It was waited for: another process may get its number.
pub(super) fn forget(pid: u32) {
    own().remove(&pid);
}
