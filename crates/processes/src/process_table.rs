//! Rows of the system's process table, and the reasons why it cannot be read.

use std::io;
use std::path::PathBuf;

use super::process_ref::ProcessRef;

/// Reason why the system's processes could not be examined. A caller treats this as "active".
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// There is no code for this system.
    #[error("running processes cannot be listed on this system")]
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

/// One row of the system's process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) pid: u32,
    /// 0: none that can be seen.
    pub(crate) parent: u32,
    /// Number of the process that leads its process session; 0: not known.
    pub(crate) session: u32,
    /// In the unit of [`ProcessRef::start`].
    pub(crate) start: u64,
    /// A zombie: it runs no more, only its number is still taken.
    pub(crate) dead: bool,
    /// A thread of the kernel: it has neither environment nor files.
    pub(crate) kernel: bool,
    /// Name that the process calls itself: hostile text.
    pub(crate) name: String,
}

impl Seen {
    pub(crate) fn reference(&self, boot: &str) -> ProcessRef {
        ProcessRef {
            pid: self.pid,
            start: self.start,
            boot: boot.to_owned(),
        }
    }

    /// Returns true if this row is the recorded process. Called only within the boot in which it was recorded.
    pub(crate) fn is(&self, recorded: &ProcessRef) -> bool {
        self.pid == recorded.pid && self.start == recorded.start
    }
}
