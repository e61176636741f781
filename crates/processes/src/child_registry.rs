//! Registry of the programs that this process started for itself. They are no part of the command that it runs.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Process numbers of these programs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// Children that their starter waits for and collects.
    pub(crate) waited_for: BTreeSet<u32>,
    /// Children that run on by themselves, even after this process has ended.
    pub(crate) left: BTreeSet<u32>,
}

impl Own {
    /// Returns true if `pid` is one of these programs.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.waited_for.contains(&pid) || self.left.contains(&pid)
    }
}

// The kernel keeps the children of a process in one place, and the code that collects orphans meets all of them: two registries would
// collect each other's children. So this one belongs to the process.
static OWN: Mutex<Own> = Mutex::new(Own {
    waited_for: BTreeSet::new(),
    left: BTreeSet::new(),
});

fn own() -> MutexGuard<'static, Own> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a copy of the registry.
pub(crate) fn all() -> Own {
    own().clone()
}

/// Starts a child that the caller waits for. The registry is locked until the child's number is in it.
///
/// # Errors
/// When it cannot be started.
pub fn start_child(command: &mut Command) -> io::Result<Child> {
    let mut own = own();
    let child = command.spawn()?;
    own.waited_for.insert(child.id());
    Ok(child)
}

/// Returns true if a child with this number was started here and is not forgotten.
#[must_use]
pub fn is_registered(pid: u32) -> bool {
    own().has(pid)
}

/// Starts a child that runs on by itself.
pub(crate) fn leave(command: &mut Command) -> io::Result<()> {
    let mut own = own();
    let child = command.spawn()?;
    own.left.insert(child.id());
    Ok(())
}

/// Removes a child that has ended and was collected: another process may get its number.
pub fn forget(pid: u32) {
    let mut own = own();
    own.waited_for.remove(&pid);
    own.left.remove(&pid);
}
