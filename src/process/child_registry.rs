//! The programs that this process started for itself. They are nobody's work in a session.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// Those that are waited for by who started them, and that nobody else collects.
    pub(super) waited_for: BTreeSet<u32>,
    /// Those that go on by themselves, whatever becomes of us.
    pub(super) left: BTreeSet<u32>,
}

impl Own {
    /// Whether it is one of them.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.waited_for.contains(&pid) || self.left.contains(&pid)
    }
}

static OWN: Mutex<Own> = Mutex::new(Own {
    waited_for: BTreeSet::new(),
    left: BTreeSet::new(),
});

fn own() -> MutexGuard<'static, Own> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All of them.
pub(super) fn all() -> Own {
    own().clone()
}

/// Starts one that is waited for. Nobody sees it before its number is known.
pub(super) fn start(command: &mut Command) -> io::Result<Child> {
    let mut own = own();
    let child = command.spawn()?;
    own.waited_for.insert(child.id());
    Ok(child)
}

/// Starts one that goes on by itself.
pub(super) fn leave(command: &mut Command) -> io::Result<()> {
    let mut own = own();
    let child = command.spawn()?;
    own.left.insert(child.id());
    Ok(())
}

/// It has ended and was collected: another process may get its number.
pub(super) fn forget(pid: u32) {
    let mut own = own();
    own.waited_for.remove(&pid);
    own.left.remove(&pid);
}
