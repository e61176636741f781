//! Held locks, with their purposes and the processes that hold them.

use std::path::PathBuf;

use crate::model::InstanceId;

/// Purpose of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockName {
    /// The whole store: shared to read archives, exclusive to remove some.
    Store,
    /// The chain of receipts; held for moments.
    Receipts,
    /// The making and sweeping of drafts; held for moments.
    Drafts,
    /// A session: its launcher lives.
    Instance(InstanceId),
    /// A restore into this root, or, shared, into something below it.
    Root(PathBuf),
    /// Anything else, by its file's name.
    Other(String),
}

/// A lock that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// Purpose of the lock.
    pub name: LockName,
    /// True if it is shared.
    pub shared: bool,
    /// Processes that hold it; empty if the system does not show them.
    pub holders: Vec<Holder>,
}

/// A process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process number.
    pub pid: u32,
    /// Name that the process gives itself; untrusted text.
    pub name: String,
    /// Its terminal, e.g. `/dev/pts/3`; `None` if it has none, or the system does not show it.
    pub terminal: Option<String>,
}

impl Holder {
    /// The process in words.
    #[must_use]
    pub fn described(&self) -> String {
        let terminal = self.terminal.as_ref();
        let terminal = terminal.map_or_else(String::new, |terminal| format!(" on {terminal}"));
        format!("process {} ({}){terminal}", self.pid, self.name)
    }
}
