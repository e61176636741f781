//! Identity of a process: number, start time and boot, so that a later process with the same number is not taken for the recorded
//! one.

use std::io;
use std::path::PathBuf;

use super::system;
use crate::model::ProcessRef;

/// Reason why the system's processes could not be examined. A caller treats this as "active".
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// There is no code for this system.
    #[error("which processes are alive cannot be told on this system")]
    Unsupported,
    /// The process table shows other numbers than our own, so that none of them can be trusted.
    #[error("{} shows the processes of another namespace", path.display())]
    Namespace {
        /// Path of the process table.
        path: PathBuf,
    },
    /// The file belongs to another user, whose processes cannot be examined.
    #[error("only user {owner} and root can tell")]
    Foreign {
        /// Numeric user.
        owner: u32,
    },
    /// A part of the process table could not be read, and not because its process went away.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path that could not be read.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// State of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The process runs, or is stopped.
    Alive,
    /// The process is gone, is a zombie, lived in another boot, or its number belongs to another process.
    Dead,
    /// The system does not tell.
    Unknown,
}

/// One row of the system's process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) pid: u32,
    /// 0: none that can be seen.
    pub(super) parent: u32,
    /// Number of the process that leads its process session; 0: not known.
    pub(super) session: u32,
    /// In the unit of [`ProcessRef::start`].
    pub(super) start: u64,
    /// A zombie: it runs no more, only its number is still taken.
    pub(super) dead: bool,
    /// Name that the process calls itself: hostile text.
    pub(super) name: String,
}

impl Seen {
    pub(super) fn reference(&self, boot: &str) -> ProcessRef {
        ProcessRef {
            pid: self.pid,
            start: self.start,
            boot: boot.to_owned(),
        }
    }

    /// Returns true if this row is the recorded process. Called only within the boot in which it was recorded.
    pub(super) fn is(&self, recorded: &ProcessRef) -> bool {
        self.pid == recorded.pid && self.start == recorded.start
    }
}

/// The id of the running boot (Linux: `/proc/sys/kernel/random/boot_id`); empty when the system tells none.
#[must_use]
pub fn current_boot() -> String {
    system::boot()
}

/// The process that has this number now, zombies included. `None` when there is none, or when it cannot be told.
#[must_use]
pub fn reference(pid: u32) -> Option<ProcessRef> {
    system::look(pid)
        .ok()
        .flatten()
        .map(|seen| seen.reference(&current_boot()))
}

/// Returns the state of a recorded process.
#[must_use]
pub fn life(process: &ProcessRef) -> Life {
    if !may_be_same_boot(&process.boot, &current_boot()) {
        return Life::Dead;
    }
    // Two looks: the first can miss a process that takes the number just then.
    for _ in 0..2 {
        match system::look(process.pid) {
            Ok(Some(seen)) if seen.is(process) && !seen.dead => return Life::Alive,
            Ok(Some(_)) => return Life::Dead,
            Ok(None) if !system::exists(process.pid) => return Life::Dead,
            // It exists and is hidden from us (proc(5), `hidepid`).
            Ok(None) => {}
            Err(_) => return Life::Unknown,
        }
    }
    Life::Unknown
}

/// Returns true if a recorded process runs or may run: false only if it is certainly dead.
#[must_use]
pub fn is_alive(process: &ProcessRef) -> bool {
    life(process) != Life::Dead
}

/// An unknown boot (empty) proves nothing.
pub(super) fn may_be_same_boot(recorded: &str, current: &str) -> bool {
    recorded == current || recorded.is_empty() || current.is_empty()
}
