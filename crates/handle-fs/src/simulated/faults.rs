//! Faults: one call fails, or all from one on, among those that may return the error.

use rustix::io::Errno;

/// Errors that the kernel may return from a call.
const ERRORS: [Errno; 9] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::IO,
    Errno::ACCESS,
    Errno::ROFS,
    Errno::MFILE,
    Errno::INTR,
    Errno::STALE,
    Errno::XDEV,
];

/// Every error with its number, once and lasting. A call that is always interrupted would rightly be repeated for ever, so that one does
/// not last.
pub fn errors() -> impl Iterator<Item = (u64, Errno, bool)> {
    let each = |(number, error): (u64, Errno)| {
        let lasting: &[bool] = if error == Errno::INTR {
            &[false]
        } else {
            &[false, true]
        };
        lasting.iter().map(move |stays| (number, error, *stays))
    };
    (0..).zip(ERRORS).flat_map(each)
}

/// Kind of a call, as far as it decides which errors the call may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// A call that opens an object.
    Open,
    /// A call that uses a name and changes nothing.
    Look,
    /// A call that reads through a handle, or asks for its facts.
    Read,
    /// A call that changes names.
    Name,
    /// A call that changes content.
    Write,
    /// A call that changes metadata.
    Metadata,
    /// A call that makes changes durable.
    Sync,
    /// A call that locks a file.
    Lock,
}

impl How {
    /// Returns true if the call changes anything, so that a crash before it and one after it differ.
    pub(super) fn changes(self) -> bool {
        matches!(self, Self::Name | Self::Write | Self::Metadata | Self::Sync)
    }

    /// Returns true if a call may return this error on some file system in use.
    fn gives(self, error: Errno) -> bool {
        match error {
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS => self.changes(),
            Errno::ACCESS => matches!(self, Self::Open | Self::Look | Self::Name),
            Errno::MFILE => self == Self::Open,
            // A directory with a project id or a key takes no object of another kind.
            Errno::XDEV => self == Self::Name,
            Errno::INTR => !matches!(self, Self::Look | Self::Name | Self::Metadata),
            // EIO, ESTALE, and whatever a test asks for.
            _ => true,
        }
    }
}

/// An error that is injected.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The error.
    pub error: Errno,
    /// Number of the first call that fails, from 1 on, among those that may return the error.
    pub at: u64,
    /// True if all later ones fail, too.
    pub stays: bool,
    /// Only these file systems give it, from the first to the last number, as those do that were shut down: by every call but
    /// the `fsync` of a directory, which does nothing and is answered by success.
    pub devices: Option<(u64, u64)>,
    /// Number of calls so far that could have failed.
    pub seen: u64,
}

impl Fault {
    /// Makes a fault of every file system.
    #[must_use]
    pub fn new(error: Errno, at: u64, stays: bool) -> Self {
        Self {
            error,
            at,
            stays,
            devices: None,
            seen: 0,
        }
    }

    /// File systems that are shut down just before the call `at` of those on them.
    pub fn outage(devices: (u64, u64), at: u64) -> Self {
        Self {
            devices: Some(devices),
            ..Self::new(Errno::IO, at, true)
        }
    }

    /// Returns true if the fault struck.
    pub fn struck(&self) -> bool {
        self.seen >= self.at
    }

    /// The error that this call on an object of this file system gives.
    pub(super) fn strike(&mut self, how: How, device: Option<u64>) -> Option<Errno> {
        let meant = match self.devices {
            // Locks are kept in memory.
            Some((first, last)) => device.is_some_and(|it| (first..=last).contains(&it)) && how != How::Lock,
            None => how.gives(self.error),
        };
        if !meant {
            return None;
        }
        self.seen += 1;
        let hits = self.seen == self.at || (self.stays && self.seen > self.at);
        hits.then_some(self.error)
    }
}
