//! Which call fails, and how: one of those that may give the error, or all from one on.

use rustix::io::Errno;

/// What the kernel may say to a call.
const ERRORS: [Errno; 8] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::IO,
    Errno::ACCESS,
    Errno::ROFS,
    Errno::MFILE,
    Errno::INTR,
    Errno::STALE,
];

/// Every error with its number, once and lasting. A call that is always interrupted would rightly be repeated for ever, so that one does
/// not last.
pub(crate) fn errors() -> impl Iterator<Item = (u64, Errno, bool)> {
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

/// What a call is, as far as it decides which errors it may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It opens something.
    Open,
    /// It goes by a name and changes nothing.
    Look,
    /// It reads through a handle, or asks for its facts.
    Read,
    /// It changes names.
    Name,
    /// It changes content.
    Write,
    /// It changes metadata.
    Metadata,
    /// It makes something durable.
    Sync,
    /// It locks a file.
    Lock,
}

impl How {
    /// Whether the call changes anything, so that a crash before it and one after it differ.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Name | Self::Write | Self::Metadata | Self::Sync)
    }

    /// Whether a call may give this error, on some file system that people use.
    fn gives(self, error: Errno) -> bool {
        match error {
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS => self.changes(),
            Errno::ACCESS => matches!(self, Self::Open | Self::Look | Self::Name),
            Errno::MFILE => self == Self::Open,
            Errno::INTR => !matches!(self, Self::Look | Self::Name | Self::Metadata),
            // EIO, ESTALE, and whatever a test asks for.
            _ => true,
        }
    }
}

/// An error that is injected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) error: Errno,
    /// The first call, of those that may give it, that does, from 1 on.
    pub(crate) at: u64,
    /// All that follow do too.
    pub(crate) stays: bool,
    /// Only these file systems give it, from the first to the last number, as those do that were shut down: by every call but
    /// the `fsync` of a directory, which does nothing and is answered by success.
    pub(crate) devices: Option<(u64, u64)>,
    /// How many could have given it by now.
    pub(crate) seen: u64,
}

impl Fault {
    pub(crate) fn new(error: Errno, at: u64, stays: bool) -> Self {
        Self {
            error,
            at,
            stays,
            devices: None,
            seen: 0,
        }
    }

    /// File systems that are shut down just before the call `at` of those on them.
    pub(crate) fn outage(devices: (u64, u64), at: u64) -> Self {
        Self {
            devices: Some(devices),
            ..Self::new(Errno::IO, at, true)
        }
    }

    /// Whether it struck.
    pub(crate) fn struck(&self) -> bool {
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
